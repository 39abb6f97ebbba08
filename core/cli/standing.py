"""How fast each source may go, how fast it goes, and what holds it up: for `headrace status`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core.cli.wording import duration, printable, table
from core.model.switch import Switch
from core.ports import Standing
from core.queue.envelope import iso
from core.settings import SourceSettings

_HEAD = ("source", "requests/s", "allowed/s", "rate/s", "slowdowns", "token wait")
_UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class PauseStatus:
    """A source is paused."""

    reason: str
    since: str | None  # ISO 8601, UTC
    for_s: float


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """One source's budget. None where the settings lack the source, or Redis was not asked or knows
    nothing of it."""

    rate: float | None  # requests a second, by the settings or by `headrace budget`
    burst: int | None
    switched: bool  # whether `headrace budget` changed one of the two
    pace: float | None = None  # share of the rate that is granted just now: below 1 once slowed
    allowed_per_s: float | None = None  # what is granted just now: rate * pace
    requests_per_s: float | None = None  # that went out over about the last minute
    blocked_s: float | None = None  # for so long nothing goes out; 0.0: it may
    blocked_until: str | None = None  # ISO 8601, UTC
    slowdowns: int | None = None  # how often the source made us slower
    waited_s: float | None = None  # what requests waited for tokens, over about the last minute
    asked_s: float | None = None  # what the requests themselves took


def pause_status(switch: Switch, now: float) -> PauseStatus | None:
    """The pause, if there is one."""
    if switch.pause is None:
        return None
    since = switch.pause.since
    return PauseStatus(switch.pause.reason, iso(since), max(0.0, now - since))


def budget_status(
    settings: SourceSettings | None, switch: Switch, standing: Standing | None, now: float
) -> BudgetStatus:
    """What settings, switches and the budget's storage say together. The storage knows a changed
    rate only from the next request on: the switch is what counts."""
    rate = switch.rate or (settings.rate if settings else None)
    burst = switch.burst or (settings.burst if settings else None)
    switched = switch.rate is not None or switch.burst is not None
    if standing is None:
        return BudgetStatus(rate, burst, switched)
    return BudgetStatus(
        rate,
        burst,
        switched,
        pace=standing.pace,
        allowed_per_s=(rate or standing.rate) * standing.pace,
        requests_per_s=standing.requests_per_s,
        blocked_s=standing.blocked_s,
        blocked_until=iso(now + standing.blocked_s) if standing.blocked_s > 0 else None,
        slowdowns=standing.slowdowns,
        waited_s=standing.waited_s,
        asked_s=standing.asked_s,
    )


def budget_lines(
    sources: Iterable[tuple[str, BudgetStatus, PauseStatus | None]],
) -> Iterator[str]:
    """A table of those that there is anything to tell of; nothing where there are none."""
    shown = [
        (_figures(name, budget), state(budget, pause))
        for name, budget, pause in sources
        if budget.pace is not None or budget.switched or pause is not None
    ]
    if not shown:
        return
    figures = table(_HEAD, [row for row, _ in shown])
    for line, said in zip(figures, ("state", *(said for _, said in shown)), strict=True):
        yield printable(f"{line}  {said}")


def _figures(name: str, budget: BudgetStatus) -> list[str]:
    return [
        name,
        _number(budget.requests_per_s),
        _number(budget.allowed_per_s),
        _number(budget.rate),
        _UNKNOWN if budget.slowdowns is None else f"{budget.slowdowns:,}",
        _share(budget),
    ]


def _share(budget: BudgetStatus) -> str:
    """Of the time of requests, what they waited for their tokens."""
    if budget.waited_s is None or budget.asked_s is None:
        return _UNKNOWN
    whole = budget.waited_s + budget.asked_s
    return f"{100 * budget.waited_s / whole:.0f} %" if whole > 0 else _UNKNOWN


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.3g}"


def state(budget: BudgetStatus, pause: PauseStatus | None) -> str:
    """`paused for 5 min 0 s: the reason`, `blocked for 12 s`, `slowed to 25 %`, `open`."""
    said = []
    if pause is not None:
        said.append(f"paused for {duration(pause.for_s)}: {pause.reason}")
    if budget.blocked_s:
        said.append(f"blocked for {duration(budget.blocked_s)}")
    if budget.pace is not None and budget.pace < 1:
        said.append(f"slowed to {100 * budget.pace:.0f} %")
    if budget.switched:
        said.append("rate by `headrace budget`")
    return ", ".join(said) or "open"
