"""Which delivery is handed on next: turns among sources, and a slot of its source for each. Pure:
no I/O, one lock, a clock that is given.

It belongs to the process and outlives every connection: a slot is freed by the end of the very
delivery that took it, once, whatever became of its connection.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping

from core.clock import Clock
from core.queue.delivery import Delivery
from core.queue.lanes import lanes_of, split_lane, with_shared
from core.queue.outcome import ToHead
from core.queue.slots import SourceSlots

DEFAULT_THREADS = 8  # as Dramatiq has


class Turns:
    """Every source of the process, and `headrace`, which owns the shared lanes. `sources` maps
    names to their `concurrency`, None for a quarter of the threads."""

    def __init__(
        self, sources: Mapping[str, int | None], clock: Clock, *, threads: int = DEFAULT_THREADS
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sources = {
            name: SourceSlots(wanted, {lane: deque() for lane in lanes_of(name)})
            for name, wanted in with_shared(sources).items()
        }
        self._order = deque(self._sources.values())
        self._threads = threads
        self._stopped = False
        self._closed_until = 0.0  # monotonic seconds
        self.start(threads)

    # --- the process ---

    def start(self, threads: int) -> None:
        """Hand on to so many worker threads; no more deliveries than that are in hand."""
        with self._lock:
            self._threads = threads
            self._stopped = False
            for source in self._order:
                source.size(threads)

    def stop(self) -> None:
        """Hand nothing on any more; everything buffered is surplus."""
        with self._lock:
            self._stopped = True

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    # --- deliveries ---

    def add(self, delivery: Delivery) -> None:
        """To the end of its lane's buffer."""
        with self._lock:
            delivery.waiting_since = self._clock.monotonic()
            self._sources[delivery.source].buffers[delivery.lane].append(delivery)

    def next(self) -> Delivery | None:
        """The next delivery, which takes a slot of its source; None when nothing may be handed
        on."""
        with self._lock:
            now = self._clock.monotonic()
            if not self._may_hand_on(now):
                return None
            for _ in range(len(self._order)):
                source = self._order[0]
                self._order.rotate(-1)
                if source.has_work() and source.is_free(now):
                    delivery = source.hand_on()
                    self._mark_stuck(now)
                    return delivery
            return None

    def granted(self, delivery: Delivery) -> bool:
        """A delivery's first token came. Returns whether that is news for its source: hardly ever,
        and then the consumer, which would take the place of a worker for a moment, sleeps on."""
        source = self._sources[delivery.source]
        if not source.is_probe(delivery):
            return False
        with self._lock:
            if source.is_probe(delivery):
                source.granted(delivery.prompt)
        return True

    def fetched(self, delivery: Delivery) -> bool:
        """A delivery needs its source no more and is only to be committed: its slot is free, its
        thread is not. Returns whether that lets another one be handed on."""
        with self._lock:
            source = self._sources[delivery.source]
            source.free(delivery)
            now = self._clock.monotonic()
            self._mark_stuck(now)
            return source.has_work() and source.is_free(now) and self._may_hand_on(now)

    def has_next(self) -> bool:
        """Whether anything may be handed on now."""
        with self._lock:
            return self._has_next(self._clock.monotonic())

    def _has_next(self, now: float) -> bool:
        return self._may_hand_on(now) and any(
            source.has_work() and source.is_free(now) for source in self._order
        )

    def end(self, delivery: Delivery, *, keep: bool) -> bool:
        """Free the delivery's slot and thread; False when it holds none (any more). With `keep` one
        that goes to its lane's head goes back into the buffer."""
        with self._lock:
            source = self._sources[delivery.source]
            if not source.let_go(delivery):
                return False
            now = self._clock.monotonic()
            source.learn(delivery, now)
            self._shut(delivery, now)
            self._mark_stuck(now)
            if keep and isinstance(delivery.outcome, ToHead):
                source.put_back(delivery.again(now))
            return True

    def surplus(self) -> list[Delivery]:
        """Remove and return what must go back to the broker: of closed sources, of everything
        after `stop`, and what has lain here too long."""
        with self._lock:
            now = self._clock.monotonic()
            still = self._is_still(now)
            taken: list[Delivery] = []
            for source in self._order:
                shut = still or source.is_shut(now)
                taken += source.take_all() if shut else source.take_surplus(now)
            return taken

    def clear(self) -> list[Delivery]:
        """Remove and return everything buffered: its connection ends. What is in hand stays."""
        with self._lock:
            for source in self._order:
                source.away.clear()
            return [delivery for source in self._order for delivery in source.take_all()]

    # --- sources and lanes ---

    def pause(self, source: str) -> None:
        """Hand on nothing of a source until `resume`. One without lanes here is none of ours."""
        with self._lock:
            if source in self._sources:
                self._sources[source].pause()

    def resume(self, source: str) -> None:
        """End a pause."""
        with self._lock:
            if source in self._sources:
                self._sources[source].resume()

    def unblock(self, source: str) -> None:
        """A person ended a source's block."""
        with self._lock:
            if source in self._sources:
                self._sources[source].unblock()

    def close_all(self, seconds: float) -> None:
        """Hand on nothing of any source for so long, or until `open_all`."""
        with self._lock:
            ends = self._clock.monotonic() + seconds
            self._closed_until = max(self._closed_until, ends)

    def open_all(self) -> None:
        """End what `close_all` began; each source's own rests and closures stand."""
        with self._lock:
            self._closed_until = 0.0

    def open_lanes(self, lanes: Iterable[str]) -> set[str]:
        """Which of these lanes shall be consumed now."""
        with self._lock:
            now = self._clock.monotonic()
            if self._is_still(now):
                return set()
            for source in self._order:
                if source.away and self._has_thread() and source.is_free(now):
                    source.away.clear()
            return {lane for lane in lanes if self._is_wanted(lane, now)}

    def slots(self, source: str) -> int:
        """How many deliveries of a source may be in hand."""
        return self._sources[source].slots

    def in_hand(self, source: str) -> int:
        """How many are, with those that are only to be committed."""
        with self._lock:
            return self._sources[source].held

    def buffered(self, source: str, lane: str | None = None) -> int:
        """How many wait here for a slot, in all lanes or in one."""
        with self._lock:
            buffers = self._sources[source].buffers
            return sum(len(buffers[name]) for name in buffers if lane in (None, name))

    def wait_s(self, limit_s: float) -> float:
        """Seconds until there may be more to hand on, `limit_s` at most: until a rest or a closure
        ends, none when one has just ended."""
        with self._lock:
            now = self._clock.monotonic()
            if self._has_next(now):
                return 0.0
            ends = (self._closed_until, *(source.opens_at() for source in self._order))
            return min([limit_s, *(end - now for end in ends if end > now)])

    def _may_hand_on(self, now: float) -> bool:
        return self._has_thread() and not self._is_still(now)

    def _is_still(self, now: float) -> bool:
        return self._stopped or now < self._closed_until

    def _has_thread(self) -> bool:
        return sum(source.held for source in self._order) < self._threads

    def _is_wanted(self, lane: str, now: float) -> bool:
        source = self._sources[split_lane(lane)[0]]
        return not source.is_shut(now) and lane not in source.away

    def _shut(self, delivery: Delivery, now: float) -> None:
        """Of the task's own source: a shared lane's slots are everybody's."""
        source = self._sources.get(delivery.task.source)
        if source and delivery.outcome and delivery.outcome.shut_s > 0:
            source.shut(delivery.outcome.shut_s, now)

    def _mark_stuck(self, now: float) -> None:
        has_thread = self._has_thread()
        for source in self._order:
            source.mark_stuck(now, has_thread=has_thread)
