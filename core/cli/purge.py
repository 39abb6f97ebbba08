"""`headrace purge`: what waits of a source, dropped. The store keeps what was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from core.cli.options import settings_options, store_option
from core.cli.switching import source_argument, switches_for
from core.cli.wording import count
from core.clock import SystemClock
from core.ledger.redis import RedisLedger
from core.model.switch import Switch
from core.model.task import Task
from core.queue import depth
from core.queue.lanes import lanes_of
from core.queue.purge import drain
from core.settings import Settings

EXIT_NO = 1


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What a source has open."""

    lanes: dict[str, int]  # those that hold anything
    delayed: int
    leased: int

    def told(self) -> str:
        """`1,200 tasks in its lanes (feed.image 1,200), 3 delayed; 2 in hand`."""
        by_lane = ", ".join(f"{lane} {depth:,}" for lane, depth in self.lanes.items())
        ready = count(sum(self.lanes.values()), "task") + " in its lanes"
        return (
            f"{ready}{f' ({by_lane})' if by_lane else ''}, {self.delayed:,} delayed; "
            f"{self.leased:,} in hand, which end"
        )


@click.command()
@source_argument
@click.option("--dry-run", is_flag=True, help="Say what waits, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
@settings_options
@click.pass_context
def purge(
    context: click.Context,
    /,
    given: Settings,
    source: str,
    store_folder: Path | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Drop what waits of a source: every task submitted before now, wherever it waits.

    Tasks in the source's lanes go at once; those that are delayed, or behind a block, are dropped
    when their time comes. Requests that are under way end. Dead letters stay (`headrace dead
    discard`), and so does everything in the store: what was got, what was found, and how far each
    feed was read. To get dropped media after all: headrace submit --unfinished FEED.

    With --store only that folder is told, no RabbitMQ and no Redis: for a `headrace crawl` that
    runs on it.

    \b
    Examples:
      headrace purge pictures --dry-run
      headrace purge pictures
      headrace purge pictures --yes
    """  # noqa: D301 - click marks a verbatim paragraph so
    switches = switches_for(given, source, store_folder)
    asks_services = store_folder is None
    waiting = _waiting(given, source).told() if asks_services else f"whatever {store_folder} has"
    if dry_run:
        click.echo(f"{source}: would drop {waiting}")
        return
    if not yes and not _agreed(f"{source}: {waiting}. Drop what waits?"):
        click.echo("Nothing was dropped.")
        context.exit(EXIT_NO)
    now_ms = int(SystemClock().now() * 1000)
    switch = switches.change(source, lambda before: marked(before, now_ms))
    if asks_services:
        _drain(given, source, switch)
    click.echo(f"{source}: what was submitted before now is dropped wherever it turns up")
    anew = "headrace submit --unfinished FEED" if asks_services else "the same crawl"
    click.echo(f"The store keeps what was found. To get it after all: {anew}")


def _agreed(question: str) -> bool:
    try:
        return click.confirm(question)
    except click.Abort:  # Ctrl-C, or nobody is there
        click.echo("\nNo answer (see --yes).", err=True)
        return False


def marked(before: Switch, now_ms: int) -> Switch:
    """The mark first, so that a worker that takes a task from under our hands drops it too. It lies
    past whatever was submitted until now: in this very millisecond, or by the mark of a purge from
    a machine whose clock was ahead."""
    latest_ms = max(before.purged_before or 0, now_ms)
    return before.model_copy(update={"purged_before": latest_ms + 1})


def _waiting(given: Settings, source: str) -> _Waiting:
    """Raises `BrokerDown` or `SharedStateDown` before anything is changed."""
    depths = depth.read(given.broker.url.get_secret_value(), [source])
    work = RedisLedger(given.redis.url.get_secret_value()).open_work(source)
    ready = {lane: depths.lanes[lane] for lane in lanes_of(source) if depths.lanes[lane]}
    return _Waiting(ready, delayed=work.delayed, leased=work.leased)


def _drain(given: Settings, source: str, switch: Switch) -> None:
    ledger = RedisLedger(given.redis.url.get_secret_value())

    def drop(task: Task) -> bool:
        if not task.is_before(switch.purged_before):
            return False
        ledger.finish(task)  # its attempts too: submitted again it begins anew
        return True

    for lane, dropped in drain(given.broker.url.get_secret_value(), source, drop).items():
        if dropped:
            click.echo(f"{lane}: dropped {count(dropped, 'task')}")
    # Else those that lie in the delay queues, some for hours, would count as open until they come
    # back to be dropped, and hold up what is submitted now.
    ledger.forget_delayed(source)
    ledger.close()
