"""One source's part in the turns: what is buffered of it, its slots, its rests and closures. Pure;
whoever calls it holds the lock."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from core.queue.delivery import Delivery
from core.queue.outcome import Settled, ToHead

STALE_S = 60.0  # buffered so long while no slot came free: other processes shall have it
LONG_HELD_S = 300.0  # received so long ago: `consumer_timeout` (30 min) must start anew
OTHERS_EVERY = 8  # each so many-th turn of a source goes to its other lanes
# How long a task's word that its source is paused holds. Whoever paused it tells of that and of its
# end; a task that ends just after the end must not pause it for ever.
PAUSE_TOLD_S = 5.0


@dataclass(slots=True)
class SourceSlots:
    """One source's buffers and slots."""

    wanted: int | None  # the `concurrency` setting
    buffers: dict[str, deque[Delivery]]  # in the order of turns
    slots: int = 1
    most: int = 1  # threads at work for it, also for what is only to be committed
    in_hand: set[Delivery] = field(default_factory=set)  # each has a slot
    fetched: set[Delivery] = field(default_factory=set)  # in hand too, but the slot is another's
    away: set[str] = field(default_factory=set)  # lanes cancelled until a slot is free
    _turn: int = 0
    _rest_until: float = 0.0  # monotonic seconds, as all below
    _blocked_until: float = 0.0
    _paused_until: float = 0.0  # infinite until it is resumed
    _stuck_since: float = math.inf  # no slot or thread came free since then
    _careful: bool = False  # one at a time, until one is granted at once
    _probe: Delivery | None = None  # that one

    def size(self, threads: int) -> None:
        """Slots: the setting, else a quarter of the threads; fewer than the threads, so that no
        source takes them all."""
        wanted = max(1, threads // 4) if self.wanted is None else self.wanted
        self.most = max(1, threads - 1)
        self.slots = max(1, min(wanted, self.most))

    @property
    def held(self) -> int:
        """How many threads are at work for it."""
        return len(self.in_hand) + len(self.fetched)

    # --- handing on ---

    def is_free(self, now: float) -> bool:
        """Whether it could hand something on, had it anything."""
        if now < self.opens_at():
            return False
        if self._careful and self._probe is not None:
            return False
        return self._has_slot()

    def _has_slot(self) -> bool:
        return len(self.in_hand) < self.slots and self.held < self.most

    def has_work(self) -> bool:
        """Whether anything is buffered."""
        return any(self.buffers.values())

    def hand_on(self) -> Delivery:
        """The next delivery, with a slot."""
        delivery = self.buffers[self._next_lane()].popleft()
        self.in_hand.add(delivery)
        self._turn += 1
        if self._careful:
            self._probe = delivery
        return delivery

    def _next_lane(self) -> str:
        first, *others = (lane for lane, buffer in self.buffers.items() if buffer)
        round_, place = divmod(self._turn, OTHERS_EVERY)
        if others and place == OTHERS_EVERY - 1:
            return others[round_ % len(others)]
        return first

    def free(self, delivery: Delivery) -> None:
        """It needs its source no more: the slot may be another's while it is committed."""
        if delivery in self.in_hand:
            self.in_hand.remove(delivery)
            self.fetched.add(delivery)

    def let_go(self, delivery: Delivery) -> bool:
        """It is over; False when it is not in hand (any more)."""
        for held in (self.in_hand, self.fetched):
            if delivery in held:
                held.remove(delivery)
                return True
        return False

    # --- what runs teach ---

    def is_probe(self, delivery: Delivery) -> bool:
        """Whether this is the one that is tried. Safe without the lock: it became so before it was
        handed on, if at all."""
        return delivery is self._probe

    def granted(self, prompt: bool) -> None:
        """The probe's first token came: the next one may be tried while it runs, and if it came at
        once, the source needs no more care."""
        self._careful, self._probe = not prompt, None

    def learn(self, delivery: Delivery, now: float) -> None:
        """What the end of a delivery says about the source's budget."""
        if delivery is self._probe:
            self._probe = None
            if isinstance(delivery.outcome, Settled) and delivery.outcome.prompt:
                self._careful = False
        if isinstance(delivery.outcome, ToHead):
            self._careful = True
            self._rest_until = max(self._rest_until, now + delivery.outcome.rest_s)

    # --- closures ---

    def opens_at(self) -> float:
        """When its rest and its closures end."""
        return max(self._rest_until, self._blocked_until, self._paused_until)

    def is_shut(self, now: float) -> bool:
        """Whether nothing of it shall be consumed."""
        return now < max(self._blocked_until, self._paused_until)

    def shut(self, seconds: float, now: float) -> None:
        """A run learned that it is blocked for so long, or paused (infinite). Other runs that
        learned of it end meanwhile; when it opens, one at a time is tried."""
        self._careful = True
        if math.isinf(seconds):
            self._paused_until = max(self._paused_until, now + PAUSE_TOLD_S)
        else:
            self._blocked_until = max(self._blocked_until, now + seconds)

    def pause(self) -> None:
        """Until it is resumed."""
        self._careful = True
        self._paused_until = math.inf

    def resume(self) -> None:
        """End a pause. A block outlasts it."""
        self._paused_until = 0.0

    def unblock(self) -> None:
        """End a block before its time. One at a time is tried; a pause outlasts it."""
        self._blocked_until = 0.0

    # --- what goes back ---

    def put_back(self, delivery: Delivery) -> None:
        """To its lane's head, but behind what arrived before it and went back too."""
        buffer = self.buffers[delivery.lane]
        earlier = []
        while buffer and buffer[0].origin.tag < delivery.origin.tag:
            earlier.append(buffer.popleft())
        buffer.appendleft(delivery)
        buffer.extendleft(reversed(earlier))

    def mark_stuck(self, now: float, *, has_thread: bool) -> None:
        """Note since when nothing more of it could be handed on. Waiting for tokens does not count:
        others would only wait for the same ones."""
        if has_thread and self._has_slot():
            self._stuck_since = math.inf
        else:
            self._stuck_since = min(self._stuck_since, now)

    def take_surplus(self, now: float) -> list[Delivery]:
        """Remove what has lain too long; a lane with a stale delivery goes away."""
        taken: list[Delivery] = []
        for lane, buffer in self.buffers.items():
            if any(self._is_stale(delivery, now) for delivery in buffer):
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

    def _is_stale(self, delivery: Delivery, now: float) -> bool:
        return now - max(self._stuck_since, delivery.waiting_since) >= STALE_S


def _take(buffer: deque[Delivery]) -> list[Delivery]:
    taken = list(buffer)
    buffer.clear()
    return taken
