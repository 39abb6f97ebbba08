"""`headrace pause` and `headrace resume`: a source stopped and let go on, for every worker."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.options import settings_options, store_option
from core.cli.switching import Typed, source_argument, switches_for
from core.cli.wording import duration, printable
from core.clock import SystemClock
from core.model.switch import Pause, Switch
from core.settings import Settings

_NO_REASON = "by a person, who gave no reason"


@click.command()
@source_argument
@click.option(
    "--reason", metavar="TEXT", help="Why, for whoever looks: `headrace status` shows it."
)
@store_option
@settings_options
def pause(given: Settings, source: str, reason: str | None, store_folder: Path | None) -> None:
    """Let nothing of a source go out, until it is resumed.

    Every worker and every crawl of the store learns of it within a second, without a restart.
    Requests that are under way end; tasks wait where they are, and nothing is counted against them.
    The pause is kept in the store: it survives restarts, and a flush of Redis.

    \b
    Examples:
      headrace pause pictures
      headrace pause pictures --reason "they asked us to come back on Monday"
      headrace pause feed --store pictures
    """  # noqa: D301 - click marks a verbatim paragraph so
    now = SystemClock().now()
    told = " ".join((reason or "").split())  # on one line: it stands in tables and in the log
    earlier: list[Pause] = []

    def paused(before: Switch) -> Switch:
        standing = before.pause or Pause(reason=_NO_REASON, since=now)
        earlier.extend([before.pause] if before.pause else [])
        pause = standing.model_copy(update={"reason": told or standing.reason})
        return before.model_copy(update={"pause": pause})

    standing = switches_for(given, source, store_folder).change(source, paused).pause
    assert standing is not None  # noqa: S101 - `paused` put it there
    lasts = "".join(f" for {duration(max(0.0, now - pause.since))} now" for pause in earlier)
    click.echo(printable(f"{source} is paused{lasts}: {standing.reason}"))
    click.echo(f"It goes on with: {Typed(store_folder)('resume', source)}")


@click.command()
@source_argument
@store_option
@settings_options
def resume(given: Settings, source: str, store_folder: Path | None) -> None:
    """Let a paused source go on, at every worker within a second.

    A source that Headrace itself paused, because it no longer took our cookie or token, is paused
    again at the first refusal: renew the cookie first. One in a file of its own, { file = "..." },
    is read again by every worker when the source goes on; the settings and the environment are
    read when a worker starts, so restart them after a change there.

    \b
    Example:
      headrace resume pictures
    """  # noqa: D301 - click marks a verbatim paragraph so
    ended: list[Pause] = []

    def resumed(before: Switch) -> Switch:
        ended.extend([before.pause] if before.pause else [])
        return before.model_copy(update={"pause": None})

    switches_for(given, source, store_folder).change(source, resumed)
    if not ended:
        click.echo(f"{source} is not paused.")
        return
    for pause in ended:
        lasted = duration(max(0.0, SystemClock().now() - pause.since))
        click.echo(printable(f"{source} goes on. It was paused for {lasted}: {pause.reason}"))
