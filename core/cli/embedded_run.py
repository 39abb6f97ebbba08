"""One embedded run, from its feeds to its summary."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import TextIO

import click
from dramatiq.errors import QueueJoinTimeout

from core.app import App
from core.assemble import embedded_app, use
from core.cli.census import Census
from core.cli.feeding import Feeding, orders
from core.cli.interrupts import EXIT_INTERRUPTED, Interrupts
from core.cli.leftovers import Order
from core.cli.lines import Lines
from core.cli.patience import Patience
from core.cli.progress import Gauge, Screen, Watch
from core.cli.prompt_worker import PromptWorker
from core.cli.report import JsonLine, Report
from core.cli.stranding import Stranding
from core.cli.summary import Summary
from core.cli.switching import Changes, Typed
from core.cli.videos import RunningVideos
from core.cli.wording import printable
from core.model.end import MediaEnd
from core.model.switch import Switch
from core.queue.embedded import EmbeddedQueue
from core.queue.lanes import HEADRACE
from core.settings import Settings
from core.steps.ends import finish_commits
from core.steps.trigger import Feed

EXIT_MISSING = 1
_SPARE_THREADS = 2  # a source's slots are fewer than the threads
_COMMITTING = 1.5  # threads a slot: what is fetched is committed while the next is asked for
_LOOK_S = 0.25  # between looks at the meters
_ENDING_MS = 30_000  # for what is in hand after Ctrl-C


class EmbeddedRun:
    """Reads `feeds` and gets their media in this process; `perform` it once."""

    def __init__(
        self, settings: Settings, feeds: Sequence[Feed], *, retry_dead: bool, as_json: bool
    ) -> None:
        self._feeds = feeds
        self._retry_dead = retry_dead
        self._as_json = as_json
        self._census = Census()
        self._watch = Watch(self._census)
        self._app = embedded_app(settings, on_end=self._watch)
        self._patience = Patience(self._app.clock)
        self._stranding = Stranding(
            self._app.clock,
            self._why_paused,
            self._app.budget.blocked_for,
            resume=partial(Typed(settings.store), "resume"),
        )
        self._left: dict[str, str] = {}  # why each source that was given up can't go on
        self._stream = sys.stderr if as_json else sys.stdout

    def perform(self) -> int:
        """Run until all is done, nothing can go on, or Ctrl-C, and return the exit status."""
        try:
            with Interrupts(self._app.stop) as interrupts:
                whole = self._crawl_and_tell(interrupts)
        finally:
            self._app.close()
            self._census.close()
        if interrupts.came:
            return EXIT_INTERRUPTED
        return 0 if whole else EXIT_MISSING

    def _crawl_and_tell(self, interrupts: Interrupts) -> bool:
        began = self._app.clock.monotonic()
        finish_commits(self._app.store)
        given = orders(self._app, self._feeds)
        screen = _screen(self._stream, self._app)
        self._watch.begin(self._app.store, screen)
        try:
            self._crawl(given, screen)
        finally:
            screen.close()
        self._app.store.sums.merge()
        summary = Summary(partial(click.echo, file=self._stream))
        summary.left(self._left)
        self._tell(given, summary)
        elapsed_s = self._app.clock.monotonic() - began
        summary.end(elapsed_s, interrupted=interrupts.came)
        return summary.whole

    def _crawl(self, given: Sequence[Order], screen: Screen) -> None:
        use(self._app)
        importlib.import_module("actors")  # declares them on the app's broker
        self._app.broker.add_middleware(self._patience)
        self._app.broker.add_middleware(self._stranding)
        worker = PromptWorker(self._app.broker, worker_threads=self._threads(given))
        feeding = Feeding(self._app, given, self._census, retry_dead=self._retry_dead)
        feeding.start()
        worker.start()
        try:
            self._tell_switches(given, screen)
            self._wait(feeding, given, screen)
        finally:
            worker.stop(timeout=_ENDING_MS)
            feeding.end()

    def _threads(self, given: Sequence[Order]) -> int:
        slots = (
            self._app.settings.source(source).concurrency or 1 for source in _sources_of(given)
        )
        return int(sum(slots) * _COMMITTING) + _SPARE_THREADS

    def _wait(self, feeding: Feeding, given: Sequence[Order], screen: Screen) -> None:
        gauge = self._gauge(given)
        while not (feeding.is_over() and self._is_idle()):
            self._patience.check()
            if self._is_stranded():
                self._app.stop.set()
                return
            screen.tick(gauge.read())
            if self._app.clock.sleep(0.0 if feeding.is_over() else _LOOK_S, wake=self._app.stop):
                screen.say("Ending what is in hand (Ctrl-C once more ends at once) ...")
                return

    def _is_stranded(self) -> bool:
        queue = self._app.depths
        assert isinstance(queue, EmbeddedQueue)  # noqa: S101 - an embedded app has no other
        running = self._app.performer.heartbeat.running()
        self._left = self._stranding.left(queue.open_by_source(), running)
        return bool(self._left)

    def _why_paused(self, source: str) -> str | None:
        pause = self._app.switchboard.of(source).pause
        return pause.reason if pause else None

    def _tell_switches(self, given: Sequence[Order], screen: Screen) -> None:
        """At once of what is paused already, and of every change."""
        changes = {
            source: Changes(source, self._app.settings.source(source), self._app.store.root)
            for source in _sources_of(given)
        }

        def tell(source: str, switch: Switch) -> None:
            for line in changes[source].told(switch) if source in changes else ():
                with suppress(OSError):  # a reader that went away
                    screen.say(printable(line))

        self._app.switchboard.listen(tell)

    def _gauge(self, given: Sequence[Order]) -> Gauge:
        app = self._app
        return Gauge(
            self._census,
            app.performer.heartbeat,
            app.budget,
            _sources_of(given),
            app.clock,
            RunningVideos(app.store, app.clock),
        )

    def _is_idle(self) -> bool:
        """Whether no task is open, as soon as that is so."""
        try:
            self._app.broker.join(HEADRACE, timeout=round(_LOOK_S * 1000))
        except QueueJoinTimeout:
            return False
        return True

    def _tell(self, given: Sequence[Order], summary: Summary) -> None:
        records = [order.feed for order in given]
        store, settings = self._app.store, self._app.settings
        report = Report(store, settings, self._census, details=self._as_json)
        summary.totals.got_bytes = self._census.got_bytes
        as_json = JsonLine(sys.stdout, summary.totals) if self._as_json else nullcontext()
        with as_json as line:
            summary.feeds(report.feeds(records))
            for media in report.media(records):
                summary.media(media)
                if line is not None:
                    line.add(media)


def _sources_of(given: Sequence[Order]) -> list[str]:
    return sorted({order.feed.source for order in given})


def _screen(stream: TextIO, app: App) -> Screen:
    if stream.isatty():
        from core.cli.bars import Bars  # noqa: PLC0415 - 30 ms of start where nobody looks

        return Bars(stream)
    before = len(f"{app.store.root}/")

    def named(end: MediaEnd) -> str | None:
        path = app.store.library.named(end)
        return str(path)[before:] if path else None

    return Lines(stream, named)
