"""Gives a run its work: first what earlier runs left, then the feeds.

In this order nothing that the run itself finds, or sees fail, is taken for a leftover. What is
given stays below the low-water mark, so that a million leftovers never lie in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from core.app import App
from core.cli.census import Census
from core.cli.progress import recognise
from core.errors import HeadraceError
from core.model.task import Task
from core.model.walk import FeedRecord
from core.ports import Copy
from core.steps.discover import open_depth
from core.steps.trigger import Feed, listed, offer, submitted, trigger

_WINDOW = 200  # tasks published together
_PAUSE_S = 0.2  # between looks at a full source


@dataclass(frozen=True, slots=True)
class Order:
    """A feed and the task that reads it on."""

    feed: FeedRecord
    task: Task


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
        self, app: App, orders: Sequence[Order], census: Census, *, retry_dead: bool
    ) -> None:
        self._app = app
        self._orders = orders
        self._census = census
        self._retry_dead = retry_dead
        self._depth = open_depth(app.depths, app.ledger)
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
        self._leftovers()
        if not self._app.stop.is_set():
            self._app.publisher.publish([Copy(order.task) for order in self._orders])

    def _run(self) -> None:
        try:
            self.feed()
        except HeadraceError as error:
            self._error = error

    def _leftovers(self) -> None:
        for order in self._orders:
            for window in _windows(self._left_of(order)):
                if not self._has_room(order.feed.source):
                    return
                self._app.publisher.publish(window)

    def _left_of(self, order: Order) -> Iterator[Copy]:
        """What a feed's earlier pages list and nobody has; counts the rest as known or failed."""
        for payload in listed(self._app.store, order.feed.feed):
            if self._app.stop.is_set():
                return
            if not self._census.find(payload.media):
                continue
            copy = offer(
                self._app.store,
                order.feed.source,
                payload,
                max_attempts=self._app.settings.retries.max_attempts,
                retry_dead=self._retry_dead,
            )
            if copy is None:
                recognise(self._census, self._app.store, payload.media)
            else:
                yield replace(copy, task=submitted(copy.task, self._app.store, self._app.clock))

    def _has_room(self, source: str) -> bool:
        """Wait until little of a source is open; False when the run was stopped first."""
        low_water = self._app.settings.backpressure.low_water
        while self._depth(source) >= low_water:
            if self._app.clock.sleep(_PAUSE_S, wake=self._app.stop):
                return False
        return not self._app.stop.is_set()


def _windows(copies: Iterator[Copy]) -> Iterator[list[Copy]]:
    window: list[Copy] = []
    for copy in copies:
        window.append(copy)
        if len(window) == _WINDOW:
            yield window
            window = []
    if window:
        yield window
