"""One feed is asked for news: past the gate, a walk is opened or resumed and its task published.

Whatever is in the way is read here, inside the run, and kept nowhere: a flag could get lost."""

from __future__ import annotations

from dataclasses import dataclass

from core.app import App
from core.model.task import DiscoverPayload
from core.model.walk import FeedRecord
from core.ports import Copy
from core.sources import adapter
from core.steps.depths import whole_depth
from core.steps.gate import HELD_S, Gate, Marks, held_s
from core.steps.trigger import asked_host, find_feed, trigger

PAUSED_S = 60.0  # a person's resume is noticed that soon


@dataclass(frozen=True, slots=True)
class Triggered:
    """The feed's walk has its task in RabbitMQ."""

    walk: str
    page: int  # from 1: a walk that was interrupted goes on further down
    is_new: bool = True  # else it was open before: nobody has read it to its end yet

    def __str__(self) -> str:
        if self.is_new:
            return f"walk {self.walk} begins"
        if self.page == 1:
            return f"walk {self.walk} is still open at page 1"
        return f"walk {self.walk} goes on at page {self.page}"


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
    held = _held_back(app, gate, feed.record)
    if held is not None:
        return held
    before = app.store.walks.current(feed.record.feed)
    attempts = app.settings.retries.max_attempts
    task = trigger(app.store, feed, app.clock, max_attempts=attempts)
    app.publisher.publish([Copy(task)])
    payload = task.payload
    assert isinstance(payload, DiscoverPayload)  # noqa: S101 - a trigger reads a feed
    is_new = before is None or before.walk != payload.walk
    return Triggered(payload.walk, payload.page, is_new=is_new)


def _held_back(app: App, gate: Gate, feed: FeedRecord) -> HeldBack | None:
    """What keeps a feed from being asked: a person, its source or host, or the backlog."""
    source = feed.source
    pause = app.store.switches.read().of(source).pause
    if pause is not None:
        return HeldBack("paused", f"source {source} is paused: {pause.reason}", PAUSED_S)
    return _blocked(app, feed) or _backlog(app, gate, source)


def _blocked(app: App, feed: FeedRecord) -> HeldBack | None:
    """Of a source that is spread over many hosts, the one that is asked for the feed counts too."""
    named = {feed.source: f"source {feed.source}"}
    if adapter(feed.adapter).many_hosts and (host := asked_host(app.store, feed)):
        named[f"{feed.source}/{host}"] = f"{host}, which is asked for the feed,"
    for bucket, name in named.items():
        blocked_s = app.budget.blocked_for(bucket)
        if blocked_s > 0:
            why = f"{name} told us to slow down, and is blocked for {blocked_s:.0f} s more"
            return HeldBack("blocked", why, min(blocked_s, HELD_S[1]))
    return None


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
