"""`headrace produce`: asks the settings' feeds for news by their timetables; workers read them."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import click

from core.app import App
from core.assemble import rabbitmq_app
from core.cli.hang_ups import HANG_UPS
from core.cli.interrupts import Interrupts
from core.cli.options import named_file, settings_options
from core.cli.wording import printable, table
from core.errors import HeadraceError, Misconfigured
from core.producer.ask import HeldBack, ask
from core.producer.producer import Producer
from core.producer.schedule import scheduler
from core.settings import Settings, find_file, load
from core.steps.gate import Gate
from core.steps.trigger import refuse_unreadable

logger = logging.getLogger(__name__)

_LOOK_S = 60.0  # a clock that was set, or a machine that slept, is noticed that soon
_HEAR_S = 0.5  # the system may give a signal to any thread: Python acts on it when this one runs


@click.command()
@click.option("--once", is_flag=True, help="Ask each feed once and end, for cron and its like.")
@settings_options
def produce(given: Settings, once: bool) -> int:
    """Ask the feeds of the settings for news, each by its own timetable, for `dramatiq actors`
    processes to crawl.

    Every feed is asked at the start. Then its `every` or `cron` says when. A feed whose source is
    paused, blocked or has enough to do is held back, and the log says why. SIGHUP takes the
    settings over anew, but for the store and the servers' addresses, also while it is still
    starting; Ctrl-C and SIGTERM end it.

    --once exits with 1 when a feed could not be asked. One that is held back is no failure: its
    next run asks it.

    \b
    Example:
      headrace produce --config headrace.toml
    """  # noqa: D301 - click marks a verbatim paragraph so
    # The path, not the search for it: with the file gone, that would find the defaults at SIGHUP.
    file = find_file(named_file())
    app = rabbitmq_app(_with_feeds(given))
    if once:
        return _once(app)
    _log_what_happens()
    _produce(app, file)
    return 0


def _with_feeds(given: Settings) -> Settings:
    """The settings, if there is anything to do and all of it can be. Raises `Misconfigured`."""
    if not given.feeds:
        raise Misconfigured(
            "there is no feed to ask: add [feeds.NAME] with source and address to the settings",
            reason="no_feeds",
        )
    refuse_unreadable(given)
    return given


# --- once ---


def _once(app: App) -> int:
    """Ask one feed after the other. Whatever keeps every feed from being asked ends it: those that
    were still to come are told too."""
    gate = Gate()
    rows: dict[str, tuple[str, str]] = {}
    try:
        for name in app.settings.feeds:
            rows[name] = _asked(app, gate, name)
    except HeadraceError as error:
        rest = dict.fromkeys(app.settings.feeds, ("failed", f"not asked: {error.reason}"))
        rows = rest | rows
        raise
    finally:
        app.close()
        told = [(name, *row) for name, row in rows.items()]
        for line in table(("feed", "", "what came of it"), told, left=3):
            click.echo(printable(line))
    return int(any(outcome == "failed" for outcome, _ in rows.values()))


def _asked(app: App, gate: Gate, name: str) -> tuple[str, str]:
    try:
        answer = ask(app, gate, name)
    except Misconfigured as error:
        return "failed", str(error)
    return "held" if isinstance(answer, HeldBack) else "asked", str(answer)


# --- by the timetable ---


def _produce(app: App, file: Path | None) -> None:
    wake = threading.Event()
    producer = Producer(app, scheduler())
    with Interrupts(wake) as interrupts, HANG_UPS.waking(wake):
        try:
            producer.start()
            while not interrupts.came:
                if HANG_UPS.take():
                    _take_over(producer, file)
                producer.look()
                _rest(app, wake)
                wake.clear()  # before the flags are looked at, so that no signal is overlooked
            logger.info("ending")
        finally:
            producer.close()


def _rest(app: App, wake: threading.Event) -> None:
    """Wait until there is something to look at, never long at once."""
    until = app.clock.monotonic() + _LOOK_S
    while app.clock.monotonic() < until:
        if app.clock.sleep(_HEAR_S, wake=wake):
            return


def _take_over(producer: Producer, file: Path | None) -> None:
    """The settings anew; a file that can't be right changes nothing, nor does one without feeds."""
    try:
        app = rabbitmq_app(_with_feeds(load(file)))
        try:
            producer.take_over(app)
        except HeadraceError:
            app.close()
            raise
    except HeadraceError as error:
        logger.error("the settings are not taken over, the old ones stay: %s", error)  # noqa: TRY400 - no traceback for what a person can cause
        return
    logger.info("the settings are taken over")


def _log_what_happens() -> None:
    """A producer talks by its log alone: what it asks and why not is told without `-v` too."""
    for name in ("core.producer", __name__):
        logging.getLogger(name).setLevel(min(logging.INFO, logging.getLogger().level))
