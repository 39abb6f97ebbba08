"""Gives a run its work: of each source first what earlier runs left, then its feeds; these go in
earlier where there is much to look through.

What is given stays below the low-water mark, so that a million leftovers never lie in memory; a
source that is full, since it is slow or paused, holds up no other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from core.app import App
from core.cli.census import Census
from core.cli.leftovers import Leftovers, Order
from core.errors import HeadraceError
from core.ports import Copy
from core.steps.depths import open_depth
from core.steps.reopened import Telling
from core.steps.trigger import Feed, trigger

logger = logging.getLogger(__name__)

_WINDOW = 200  # tasks published together
_LOOKED_THROUGH = 10_000  # old media, half a second's work, before what there is goes out
_PAUSE_S = 0.2  # between looks at a full source
_SILENT_S = 5.0  # that one is waited for before a word is said of it


def orders(app: App, feeds: Iterable[Feed]) -> list[Order]:
    """Open or resume a walk of each feed, once for one that is named twice."""
    attempts = app.settings.retries.max_attempts
    distinct = {feed.record.feed: feed for feed in feeds}
    return [
        Order(feed.record, trigger(app.store, feed, app.clock, max_attempts=attempts))
        for feed in distinct.values()
    ]


class Feeding:
    """Publishes a run's work, in a thread of its own once started."""

    def __init__(
        self,
        app: App,
        orders: Sequence[Order],
        census: Census,
        *,
        retry_dead: bool,
        say: Callable[[str], None] = logger.info,
    ) -> None:
        self._app = app
        self._orders = orders
        self._census = census
        self._retry_dead = retry_dead
        self._say = say
        self._depth = open_depth(app.depths, app.ledger)
        self._publisher = Telling(app.publisher, app.ledger)
        self._thread = threading.Thread(target=self._run, name="headrace-feeding", daemon=True)
        self._error: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def is_over(self) -> bool:
        """Whether everything was published. Raises what went wrong."""
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def end(self) -> None:
        """Wait for the thread, which looks at the app's stop event."""
        self._thread.join()

    def feed(self) -> None:
        """Publish everything, in this thread."""
        supplies = [self._supply(orders) for orders in _by_source(self._orders)]
        while supplies and not self._app.stop.is_set():
            fed = [supply for supply in supplies if self._has_room(supply)]
            for supply in supplies:
                if supply not in fed:
                    self._say_why(supply)
            for supply in fed:
                if due := supply.take():
                    self._publisher.publish(due)
                supply.advance()
            supplies = [supply for supply in supplies if not supply.over]
            if supplies and not fed:
                self._app.clock.sleep(_PAUSE_S, wake=self._app.stop)

    def _run(self) -> None:
        try:
            self.feed()
        except HeadraceError as error:
            self._error = error

    def _supply(self, orders: Sequence[Order]) -> _Supply:
        # All are made before the first is looked at: what is read meanwhile is nobody's leftover.
        leftovers = [
            Leftovers(self._app, order, self._census, retry_dead=self._retry_dead)
            for order in orders
        ]
        offers = (offer for one in leftovers for offer in one.offers())
        feeds = [Copy(order.task) for order in orders]
        return _Supply(orders[0].feed.source, feeds, _windows(offers))

    def _has_room(self, supply: _Supply) -> bool:
        """Whether little of its source is open; a feed itself is always let in."""
        if not supply.needs_room:
            return not self._app.stop.is_set()
        return self._depth(supply.source) < self._app.settings.backpressure.low_water

    def _say_why(self, supply: _Supply) -> None:
        """Once: a source that is paused, or whose workers are stopped, may be full for days."""
        now = self._app.clock.monotonic()
        supply.waits_since = now if supply.waits_since is None else supply.waits_since
        if supply.is_told or now - supply.waits_since < _SILENT_S:
            return
        supply.is_told = True
        tasks, low_water = self._depth(supply.source), self._app.settings.backpressure.low_water
        self._say(
            f"{supply.source}: waits, with {tasks:,} tasks open; the rest goes in once fewer than "
            f"{low_water:,} are (headrace status)"
        )


class _Supply:
    """What one source is yet to be given: windows of leftovers, then its feeds."""

    def __init__(self, source: str, feeds: list[Copy], leftovers: Iterator[list[Copy]]) -> None:
        self.source = source
        self._feeds = feeds
        self._leftovers = leftovers
        self._window = next(leftovers, None)
        self.waits_since: float | None = None
        self.is_told = False

    @property
    def needs_room(self) -> bool:
        """Whether leftovers are due."""
        return bool(self._window)

    @property
    def over(self) -> bool:
        """Whether nothing is left to be given."""
        return self._window is None and not self._feeds

    def take(self) -> list[Copy]:
        """What is due. A window that took long to find, so that it is not full, lets the feeds in:
        nobody waits for their news while a million old media are looked through."""
        due = self._window or []
        if len(due) < _WINDOW:
            due, self._feeds = [*due, *self._feeds], []
        return due

    def advance(self) -> None:
        """What was due is published."""
        self.waits_since = None
        if self._window is not None:
            self._window = next(self._leftovers, None)


def _by_source(orders: Iterable[Order]) -> Iterable[list[Order]]:
    grouped: dict[str, list[Order]] = {}
    for order in orders:
        grouped.setdefault(order.feed.source, []).append(order)
    return grouped.values()


def _windows(offers: Iterable[Copy | None]) -> Iterator[list[Copy]]:
    """Full ones, and what there is each time that many were looked through for it."""
    window: list[Copy] = []
    for looked, copy in enumerate(offers, 1):
        if copy is not None:
            window.append(copy)
        if len(window) == _WINDOW or looked % _LOOKED_THROUGH == 0:
            yield window
            window = []
    if window:
        yield window
