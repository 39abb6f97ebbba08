"""The whole queue in one process, without a server: the same broker, outcomes and turns as on
RabbitMQ. The store is the truth here too: nothing of a finished task stays in memory."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never, cast

from dramatiq import Consumer
from dramatiq.broker import MessageProxy
from dramatiq.errors import QueueJoinTimeout, QueueNotFound

from core.clock import Clock
from core.errors import Misconfigured
from core.model.task import Kind, State, Task
from core.ports import Copy, DeadLetter
from core.queue.broker import HeadraceBroker
from core.queue.consumer import HOLD_S
from core.queue.delivery import Delivery, Origin
from core.queue.lanes import HEADRACE, lane
from core.queue.message import unsent
from core.queue.outcome import Settled, ToHead
from core.queue.retry import Retry
from core.queue.turns import Turns
from core.queue.waiting import Waiting

SHARED_STATE_REST_S = 5.0  # without the shared state no request may go out


class EmbeddedQueue:
    """Lanes, delays and what is held; the `Publisher` and the `Depths` of its process.

    `idle` is set while no task is open: none ready, delayed, in hand or held. A step publishes
    what follows before its own delivery is settled, so it is not set too early."""

    def __init__(
        self, sources: Mapping[str, int | None], clock: Clock, *, rng: random.Random | None = None
    ) -> None:
        self.turns = Turns(sources, clock)
        self.dead: Counter[str] = Counter()  # letters by source; the letters are in the store
        self.idle = threading.Event()
        self.idle.set()
        self._sources = frozenset(sources)
        self._clock = clock
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        self._lock = threading.Lock()
        self._open: Counter[str] = Counter()  # tasks that are not at their end, by source
        self._newest: dict[str, tuple[int, int]] = {}  # open copies' generation and serial, by task
        self._resting: Waiting[Task] = Waiting()  # they enter their lanes later
        self._at_rest: dict[str, Task] = {}  # by id; one that is not here is superseded
        self._tags = itertools.count(1)
        self._wake = threading.Event()

    # --- the publisher ---

    def publish(self, window: Sequence[Copy]) -> None:
        for copy in window:
            if copy.task.source not in self._sources:
                raise Misconfigured(
                    f"source {copy.task.source!r} has no lanes: it is not in the settings",
                    reason="unknown_source",
                )
        with self._lock:
            for copy in window:
                if self._is_news(copy.task):
                    self._count(copy.task.source, 1)
                    self._supersede(copy.task)
                    self._put(copy.task, copy.delay_s)
        self.wake()

    def bury(self, letter: DeadLetter) -> None:
        with self._lock:
            self.dead[letter.task.source] += 1

    def ready(self, source: str, *kinds: Kind) -> int:
        if not kinds:
            return self.turns.buffered(source)
        return sum(self.turns.buffered(source, lane(source, kind)) for kind in kinds)

    def open_tasks(self) -> int:
        """Everything that is not at its end."""
        with self._lock:
            return self._open.total()

    def open_by_source(self) -> dict[str, int]:
        """The same by source, joins too; a source without any is not named."""
        with self._lock:
            return {source: count for source, count in self._open.items() if count}

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until no task is open; False when the time passed first."""
        return self.idle.wait(timeout_s)

    # --- the consumer ---

    def take(self, timeout_s: float) -> Delivery | None:
        """The next delivery that may be handed on, or None after the timeout, or at the end."""
        deadline = self._clock.monotonic() + timeout_s
        while True:
            self._wake.clear()
            wait_s = self._enter_due(deadline)
            if (delivery := self.turns.next()) is not None:
                return delivery
            if wait_s <= 0:
                return None
            self._clock.sleep(self.turns.wait_s(wait_s), wake=self._wake)
            if self.turns.stopped:
                return None  # at once: a run waits for its consumer to end

    def end(self, delivery: Delivery) -> None:
        """A run is over; what becomes of the task is its outcome's to say."""
        if not self.turns.end(delivery, keep=True):
            return
        if delivery.shared_state_down:
            self.turns.close_all(SHARED_STATE_REST_S)
        match delivery.outcome:
            case Settled(done=done):
                with self._lock:
                    if done:
                        self._drop_resting(delivery.task)
                    self._forget(delivery.task)
                    self._count(delivery.task.source, -1)
            case ToHead():
                pass  # it lies in the turns' buffer again
            case None:
                with self._lock:
                    self._hold(delivery.task)
            case _ as never:
                assert_never(never)
        if self.turns.has_next() or not isinstance(delivery.outcome, Settled):
            self.wake()

    def granted(self, delivery: Delivery) -> None:
        if self.turns.granted(delivery):
            self.wake()

    def fetched(self, delivery: Delivery) -> None:
        if self.turns.fetched(delivery):
            self.wake()

    def wake(self) -> None:
        """Have `take` look again."""
        self._wake.set()

    def hasten(self, source: str) -> None:
        """What waits for a source, or for one of its hosts, is tried now: a person says that it is
        open. What rests after a failed attempt, or has a time of its own to be looked at, rests
        on."""
        with self._lock:
            now = self._clock.monotonic()
            for task in list(self._at_rest.values()):
                if task.source == source and _only_waits(task):
                    del self._at_rest[task.id]
                    changes = {"serial": task.serial + 1, "not_before": None}
                    anew = task.model_copy(update=changes)
                    self._newest[anew.id] = (anew.generation, anew.serial)
                    self._enter(anew, now)
        self.wake()

    # --- within the lock ---

    def _is_news(self, task: Task) -> bool:
        """Whether no copy as new as this is open. A resumed page publishes again what its run was
        given as unfinished: the second copy would wait for the first one's lease, and the run's end
        with it."""
        age = (task.generation, task.serial)
        if self._newest.get(task.id, (0, -1)) >= age:
            return False
        self._newest[task.id] = age
        return True

    def _supersede(self, task: Task) -> None:
        """A copy that rests while a newer one is published would only be dropped when it comes:
        nobody shall wait for it until then."""
        if self._at_rest.pop(task.id, None) is not None:
            self._count(task.source, -1)

    def _drop_resting(self, task: Task) -> None:
        """Of two copies at once (two last pieces of a video both have it joined) one waits for the
        other's lease; when that one is done, nobody shall wait for the rest of the lease."""
        resting = self._at_rest.get(task.id)
        if resting is not None and resting.generation <= task.generation:
            del self._at_rest[task.id]
            self._newest.pop(task.id, None)
            self._count(task.source, -1)

    def _forget(self, task: Task) -> None:
        if self._newest.get(task.id) == (task.generation, task.serial):
            del self._newest[task.id]

    def _hold(self, task: Task) -> None:
        """A delivery without an outcome comes back, unless a newer copy carries its task."""
        age = (task.generation, task.serial)
        if self._newest.setdefault(task.id, age) > age:
            self._count(task.source, -1)
        else:
            self._put(task, self._rng.uniform(*HOLD_S))

    def _put(self, task: Task, delay_s: float) -> None:
        now = self._clock.monotonic()
        if delay_s > 0:
            self._resting.add(now + delay_s, task)
            self._at_rest[task.id] = task
        else:
            self._enter(task, now)

    def _enter(self, task: Task, now: float) -> None:
        """As it is: to encode and decode it, which changes no task, cost 0.1 ms of each."""
        origin = Origin(lane(task.source, task.kind), next(self._tags), self, now)
        self.turns.add(Delivery(unsent(task), task, origin))

    def _count(self, source: str, change: int) -> None:
        self._open[source] += change
        if self._open.total():
            self.idle.clear()
        else:
            self.idle.set()

    def _enter_due(self, deadline: float) -> float:
        """Let in what is due; seconds until there may be more, up to the deadline."""
        with self._lock:
            now = self._clock.monotonic()
            for resting in self._resting.take_due(now):
                if self._at_rest.get(resting.id) is resting:
                    del self._at_rest[resting.id]
                    self._enter(resting, now)
            return self._resting.wait_s(now, deadline - now)


def _only_waits(task: Task) -> bool:
    return task.state is State.PENDING and task.kind is not Kind.VERIFY


class EmbeddedConsumer(Consumer):
    """Dramatiq's side of the queue."""

    def __init__(self, queue: EmbeddedQueue, *, timeout_s: float) -> None:
        self._queue = queue
        self._timeout_s = timeout_s

    def __next__(self) -> Delivery | None:
        """The next delivery that may be handed on, or None after the timeout."""
        return self._queue.take(self._timeout_s)

    def ack(self, message: MessageProxy) -> None:
        """Whatever Dramatiq thinks of it, the outcome decides."""
        self._queue.end(cast("Delivery", message))

    nack = ack

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """What was handed on and never begun goes back to its lane's head."""
        for message in messages:
            delivery = cast("Delivery", message)
            delivery.outcome = ToHead()
            self._queue.end(delivery)


class EmbeddedBroker(HeadraceBroker):
    """Everything in this process."""

    def __init__(self, queue: EmbeddedQueue, *, retry: Retry, stop: threading.Event) -> None:
        super().__init__(queue.turns, queue, retry, stop)
        self._queue = queue

    def wake(self) -> None:
        """Have the consumer look at the turns soon."""
        self._queue.wake()

    def unblock_source(self, source: str) -> None:
        """Nothing of it lies where only time gets it out."""
        super().unblock_source(source)
        self._queue.hasten(source)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> EmbeddedConsumer:  # noqa: ARG002 - nothing is prefetched
        """The consumer of every lane. `timeout` is in milliseconds."""
        if queue_name != HEADRACE:
            raise QueueNotFound(queue_name)  # type: ignore[no-untyped-call]
        return EmbeddedConsumer(self._queue, timeout_s=timeout / 1000)

    def join(self, queue_name: str, *, timeout: int | None = None) -> None:
        """Wait until no task is open. `timeout` is in milliseconds. Raises `QueueJoinTimeout`."""
        if not self._queue.join(None if timeout is None else timeout / 1000):
            raise QueueJoinTimeout(queue_name)  # type: ignore[no-untyped-call]
