"""`headrace produce`: asks the settings' feeds for news by their timetables; workers read them."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from core.app import App
from core.assemble import rabbitmq_app
from core.cli.interrupts import Interrupts
from core.cli.options import settings_options
from core.cli.wording import printable, table
from core.errors import HeadraceError, Misconfigured
from core.producer.ask import HeldBack, ask
from core.producer.producer import Producer
from core.producer.schedule import scheduler
from core.settings import Settings, load
from core.steps.gate import Gate

logger = logging.getLogger(__name__)

_LOOK_S = 60.0  # a clock that was set, or a machine that slept, is noticed that soon


@click.command()
@click.option("--once", is_flag=True, help="Ask each feed once and end, for cron and its like.")
@settings_options
def produce(given: Settings, once: bool) -> int:
    """Ask the feeds of the settings for news, each by its own timetable, for `dramatiq actors`
    processes to crawl.

    Every feed is asked at the start. Then its `every` or `cron` says when. A feed whose source is
    paused, blocked or has enough to do is held back, and the log says why. SIGHUP takes the
    settings over anew; Ctrl-C and SIGTERM end it. --once exits with 1 when a feed could not be
    asked.

    \b
    Example:
      headrace produce --config headrace.toml
    """  # noqa: D301 - click marks a verbatim paragraph so
    if not given.feeds:
        raise Misconfigured(
            "there is no feed to ask: add [feeds.NAME] with source and address to the settings",
            reason="no_feeds",
        )
    app = rabbitmq_app(given)
    if once:
        return _once(app)
    _log_what_happens()
    _produce(app, _settings_file())
    return 0


# --- once ---


def _once(app: App) -> int:
    """Ask one feed after the other. Whatever keeps every feed from being asked ends it."""
    gate = Gate()
    rows: list[tuple[str, str, str]] = []
    try:
        rows.extend(_asked(app, gate, name) for name in app.settings.feeds)
    finally:
        app.close()
        for line in table(("feed", "", "what came of it"), rows, left=3):
            click.echo(printable(line))
    return int(any(outcome == "failed" for _, outcome, _ in rows))


def _asked(app: App, gate: Gate, name: str) -> tuple[str, str, str]:
    try:
        answer = ask(app, gate, name)
    except Misconfigured as error:
        return name, "failed", str(error)
    return name, "held" if isinstance(answer, HeldBack) else "asked", str(answer)


# --- by the timetable ---


def _produce(app: App, file: Path | None) -> None:
    wake = threading.Event()
    producer = Producer(app, scheduler())
    with Interrupts(wake) as interrupts, _hang_ups(wake) as hung_up:
        try:
            producer.start()
            while not interrupts.came:
                if hung_up.is_set():
                    hung_up.clear()
                    _take_over(producer, file)
                producer.look()
                app.clock.sleep(_LOOK_S, wake=wake)
                wake.clear()  # before the flags are looked at, so that no signal is overlooked
            logger.info("ending: runs under way are waited for")
        finally:
            producer.close()


@contextmanager
def _hang_ups(wake: threading.Event) -> Iterator[threading.Event]:
    """An event that SIGHUP sets, and `wake` with it."""
    hung_up = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        hung_up.set()
        wake.set()

    before = signal.signal(signal.SIGHUP, handle)
    try:
        yield hung_up
    finally:
        signal.signal(signal.SIGHUP, before)


def _take_over(producer: Producer, file: Path | None) -> None:
    """The settings anew; a file that can't be right changes nothing."""
    try:
        app = rabbitmq_app(load(file))
        try:
            producer.take_over(app)
        except HeadraceError:
            app.close()
            raise
    except HeadraceError as error:
        logger.error("the settings are not taken over, the old ones stay: %s", error)  # noqa: TRY400 - no traceback for what a person can cause
        return
    logger.info("the settings are taken over")


def _settings_file() -> Path | None:
    """The file that `--config` names, before the command's name or after it."""
    context = click.get_current_context()
    named: Path | None = context.params.get("config_file")
    return named or (context.find_object(dict) or {}).get("config_file")


def _log_what_happens() -> None:
    """A producer talks by its log alone: what it asks and why not is told without `-v` too."""
    for name in ("core.producer", __name__):
        logging.getLogger(name).setLevel(min(logging.INFO, logging.getLogger().level))
