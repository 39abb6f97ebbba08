"""Which delivery is handed on next: slots per source, turns among sources and lanes, rests and
closures. Pure: no I/O, one lock, a clock that is given.

It belongs to the process and outlives every connection: a slot is freed by the end of the very
delivery that took it, once, whatever became of its connection.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.clock import Clock
from core.queue.delivery import Delivery
from core.queue.lanes import lanes_of, split_lane, with_shared
from core.queue.outcome import Settled, ToHead

STALE_S = 60.0  # buffered so long: other processes shall have it (facts, RabbitMQ: prefetch)
LONG_HELD_S = 300.0  # received so long ago: `consumer_timeout` (30 min) must start anew
OTHERS_EVERY = 8  # each so many-th turn of a source goes to its other lanes
DEFAULT_THREADS = 8  # as Dramatiq has


@dataclass(slots=True)
class _Source:
    """One source's buffers and slots. Its callers hold the lock."""

    wanted: int | None  # the `concurrency` setting
    buffers: dict[str, deque[Delivery]]  # in the order of turns
    slots: int = 1
    in_hand: set[Delivery] = field(default_factory=set)
    turn: int = 0
    rest_until: float = 0.0  # monotonic seconds
    closed_until: float = 0.0  # monotonic seconds
    careful: bool = False  # one at a time, until one is granted at once
    probe: Delivery | None = None  # that one
    away: set[str] = field(default_factory=set)  # lanes cancelled until a slot is free

    def size(self, threads: int) -> None:
        """Slots: the setting, else a quarter of the threads; fewer than the threads, so that no
        source takes them all."""
        wanted = max(1, threads // 4) if self.wanted is None else self.wanted
        self.slots = max(1, min(wanted, threads - 1))

    def is_free(self, now: float) -> bool:
        """Whether it could hand something on, had it anything."""
        if now < max(self.rest_until, self.closed_until):
            return False
        if self.careful and self.probe is not None:
            return False
        return len(self.in_hand) < self.slots

    def has_work(self) -> bool:
        """Whether anything is buffered."""
        return any(self.buffers.values())

    def hand_on(self) -> Delivery:
        """The next delivery, with a slot."""
        delivery = self.buffers[self._next_lane()].popleft()
        self.in_hand.add(delivery)
        self.turn += 1
        if self.careful:
            self.probe = delivery
        return delivery

    def _next_lane(self) -> str:
        first, *others = (lane for lane, buffer in self.buffers.items() if buffer)
        round_, place = divmod(self.turn, OTHERS_EVERY)
        if others and place == OTHERS_EVERY - 1:
            return others[round_ % len(others)]
        return first

    def learn(self, delivery: Delivery, now: float) -> None:
        """What the end of a delivery says about the source's budget."""
        if delivery is self.probe:
            self.probe = None
            if isinstance(delivery.outcome, Settled) and delivery.outcome.prompt:
                self.careful = False
        if isinstance(delivery.outcome, ToHead):
            self.careful = True
            self.rest_until = max(self.rest_until, now + delivery.outcome.rest_s)

    def put_back(self, delivery: Delivery) -> None:
        """To its lane's head, but behind what arrived before it and went back too."""
        buffer = self.buffers[delivery.lane]
        earlier = []
        while buffer and buffer[0].origin.tag < delivery.origin.tag:
            earlier.append(buffer.popleft())
        buffer.appendleft(delivery)
        buffer.extendleft(reversed(earlier))

    def take_surplus(self, now: float) -> list[Delivery]:
        """Remove what has lain too long; a lane with a stale delivery goes away."""
        taken: list[Delivery] = []
        for lane, buffer in self.buffers.items():
            if any(now - waiting.waiting_since >= STALE_S for waiting in buffer):
                self.away.add(lane)
                taken += _take(buffer)
                continue
            old = [d for d in buffer if now - d.origin.received_at >= LONG_HELD_S]
            for delivery in old:
                buffer.remove(delivery)
            taken += old
        return taken

    def take_all(self) -> list[Delivery]:
        """Remove everything buffered."""
        return [delivery for buffer in self.buffers.values() for delivery in _take(buffer)]


def _take(buffer: deque[Delivery]) -> list[Delivery]:
    taken = list(buffer)
    buffer.clear()
    return taken


class Turns:
    """Every source of the process, and `headrace`, which owns the shared lanes. `sources` maps
    names to their `concurrency`, None for a quarter of the threads."""

    def __init__(
        self, sources: Mapping[str, int | None], clock: Clock, *, threads: int = DEFAULT_THREADS
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sources = {
            name: _Source(wanted, {lane: deque() for lane in lanes_of(name)})
            for name, wanted in with_shared(sources).items()
        }
        self._order = deque(self._sources.values())
        self._threads = threads
        self._stopped = False
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
            if not self._has_thread():
                return None
            for _ in range(len(self._order)):
                source = self._order[0]
                self._order.rotate(-1)
                if source.has_work() and source.is_free(now):
                    return source.hand_on()
            return None

    def granted(self, delivery: Delivery) -> bool:
        """A delivery's first token came: the next one may be tried while it runs, and if it came at
        once, its source needs no more care. Returns whether any of that is news: hardly ever, and
        then the consumer, which would take the place of a worker for a moment, sleeps on."""
        source = self._sources[delivery.source]
        if delivery is not source.probe:  # it became the probe before it was handed on, if at all
            return False
        with self._lock:
            if delivery is source.probe:
                source.careful, source.probe = not delivery.prompt, None
        return True

    def end(self, delivery: Delivery, *, keep: bool) -> bool:
        """Free the delivery's slot; False when it holds none (any more). With `keep` one that
        goes to its lane's head goes back into the buffer."""
        with self._lock:
            source = self._sources[delivery.source]
            if delivery not in source.in_hand:
                return False
            source.in_hand.remove(delivery)
            now = self._clock.monotonic()
            source.learn(delivery, now)
            if keep and isinstance(delivery.outcome, ToHead):
                source.put_back(delivery.again(now))
            return True

    def surplus(self) -> list[Delivery]:
        """Remove and return what must go back to the broker: of closed sources, of everything
        after `stop`, and what has lain here too long."""
        with self._lock:
            now = self._clock.monotonic()
            taken: list[Delivery] = []
            for source in self._order:
                shut = self._stopped or now < source.closed_until
                taken += source.take_all() if shut else source.take_surplus(now)
            return taken

    def clear(self) -> list[Delivery]:
        """Remove and return everything buffered: its connection ends. What is in hand stays."""
        with self._lock:
            for source in self._order:
                source.away.clear()
            return [delivery for source in self._order for delivery in source.take_all()]

    # --- sources and lanes ---

    def close(self, source: str, seconds: float = math.inf) -> None:
        """Hand on nothing of a source for so long, or until `open`."""
        with self._lock:
            self._shut(self._sources[source], seconds)

    def close_all(self, seconds: float) -> None:
        """Hand on nothing of any source for so long."""
        with self._lock:
            for source in self._order:
                self._shut(source, seconds)

    def open(self, source: str) -> None:
        """End a closure."""
        with self._lock:
            self._sources[source].closed_until = 0.0

    def open_lanes(self, lanes: Iterable[str]) -> set[str]:
        """Which of these lanes shall be consumed now."""
        with self._lock:
            if self._stopped:
                return set()
            now = self._clock.monotonic()
            for source in self._order:
                if source.away and self._has_thread() and source.is_free(now):
                    source.away.clear()
            return {lane for lane in lanes if self._is_wanted(lane, now)}

    def slots(self, source: str) -> int:
        """How many deliveries of a source may be in hand."""
        return self._sources[source].slots

    def in_hand(self, source: str) -> int:
        """How many are."""
        with self._lock:
            return len(self._sources[source].in_hand)

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
            if self._has_thread() and any(s.has_work() and s.is_free(now) for s in self._order):
                return 0.0
            ends = (max(source.rest_until, source.closed_until) for source in self._order)
            return min([limit_s, *(end - now for end in ends if end > now)])

    def _has_thread(self) -> bool:
        taken = sum(len(source.in_hand) for source in self._order)
        return not self._stopped and taken < self._threads

    def _is_wanted(self, lane: str, now: float) -> bool:
        source = self._sources[split_lane(lane)[0]]
        return now >= source.closed_until and lane not in source.away

    def _shut(self, source: _Source, seconds: float) -> None:
        source.closed_until = max(source.closed_until, self._clock.monotonic() + seconds)
