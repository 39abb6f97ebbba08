"""Fakes of what surrounds the queue: steps that do as they are told, a publisher and a ledger that
remember, deliveries by hand, and a worker that runs as long as a block."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import dramatiq
from dramatiq.worker import Worker

from core.clock import SystemClock
from core.errors import HeadraceError
from core.model.end import Failure
from core.model.task import Kind, State, Task
from core.ports import Copy, DeadLetter, OpenWork
from core.queue.broker import HeadraceBroker
from core.queue.delivery import Delivery, Origin, current
from core.queue.lanes import HEADRACE, lane
from core.queue.message import to_message
from core.queue.retry import Retry
from core.steps.decide import RetryPolicy
from tests.support.tasks import an_image_task

QUICK = RetryPolicy(base_s=0.001, floor_s=0.001, cap_s=0.01, crash_base_s=0.001, crash_cap_s=0.01)
PATIENCE_S = 60.0  # before a test says that something never happened


class Shortest:
    """Jitter at its lowest, so that tests need not wait."""

    def uniform(self, low: float, _high: float) -> float:
        return low


def eventually(holds: Callable[[], object], what: str, *, within_s: float = PATIENCE_S) -> None:
    """Wait for something that other threads or processes bring about."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:.0f} s: {what}")
        time.sleep(0.01)


class FakeOwner:
    """A consumer that remembers what was granted."""

    def __init__(self) -> None:
        self.grants: list[Delivery] = []

    def granted(self, delivery: Delivery) -> None:
        self.grants.append(delivery)

    def fetched(self, delivery: Delivery) -> None:
        """Nobody asks."""


def a_delivery(
    task: Task | None = None, *, tag: int = 1, consumer: FakeOwner | None = None, at: float = 0.0
) -> Delivery:
    task = task or an_image_task()
    origin = Origin(lane(task.source, task.kind), tag, consumer or FakeOwner(), at)
    return Delivery(to_message(task), task, origin)


@dataclass
class FakePublisher:
    """Publishes into lists; `broken` is raised instead while set."""

    copies: list[Copy] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    raw: list[tuple[str, bytes, str]] = field(default_factory=list)  # lane, body, reason or delay
    broken: HeadraceError | None = None

    def publish(self, window: Sequence[Copy]) -> None:
        self._check()
        self.copies += window

    def bury(self, letter: DeadLetter) -> None:
        self._check()
        self.letters.append(letter)

    def bury_raw(self, lane: str, body: bytes, reason: str, message: str) -> None:
        self._check()
        self.raw.append((lane, body, reason))

    def delay_raw(self, lane: str, body: bytes, seconds: float) -> None:
        self._check()
        self.raw.append((lane, body, f"{seconds:.0f} s"))

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken


@dataclass
class FakeLedger:
    """Notes every call as a line; `broken` is raised instead while set."""

    calls: list[str] = field(default_factory=list)
    broken: HeadraceError | None = None

    def begin(self, task: Task, *, lease_s: float) -> object:
        raise NotImplementedError("the fake step takes no lease")

    def renew(self, task: Task, token: str, *, lease_s: float, progress: bool = False) -> bool:
        return True

    def published(self, copy: Task, *, delay_s: float, token: str | None) -> None:
        self._note(f"published {copy.serial} {token}")

    def release(self, task: Task, token: str) -> None:
        self._note(f"release {token}")

    def release_later(self, task: Task, token: str) -> None:
        self.calls.append(f"release later {token}")

    def catch_up(self) -> None:
        self._note("catch up")

    def finish(self, task: Task) -> None:
        self._note("finish")

    def open_work(self, source: str) -> OpenWork:
        return OpenWork(0, 0)

    def _note(self, call: str) -> None:
        if self.broken is not None:
            raise self.broken
        self.calls.append(call)


Behaviour = Callable[[Task], object] | HeadraceError


class Steps:
    """The body of every actor: does what the test planned for the task's next run, else ends well.
    As the performer does, it says under which lease an error came."""

    def __init__(self) -> None:
        self.runs: list[Task] = []  # in the order in which they began
        self.ended: list[str] = []  # ids, of runs that ended well
        self._plans: dict[str, deque[Behaviour]] = {}
        self._always: dict[str, Behaviour] = {}
        self._lock = threading.Lock()

    def plan(self, task: Task, *behaviours: Behaviour) -> None:
        self._plans[task.id] = deque(behaviours)

    def always(self, task: Task, behaviour: Behaviour) -> None:
        self._always[task.id] = behaviour

    def count(self, task: Task) -> int:
        return sum(1 for run in self.runs if run.id == task.id)

    def declare(self, broker: HeadraceBroker) -> None:
        for kind in Kind:
            dramatiq.actor(
                self._perform,
                actor_name=kind.value,
                queue_name=HEADRACE,
                broker=broker,
                throws=HeadraceError,
            )

    def _perform(self, _record: object) -> None:
        delivery = current()
        with self._lock:
            self.runs.append(delivery.task)
            plan = self._plans.get(delivery.task.id)
            behaviour = plan.popleft() if plan else self._always.get(delivery.task.id)
        try:
            if isinstance(behaviour, HeadraceError):
                raise behaviour
            if behaviour is not None:
                behaviour(delivery.task)
        except HeadraceError as error:
            error.task = delivery.task.model_copy(update={"state": State.LEASED})
            error.token = "token"
            raise
        self.ended.append(delivery.task.id)


class Gate:
    """A step that waits until the test lets it go on, and counts who is inside."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.opened = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, _task: Task) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        assert self.opened.wait(60), "the test never opened the gate"
        with self._lock:
            self.inside -= 1


def a_retry(
    publisher: object,
    *,
    ledger: FakeLedger | None = None,
    policy: RetryPolicy = QUICK,
    end_dead: Callable[[Task, Failure], None] = lambda _task, _failure: None,
) -> Retry:
    return Retry(publisher, ledger or FakeLedger(), policy, end_dead, SystemClock(), Shortest())


@contextmanager
def working(broker: HeadraceBroker, *, threads: int = 4) -> Iterator[Worker]:
    """Dramatiq's own worker, as `dramatiq actors` starts it."""
    worker = Worker(broker, worker_threads=threads, worker_timeout=100)
    worker.start()
    try:
        yield worker
    finally:
        stop(worker)


def stop(worker: Worker) -> None:
    """As on SIGTERM; a second time it does nothing."""
    if any(thread.is_alive() for thread in worker.workers):
        worker.stop(timeout=20_000)
