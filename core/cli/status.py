"""`headrace status`: what is open, done and dead, by source. Only looks: nothing is locked or
changed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import click

from core.budget.budget import TokenBudget
from core.cli.lines import video_line
from core.cli.options import in_store, json_option, settings_options, store_option
from core.cli.sources import Known, SourceStatus
from core.cli.standing import budget_lines
from core.cli.videos import VideoMeter, videos_under_way
from core.cli.wording import count, duration, printable, size, table
from core.clock import SystemClock
from core.errors import HeadraceError
from core.ledger.redis import RedisLedger
from core.model.addresses import strike
from core.model.switch import Switches
from core.model.task import Kind
from core.model.walk import WalkState
from core.ports import OpenWork, Standing
from core.queue import depth
from core.queue.lanes import DROPPED, HEADRACE, lane
from core.settings import Settings
from core.store.store import Store

EXIT_ALARM = 1
_HEAD = ("source", "ready", "leased", "delayed", "dead", "done", "bytes")
_OPEN = "open"
_JOINS = lane(HEADRACE, Kind.VERIFY)
_MOST_VIDEOS = 50  # each costs a look at its plan and its folder
_UNKNOWN = "-"
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """The newest reading of a feed that is open or broke."""

    feed: str
    source: str
    address: str
    walk: str
    state: str
    reason: str | None


@dataclass(slots=True)
class Status:
    """Everything that can be said."""

    sources: list[SourceStatus]
    feeds: list[FeedStatus]
    videos: list[VideoMeter]  # that come in pieces and are under way
    dropped: int | None  # messages that RabbitMQ itself gave up: a person has to look
    joins: int | None = None  # videos that wait in the shared lane to be joined
    notes: list[str] = field(default_factory=list)  # what could not be asked, and why
    answered: bool = True  # whether everybody could be asked: store, RabbitMQ and Redis


@click.command()
@store_option
@json_option
@settings_options
@click.pass_context
def status(
    context: click.Context, /, given: Settings, store_folder: Path | None, as_json: bool
) -> None:
    """Show what is open, done and dead, by source.

    \b
    ready    tasks in the source's lanes
    leased   tasks that a worker performs now
    delayed  tasks that wait for their time
    dead     dead letters in RabbitMQ (`headrace dead list` tells why)
    done     media got, and their bytes
    video    how many pieces of a video under way are there

    Then, of every source that went out, or that somebody switched:

    \b
    requests/s    that went out over about the last ten seconds
    allowed/s     what is granted just now: less than the rate once the source made us slower
    rate/s        by the settings, or by `headrace budget`
    slowdowns     how often the source made us slower
    token wait    what each of these requests waited for its token, on average
    request time  what each of them took then, on average
    state         open, slowed, blocked (it asked us to wait), paused (`headrace resume`)

    A source whose media lie on many hosts is open while one of them is slowed or blocked: each such
    host has a line of its own below the table. A block ends by itself; of one that is so long that
    it may be a mistake of the source's, a line says how to end it.

    With --store only that folder is asked, as for a store that `headrace crawl` fills: no RabbitMQ,
    no Redis; dead then counts media that ended without their file.

    Exit status 0 says that everybody answered. It is 1 when the store, RabbitMQ or Redis could not
    be asked: `-` then stands for what only they know, and a line at the end says why. It is 1, too,
    when messages lie in headrace.dropped: RabbitMQ itself gave up on them, which must not happen
    and wants a person to look at them in its console.

    \b
    Examples:
      headrace status
      headrace status --store pictures --json
    """  # noqa: D301 - click marks a verbatim paragraph so
    if store_folder is None:
        found = of_everything(given)
    else:
        found = of_store(in_store(given, store_folder))
    for line in [json.dumps(asdict(found))] if as_json else told(found):
        click.echo(line)
    if found.dropped:
        click.echo(f"ALARM: {DROPPED} holds {found.dropped:,}: see the console", err=True)
    context.exit(EXIT_ALARM if found.dropped or not found.answered else 0)


def of_store(given: Settings) -> Status:
    """What a store tells by itself. Raises `StorageDown` where there is none."""
    clock = SystemClock()
    store = Store.look(given.store, clock=clock)
    notes, now = _doubts(store), clock.now()
    tallies = store.sums.tally()
    known = Known(given, _switches(store, notes), tallies, alone=True)
    return Status(
        [known.of(name, now) for name in sorted({*tallies, *known.switches.sources})],
        list(_feeds(store)),
        _videos(store),
        dropped=None,
        notes=notes,
    )


def of_everything(given: Settings) -> Status:
    """What store, RabbitMQ and Redis tell; a note for each that can't be asked."""
    notes: list[str] = []
    clock = SystemClock()
    names = list(given.all_sources())
    redis_url = given.redis.url.get_secret_value()
    store = _asked(lambda: Store.look(given.store, clock=clock), notes)
    depths = _asked(lambda: depth.read(given.broker.url.get_secret_value(), names), notes)
    work = _asked(lambda: _work(redis_url, names), notes)
    stand = _asked(lambda: _standings(redis_url, names), notes) if work is not None else None
    switches = _switches(store, notes) if store else Switches()
    tallies = store.sums.tally() if store else None
    known = Known(given, switches, tallies, depths, work, *(stand or ({}, {})))
    now = clock.now()
    notes += _doubts(store) if store else []
    return Status(
        [known.of(name, now) for name in sorted({*names, *(tallies or ())})],
        list(_feeds(store)) if store else [],
        _videos(store) if store else [],
        dropped=depths.dropped if depths else None,
        joins=depths.lanes.get(_JOINS, 0) if depths else None,
        notes=notes,
        answered=all(part is not None for part in (store, depths, work, stand)),
    )


def told(found: Status) -> Iterator[str]:
    """The status for a person."""
    yield from table(_HEAD, [_row(source) for source in found.sources])
    budgets = list(budget_lines((one.source, one.budget, one.paused) for one in found.sources))
    remarks = list(_remarks(found))
    if budgets:
        yield from ("", *budgets)
    if budgets and remarks:
        yield ""
    yield from remarks


def _remarks(found: Status) -> Iterator[str]:
    for source in found.sources:
        if source.purge_ahead_s is not None:
            yield (
                f"source {source.source}: the mark of its purge lies "
                f"{duration(source.purge_ahead_s)} in the future: the clock of the machine that "
                "purged is ahead, or this one's is behind"
            )
    for feed in found.feeds:
        why = f" ({feed.reason})" if feed.reason else ""
        yield printable(f"feed {feed.address}: walk {feed.walk} is {feed.state}{why}")
    for video in found.videos:
        yield video_line(video)
    if found.joins:
        yield f"{_JOINS}: {count(found.joins, 'video')} to be joined or looked at"
    for note in found.notes:
        yield printable(note)


def _asked(ask: Callable[[], Answer], notes: list[str]) -> Answer | None:
    """The answer; None, and a note, when nobody answers."""
    try:
        return ask()
    except HeadraceError as error:
        notes.append(str(error))
        return None


def _work(redis_url: str, names: Iterable[str]) -> dict[str, OpenWork]:
    ledger = RedisLedger(redis_url)
    return {name: ledger.open_work(name) for name in names}


def _standings(
    redis_url: str, names: Iterable[str]
) -> tuple[dict[str, Standing | None], dict[str, Standing]]:
    """Of each source, and of the hosts that are slowed or blocked by themselves."""
    budget = TokenBudget.redis(redis_url, SystemClock())
    return {name: budget.standing(name) for name in names}, budget.slow_hosts()


def _switches(store: Store, notes: list[str]) -> Switches:
    return _asked(store.switches.read, notes) or Switches()


def _videos(store: Store) -> list[VideoMeter]:
    return list(itertools.islice(videos_under_way(store), _MOST_VIDEOS))


def _doubts(store: Store) -> list[str]:
    if store.sums.is_whole():
        return []
    return ["a process was killed here: done may lack a few that it got, until `headrace sums`"]


def _feeds(store: Store) -> Iterator[FeedStatus]:
    """The feeds whose newest walk is not complete."""
    for record in store.feeds.all():
        newest = store.walks.newest(record.feed)
        if newest is None:
            continue
        end = store.walks.end_of(record.feed, newest.walk)
        if end is None or end.state is not WalkState.COMPLETE:
            yield FeedStatus(
                record.feed,
                record.source,
                strike(record.address),
                newest.walk,
                state=end.state.value if end else _OPEN,
                reason=end.message or end.reason if end else None,
            )


def _row(source: SourceStatus) -> list[str]:
    counts = (source.ready, source.leased, source.delayed, source.dead, source.done)
    return [
        source.source,
        *(_UNKNOWN if count is None else f"{count:,}" for count in counts),
        _UNKNOWN if source.bytes is None else size(source.bytes),
    ]
