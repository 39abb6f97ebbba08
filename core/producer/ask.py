"""One feed is asked for news: past the gate, a walk is opened or resumed and its task published.

Whatever is in the way is read here, inside the run, and kept nowhere: a flag could get lost."""

from __future__ import annotations

from dataclasses import dataclass

from core.app import App
from core.model.task import DiscoverPayload
from core.ports import Copy
from core.steps.discover import whole_depth
from core.steps.gate import HELD_S, Gate, Marks, held_s
from core.steps.trigger import find_feed, trigger

PAUSED_S = 60.0  # a person's resume is noticed that soon


@dataclass(frozen=True, slots=True)
class Triggered:
    """The feed's walk has its task in RabbitMQ."""

    walk: str
    page: int  # from 1: a walk that was interrupted goes on further down

    def __str__(self) -> str:
        begins = "begins" if self.page == 1 else f"goes on at page {self.page}"
        return f"walk {self.walk} {begins}"


@dataclass(frozen=True, slots=True)
class HeldBack:
    """The feed's source gets nothing more for now."""

    reason: str  # a stable word: paused, blocked, backlog
    why: str  # for people
    again_s: float  # worth another look after so long

    def __str__(self) -> str:
        return self.why


def ask(app: App, gate: Gate, name: str) -> Triggered | HeldBack:
    """Ask the feed of that name in the settings. Raises a `HeadraceError` when it could not be
    asked; asking again is harmless."""
    feed = find_feed(app.settings, name)
    held = _held_back(app, gate, feed.record.source)
    if held is not None:
        return held
    attempts = app.settings.retries.max_attempts
    task = trigger(app.store, feed, app.clock, max_attempts=attempts)
    app.publisher.publish([Copy(task)])
    payload = task.payload
    assert isinstance(payload, DiscoverPayload)  # noqa: S101 - a trigger reads a feed
    return Triggered(payload.walk, payload.page)


def _held_back(app: App, gate: Gate, source: str) -> HeldBack | None:
    """What keeps a source from getting more: a person, the source itself, or its backlog."""
    pause = app.store.switches.read().of(source).pause
    if pause is not None:
        return HeldBack("paused", f"source {source} is paused: {pause.reason}", PAUSED_S)
    blocked_s = app.budget.blocked_for(source)
    if blocked_s > 0:
        why = f"source {source} told us to slow down, and is blocked for {blocked_s:.0f} s more"
        return HeldBack("blocked", why, min(blocked_s, HELD_S[1]))
    return _backlog(app, gate, source)


def _backlog(app: App, gate: Gate, source: str) -> HeldBack | None:
    marks = Marks(app.settings.backpressure.high_water, app.settings.backpressure.low_water)
    depth = whole_depth(app.depths, app.ledger)(source)
    if gate.lets_in(source, depth, marks):
        return None
    why = (
        f"source {source} has {depth:,} tasks open and passed {marks.high_water:,}: it gets more "
        f"when fewer than {marks.low_water:,} are"
    )
    return HeldBack("backlog", why, held_s(depth, marks, app.terms(source).rate))
