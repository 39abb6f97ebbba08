"""How fast each source may go, how fast it goes, and what holds it up: for `headrace status`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.cli.wording import count, duration, printable, table
from core.model.switch import Switch
from core.ports import Standing
from core.queue.envelope import iso
from core.settings import SourceSettings
from core.steps.unblocking import LONG_S, bucket_of, command

_HEAD = ("source", "requests/s", "allowed/s", "rate/s", "slowdowns", "token wait", "request time")
_UNKNOWN = "-"
_IN_STEP_S = 1.0  # clocks that differ by less agree
_MOST_HOSTS = 20  # a delivery network has hundreds of names; --json has them all


@dataclass(frozen=True, slots=True)
class PauseStatus:
    """A source is paused."""

    reason: str
    since: str | None  # ISO 8601, UTC
    for_s: float


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One of a source's hosts that is slowed or blocked by itself."""

    host: str
    pace: float
    blocked_s: float
    blocked_until: str | None  # ISO 8601, UTC
    slowdowns: int


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """One source's budget. None where the settings lack the source, or Redis was not asked or knows
    nothing of it."""

    rate: float | None  # requests a second, by the settings or by `headrace budget`
    burst: int | None
    switched: bool  # whether `headrace budget` changed one of the two
    pace: float | None = None  # share of the rate that is granted just now: below 1 once slowed
    allowed_per_s: float | None = None  # what is granted just now: rate * pace
    requests_per_s: float | None = None  # that went out over about the last ten seconds
    blocked_s: float | None = None  # for so long nothing goes out; 0.0: it may
    blocked_until: str | None = None  # ISO 8601, UTC
    slowdowns: int | None = None  # how often the source made us slower
    waited_s: float | None = None  # what one of them waited for its token, on average
    asked_s: float | None = None  # what it took itself, on average
    hosts: tuple[HostStatus, ...] = ()  # that are slowed or blocked, the longest first


def pause_status(switch: Switch, now: float) -> PauseStatus | None:
    """The pause, if there is one."""
    if switch.pause is None:
        return None
    since = switch.pause.since
    return PauseStatus(switch.pause.reason, iso(since), max(0.0, now - since))


def purge_ahead_s(switch: Switch, now: float) -> float | None:
    """How far the source's purge mark lies in the future; None where it lies in the past, as it
    should."""
    ahead_s = (switch.purged_before or 0) / 1000 - now
    return ahead_s if ahead_s > _IN_STEP_S else None


def host_statuses(
    source: str, buckets: Mapping[str, Standing], now: float
) -> tuple[HostStatus, ...]:
    """Those of the source, of all hosts' buckets that are slowed or blocked."""
    own = [
        HostStatus(
            name.partition("/")[2],
            pace=standing.pace,
            blocked_s=standing.blocked_s,
            blocked_until=_until(standing, now),
            slowdowns=standing.slowdowns,
        )
        for name, standing in buckets.items()
        if name.startswith(f"{source}/")
    ]
    return tuple(sorted(own, key=lambda one: (-one.blocked_s, one.pace, one.host)))


def budget_status(
    settings: SourceSettings | None,
    switch: Switch,
    standing: Standing | None,
    now: float,
    hosts: tuple[HostStatus, ...] = (),
) -> BudgetStatus:
    """What settings, switches and the budget's storage say together. The storage knows a changed
    rate only from the next request on: the switch is what counts."""
    rate = switch.rate or (settings.rate if settings else None)
    burst = switch.burst or (settings.burst if settings else None)
    switched = switch.rate is not None or switch.burst is not None
    if standing is None:
        return BudgetStatus(rate, burst, switched, hosts=hosts)
    return BudgetStatus(
        rate,
        burst,
        switched,
        pace=standing.pace,
        allowed_per_s=(rate or standing.rate) * standing.pace,
        requests_per_s=standing.requests_per_s,
        blocked_s=standing.blocked_s,
        blocked_until=_until(standing, now),
        slowdowns=standing.slowdowns,
        waited_s=standing.waited_s,
        asked_s=standing.asked_s,
        hosts=hosts,
    )


def _until(standing: Standing, now: float) -> str | None:
    return iso(now + standing.blocked_s) if standing.blocked_s > 0 else None


def budget_lines(
    sources: Iterable[tuple[str, BudgetStatus, PauseStatus | None]],
) -> Iterator[str]:
    """A table of those that there is anything to tell of, and their hosts that are not open;
    nothing where there are none."""
    told = [
        (name, budget, pause)
        for name, budget, pause in sources
        if budget.pace is not None or budget.switched or budget.hosts or pause is not None
    ]
    shown = [(_figures(name, budget), state(budget, pause)) for name, budget, pause in told]
    if not shown:
        return
    figures = table(_HEAD, [row for row, _ in shown])
    for line, said in zip(figures, ("state", *(said for _, said in shown)), strict=True):
        yield printable(f"{line}  {said}")
    for name, budget, _ in told:
        yield from _host_lines(name, budget.hosts)
    for name, budget, _ in told:
        yield from _ways_out(name, budget)


def _ways_out(source: str, budget: BudgetStatus) -> Iterator[str]:
    """How to end a block that is longer than we would ever wait by ourselves."""
    hosts = {one.host: one.blocked_s for one in budget.hosts[:_MOST_HOSTS]}
    for host, blocked_s in {"": budget.blocked_s or 0.0, **hosts}.items():
        if blocked_s > LONG_S:
            bucket = bucket_of(source, host)
            yield printable(f"{bucket} asked for a wait; if it can't mean that: {command(bucket)}")


def _host_lines(source: str, hosts: tuple[HostStatus, ...]) -> Iterator[str]:
    """`feed/files.example: blocked for 12 s, then 50 %`, and how many there are besides."""
    for one in hosts[:_MOST_HOSTS]:
        pace = f"{100 * one.pace:.0f} %"
        state = f"blocked for {duration(one.blocked_s)}, then {pace}" if one.blocked_s else None
        yield printable(f"{source}/{one.host}: {state or f'slowed to {pace}'}")
    if len(hosts) > _MOST_HOSTS:
        yield f"{source}: {count(len(hosts) - _MOST_HOSTS, 'host')} more slowed or blocked"


def _figures(name: str, budget: BudgetStatus) -> list[str]:
    return [
        name,
        _number(budget.requests_per_s),
        _number(budget.allowed_per_s),
        _number(budget.rate),
        _UNKNOWN if budget.slowdowns is None else f"{budget.slowdowns:,}",
        _mean(budget.waited_s, budget),
        _mean(budget.asked_s, budget),
    ]


def _mean(mean_s: float | None, budget: BudgetStatus) -> str:
    """What a request waited or took, if any went out of late."""
    return f"{mean_s:.2f} s" if mean_s is not None and budget.requests_per_s else _UNKNOWN


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.3g}"


def state(budget: BudgetStatus, pause: PauseStatus | None) -> str:
    """`paused for 5 min 0 s: the reason`, `blocked for 12 s`, `slowed to 25 %`, `open`,
    `open but for the hosts below`."""
    said = []
    if pause is not None:
        said.append(f"paused for {duration(pause.for_s)}: {pause.reason}")
    if budget.blocked_s:
        said.append(f"blocked for {duration(budget.blocked_s)}")
    if budget.pace is not None and budget.pace < 1:
        said.append(f"slowed to {100 * budget.pace:.0f} %")
    if budget.switched:
        said.append("rate by `headrace budget`")
    return ", ".join(said) or ("open but for the hosts below" if budget.hosts else "open")
