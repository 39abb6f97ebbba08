"""`headrace pause` and `headrace resume`: a source stopped and let go on, for every worker; and the
end of a block, which a source may have asked for by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from core.budget.budget import TokenBudget
from core.cli.options import settings_options, store_option
from core.cli.switching import Typed, source_argument, switches_for
from core.cli.wording import duration, printable
from core.clock import SystemClock
from core.errors import SharedStateDown
from core.model.switch import Pause, Switch
from core.settings import Settings
from core.steps.unblocking import bucket_of
from core.store.switches import SwitchStore

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
@click.argument("source", metavar="SOURCE[/HOST]")
@click.option(
    "--unblock",
    is_flag=True,
    help="End a block too: a wait that the source asked for, and that can't be meant. Of a source "
    "of many hosts name the one that is blocked, SOURCE/HOST, as `headrace status` does.",
)
@store_option
@settings_options
def resume(given: Settings, source: str, store_folder: Path | None, unblock: bool) -> None:
    """Let a paused source go on, at every worker within a second.

    A source that Headrace itself paused, because it no longer took our cookie or token, is paused
    again at the first refusal: renew the cookie first. One in a file of its own, { file = "..." },
    is read again by every worker when the source goes on; the settings and the environment are
    read when a worker starts, so restart them after a change there.

    A source that is blocked asked us to wait, and goes on by itself. Where the wait can't be meant
    (a day, of a server that was restarted), --unblock ends it: the source is asked again, one task
    at a time, as slowly as the refusal made us, and climbs back. Refused again it is blocked again.

    \b
    Examples:
      headrace resume pictures
      headrace resume pictures --unblock
      headrace resume feed/files.example --unblock
    """  # noqa: D301 - click marks a verbatim paragraph so
    name, _, host = source.partition("/")
    if host and not unblock:
        raise click.UsageError(f"{source}: a host is never paused; --unblock ends its block")
    switches = switches_for(given, name, store_folder)
    if not host:
        _resume(switches, name, quiet=unblock)
    if unblock:
        bucket = bucket_of(name, host.lower())
        told = _unblock(given, switches, bucket, store_folder)
        click.echo(printable(told))


def _resume(switches: SwitchStore, source: str, *, quiet: bool) -> None:
    """`quiet` leaves out that there was no pause."""
    ended: list[Pause] = []

    def resumed(before: Switch) -> Switch:
        ended.extend([before.pause] if before.pause else [])
        return before.model_copy(update={"pause": None})

    switches.change(source, resumed)
    if not ended and not quiet:
        click.echo(f"{source} is not paused.")
    for pause in ended:
        lasted = duration(max(0.0, SystemClock().now() - pause.since))
        click.echo(printable(f"{source} goes on. It was paused for {lasted}: {pause.reason}"))


def _unblock(given: Settings, switches: SwitchStore, bucket: str, store_folder: Path | None) -> str:
    """End a bucket's block wherever it is kept; what is to be told. In Redis too, where perhaps no
    worker runs that would say so there."""
    source, _, host = bucket.partition("/")
    clock = SystemClock()

    def switch() -> None:
        now_ms = int(clock.now() * 1000)
        switches.change(source, lambda before: before.opened(host, now_ms))

    if store_folder is not None:
        switch()
        return f"{bucket}: what blocks it is over, for every worker and crawl of the store."
    budget = TokenBudget.redis(given.redis.url.get_secret_value(), clock)
    try:
        blocked_s = _blocked_for(budget, bucket)
        switch()
        if blocked_s is None:
            return _opened(bucket, None)
        budget.unblock(bucket, age_s=0.0)
        hosts = _blocked_hosts(budget, bucket, Typed(store_folder))
        return "\n".join([_opened(bucket, blocked_s), *hosts])
    finally:
        budget.close()


def _blocked_for(budget: TokenBudget, bucket: str) -> float | None:
    """None where Redis does not say: there may be none, beside a crawl."""
    try:
        return budget.blocked_for(bucket)
    except SharedStateDown:
        return None


def _blocked_hosts(budget: TokenBudget, source: str, typed: Typed) -> Iterator[str]:
    """Each is named by itself: one host's mistake says nothing of the others."""
    for host, standing in budget.slow_hosts().items():
        if host.startswith(f"{source}/") and standing.blocked_s > 0:
            way_out = typed("resume", host, "--unblock")
            yield f"{host} is blocked for {duration(standing.blocked_s)}: {way_out}"


def _opened(bucket: str, blocked_s: float | None) -> str:
    if blocked_s is None:
        return (
            f"{bucket}: what blocks it is over, for every crawl of the store, and for workers as "
            "soon as Redis answers them."
        )
    if blocked_s == 0:
        return f"{bucket} is not blocked for workers. A crawl of the store that runs asks it again."
    return (
        f"{bucket} is open: {duration(blocked_s)} were left of its block. It goes on as slowly as "
        "the refusal made it, and climbs."
    )
