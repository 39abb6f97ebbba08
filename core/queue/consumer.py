"""One consumer for every lane of the process: receives, hands on by turns, settles by outcome.

Worker threads only leave a note and wake the loop; the consumer's own thread does all I/O. It
acknowledges a delivery only for a positive outcome: one without goes back after a while, held here
and not by a thread."""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Protocol, assert_never, cast

from dramatiq import Consumer
from dramatiq.broker import MessageProxy
from dramatiq.errors import BrokerConnectionError

from core.clock import Clock
from core.errors import HeadraceError, Malformed
from core.model.task import NewerFormat, State
from core.queue.delivery import Delivery, Origin
from core.queue.lanes import lane, split_lane
from core.queue.message import decode
from core.queue.outage import Outage
from core.queue.outcome import Settled, ToHead
from core.queue.turns import Turns
from core.queue.waiting import Waiting

if TYPE_CHECKING:  # it brings pika, which an embedded run does not need
    from core.queue.lane_channel import Arrived, LaneChannel

logger = logging.getLogger(__name__)

HOLD_S = (1.0, 30.0)  # how long a delivery without an outcome rests, jittered
NEWER_FORMAT_S = 60.0  # until a worker that can read it may take it
_OPEN = (State.PENDING, State.FAILED)  # what a message in a lane may be


class RawDesk(Protocol):
    """Publishes bodies that can't be decoded. Raises `BrokerDown`."""

    def bury_raw(self, lane: str, body: bytes, reason: str, message: str) -> None:
        """To the dead queue of the lane's source, as it is."""

    def delay_raw(self, lane: str, body: bytes, seconds: float) -> None:
        """Back to the lane after a while, as it is."""


class Note(Enum):
    """What the loop shall do with a tag."""

    ACK = "ack"
    HOLD = "hold"
    GIVE_BACK = "give back"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a consumer works with; all but the channel outlives it."""

    turns: Turns
    lanes: tuple[str, ...]
    desk: RawDesk
    outage: Outage
    clock: Clock
    rng: random.Random


class LaneConsumer(Consumer):
    """Made by the broker in the consumer's thread; a new one after each lost connection."""

    def __init__(
        self,
        open_channel: Callable[[Callable[[Arrived], None]], LaneChannel],
        parts: Parts,
        *,
        timeout_s: float,
    ) -> None:
        self._turns = parts.turns
        self._lanes = parts.lanes
        self._desk = parts.desk
        self._outage = parts.outage
        self._clock = parts.clock
        self._rng = parts.rng
        self._timeout_s = timeout_s
        self._notes: deque[tuple[Note, int]] = deque()  # appended to by any thread
        self._held: Waiting[int] = Waiting()
        self._closed = False
        self._desk_thread = ThreadPoolExecutor(1, "headrace-unreadable")  # starts when needed
        self._turns.clear()  # what an earlier connection left has tags of its own
        self._channel = open_channel(self._receive)

    # --- the consumer's thread ---

    def __next__(self) -> Delivery | None:
        """The next delivery that may be handed on, or None after the timeout."""
        deadline = self._clock.monotonic() + self._timeout_s
        while True:
            # Before any I/O: a worker thread is waiting. The buffer is small, so I/O is never far.
            if (delivery := self._turns.next()) is not None:
                return delivery
            self._settle()
            self._follow_turns()
            now = self._clock.monotonic()
            if now >= deadline:
                return None
            self._channel.process(self._wait_s(now, deadline - now))

    def _wait_s(self, now: float, limit_s: float) -> float:
        held_s = limit_s if self._outage.lasts else self._held.wait_s(now, limit_s)
        return self._turns.wait_s(held_s)

    def _settle(self) -> None:
        """Do what the notes say, and give back what was held long enough."""
        while self._notes:
            note, tag = self._notes.popleft()
            match note:
                case Note.ACK:
                    self._channel.ack(tag)
                case Note.GIVE_BACK:
                    self._channel.give_back(tag)
                case Note.HOLD:
                    self._held.add(self._clock.monotonic() + self._rng.uniform(*HOLD_S), tag)
                case _ as never:
                    assert_never(never)
        for tag in self._due():
            self._channel.give_back(tag)

    def _due(self) -> list[int]:
        """What was held long enough. Nothing while the shared state is away: what is in hand here
        has leases that can't be released, and elsewhere each would be taken for a crash."""
        if self._turns.stopped:
            return self._held.take_all()
        if self._outage.lasts:
            return []
        return self._held.take_due(self._clock.monotonic())

    def _follow_turns(self) -> None:
        """Consume the lanes that shall be; cancel first, so that what is given back stays away."""
        surplus = self._turns.surplus()
        wanted = self._turns.open_lanes(self._lanes)
        for name in self._channel.lanes - wanted:
            self._channel.cancel(name)
        self._give_back(surplus)
        for name in sorted(wanted - self._channel.lanes):
            source, _ = split_lane(name)
            self._channel.consume(name, prefetch=self._turns.slots(source) + 1)

    def _give_back(self, deliveries: Iterable[Delivery]) -> None:
        for delivery in deliveries:
            if delivery.origin.consumer is self:  # fact 2
                self._channel.give_back(delivery.origin.tag)

    def _receive(self, arrived: Arrived) -> None:
        """Called by the channel for each message."""
        try:
            self._turns.add(self._read(arrived))
        except NewerFormat as error:
            logger.info("%s: %s: delayed for a worker that can read it", arrived.lane, error)
            delay = partial(self._desk.delay_raw, arrived.lane, arrived.body, NEWER_FORMAT_S)
            self._desk_thread.submit(self._pass_on, arrived, delay)
        except Malformed as error:
            logger.warning("%s: a message goes to the dead queue: %s", arrived.lane, error)
            bury = partial(
                self._desk.bury_raw, arrived.lane, arrived.body, error.reason, str(error)
            )
            self._desk_thread.submit(self._pass_on, arrived, bury)

    def _read(self, arrived: Arrived) -> Delivery:
        message, task = decode(arrived.body)
        if lane(task.source, task.kind) != arrived.lane:
            raise Malformed(
                f"a {task.kind} task of {task.source} lies in {arrived.lane}", reason="wrong_lane"
            )
        if task.state not in _OPEN:  # a letter that somebody moved here in the console
            raise Malformed(
                f"a task that is {task.state} lies in {arrived.lane}: it can't run like that; "
                "`headrace dead requeue` gives it another life",
                reason="not_open",
            )
        now = self._clock.monotonic()
        origin = Origin(arrived.lane, arrived.tag, self, now)
        return Delivery(message, task, origin)

    def _pass_on(self, arrived: Arrived, publish: Callable[[], None]) -> None:
        """In the desk's thread: confirmed first, acknowledged then."""
        note = Note.HOLD
        try:
            publish()
            note = Note.ACK
        except HeadraceError as error:
            logger.warning("%s: an unreadable message stays: %s", arrived.lane, error)
        finally:
            self._notes.append((note, arrived.tag))
            self._channel.wake()

    # --- worker threads ---

    def ack(self, message: MessageProxy) -> None:
        """A run is over; what becomes of the message is its outcome's to say."""
        delivery = cast("Delivery", message)
        ours = delivery.origin.consumer is self and not self._closed
        if not self._turns.end(delivery, keep=ours):
            return
        if delivery.shared_state_down:
            self._outage.begin()
        if ours:  # fact 2: another consumer's tag means another message here
            self._note(delivery)
        self._channel.wake()

    nack = ack  # Dramatiq nacks what it calls failed: without an outcome, so it is held

    def granted(self, delivery: Delivery) -> None:
        if self._turns.granted(delivery):
            self._channel.wake()

    def fetched(self, delivery: Delivery) -> None:
        if self._turns.fetched(delivery):
            self._channel.wake()

    def _note(self, delivery: Delivery) -> None:
        match delivery.outcome:
            case Settled():
                self._notes.append((Note.ACK, delivery.origin.tag))
            case None:
                self._notes.append((Note.HOLD, delivery.origin.tag))
            case ToHead():
                pass  # it lies in the turns' buffer again
            case _ as never:
                assert_never(never)

    # --- any thread ---

    def wake(self) -> None:
        """Look at turns, lanes and notes soon."""
        self._channel.wake()

    # --- the end ---

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """What was handed on and never begun goes back with `close`, or with the next turn."""
        for message in messages:
            delivery = cast("Delivery", message)
            if self._turns.end(delivery, keep=False) and delivery.origin.consumer is self:
                self._notes.append((Note.GIVE_BACK, delivery.origin.tag))

    def close(self) -> None:
        """Settle what was noted, give back the rest, close the connection."""
        if self._closed:
            return
        self._closed = True
        self._desk_thread.shutdown(wait=False, cancel_futures=True)
        buffered = self._turns.clear()
        try:
            self._settle()
            self._give_back(buffered)
            for tag in self._held.take_all():
                self._channel.give_back(tag)
        except BrokerConnectionError as error:
            logger.debug("closing: %s", error)  # the broker gives everything back by itself
        self._channel.close()
