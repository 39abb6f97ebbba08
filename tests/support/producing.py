"""A world in which feeds are produced on given time: a scheduler that looks at a clock of ours,
runs that begin and end when told, and workers at so many tasks a second."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest
from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.schedulers import base
from apscheduler.schedulers.base import BaseScheduler

from core.app import App
from core.errors import Backpressure, HeadraceError
from core.ledger.memory import MemoryLedger
from core.model.task import Kind, State, Task
from core.ports import Copy, Lease
from core.producer.producer import Producer
from core.queue.embedded import EmbeddedQueue
from core.queue.outcome import Settled
from core.settings import Settings
from core.steps.actions import Publish, published_by
from core.steps.depths import whole_depth
from core.steps.discover import DiscoverStep
from core.steps.ends import write_end
from tests.support.clock import FakeClock
from tests.support.tasks import a_run

LEASE_S = 30.0


class Half:
    """Jitter in the middle."""

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2


class ByHand(BaseExecutor):
    """Runs begin when they are due, and end when told."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[tuple[Any, list[datetime]]] = []

    def _do_submit_job(self, job: Any, run_times: list[datetime]) -> None:
        self.begun.append((job, run_times))

    def end(self) -> int:
        """Run what has begun; how many that were."""
        begun, self.begun = self.begun, []
        for job, run_times in begun:
            events = run_job(job, job._jobstore_alias, run_times, self._logger.name)
            self._run_job_success(job.id, events)
        return len(begun)


class GivenTime(BaseScheduler):
    """Looks when told."""

    def __init__(self, zone: tzinfo = UTC) -> None:
        self.runs = ByHand()
        super().__init__(executors={"default": self.runs}, timezone=zone)

    def wakeup(self) -> None:
        """Nobody sleeps."""

    def shutdown(self, wait: bool = True) -> None:
        super().shutdown(wait)

    def look(self) -> float:
        """Begin what is due; seconds until there is more."""
        return self._process_jobs() or 0.0


class Budget:
    """Knows which sources are blocked."""

    def __init__(self) -> None:
        self.blocked: dict[str, float] = {}

    def blocked_for(self, bucket: str) -> float:
        return self.blocked.get(bucket, 0.0)


class Publisher:
    """The queue's, unless it is down."""

    def __init__(self, queue: EmbeddedQueue) -> None:
        self.queue = queue
        self.down: HeadraceError | None = None
        self.published: list[Task] = []  # by whoever is no worker

    def publish(self, window: Sequence[Copy]) -> None:
        if self.down is not None:
            raise self.down
        self.published.extend(copy.task for copy in window)
        self.queue.publish(window)


class World:
    """What producers and workers share: a clock, a queue, a ledger and a store."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
    ) -> None:
        self.clock = FakeClock()
        self.settings = a_tree(root, settings)
        self.queue = EmbeddedQueue(dict.fromkeys(self.settings.all_sources(), 4), self.clock)
        self.ledger = MemoryLedger(self.clock)
        self.budget = Budget()
        self.publisher = Publisher(self.queue)
        self.closed: list[App] = []
        self.producers: list[Producer] = []
        self.schedulers: list[GivenTime] = []
        monkeypatch.setattr(base, "datetime", _Given(self))

    def app(self, settings: Settings | None = None) -> App:
        app = App(
            settings=settings or self.settings,
            clock=self.clock,
            ledger=self.ledger,
            budget=self.budget,
            publisher=self.publisher,
            depths=self.queue,
            make_broker=lambda _retry, _stop: None,
            exclusive=False,
            hang_up=lambda: self.closed.append(app),
        )
        return app

    def produce(
        self, rng: random.Random | Half | None = None, zone: tzinfo = UTC
    ) -> tuple[Producer, GivenTime]:
        """A producer that was started, and its scheduler."""
        scheduler = GivenTime(zone)
        producer = Producer(self.app(), scheduler, rng=rng or Half())
        producer.start()
        self.producers.append(producer)
        self.schedulers.append(scheduler)
        return producer, scheduler

    def end(self) -> None:
        for producer in self.producers:
            producer.close()

    def after(self, seconds: float) -> list[str]:
        """Let the time pass, run what comes due in it, and say whose tasks were published."""
        before = len(self.publisher.published)
        until = self.clock.now() + seconds
        while True:
            for scheduler in self.schedulers:
                scheduler.look()
                scheduler.runs.end()
            waits = [scheduler.look() for scheduler in self.schedulers]
            wait_s = max(min(waits, default=seconds), 0.001)
            if self.clock.now() + wait_s > until:
                self.clock.advance(until - self.clock.now())
                break
            self.clock.advance(wait_s)
        return [task.payload.address for task in self.publisher.published[before:]]

    def depth(self, source: str) -> int:
        return whole_depth(self.queue, self.ledger)(source)


def a_tree(root: Path, settings: dict[str, Any]) -> Settings:
    return Settings.model_validate({"store": root / "store"} | settings)


class _Given:
    """Stands for `datetime` where APScheduler asks for the time."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self, zone: tzinfo) -> datetime:
        return datetime.fromtimestamp(self._world.clock.now(), zone)


class Workers:
    """Take one task after another; an image takes them `1 / rate` seconds, a page nothing. Prefetch
    is what the embedded queue does, which is none."""

    def __init__(self, world: World, step: DiscoverStep, *, rate: float) -> None:
        self._world = world
        self._step = step
        self._rate = rate
        self.done = 0
        self.pages = 0
        self.held = 0

    def work(self, seconds: float, before_page: Callable[[], None] = lambda: None) -> None:
        """`before_page` is called before each page's run: only pages make the depth grow."""
        until = self._world.clock.now() + seconds
        while self._world.clock.now() < until:
            delivery = self._world.queue.take(0.0)
            if delivery is None:
                self._world.clock.advance(1.0)
                continue
            if delivery.task.kind is Kind.DISCOVER:
                before_page()
            self._perform(delivery.task)
            delivery.outcome = Settled()
            self._world.queue.end(delivery)

    def _perform(self, task: Task) -> None:
        if task.kind is Kind.IMAGE:  # nothing is to be learnt from its lease
            self._world.clock.advance(1.0 / self._rate)
            self.done += 1
            return
        lease = self._world.ledger.begin(task, lease_s=LEASE_S)
        if not isinstance(lease, Lease):
            return
        try:
            self._read(task)
            self._world.ledger.finish(task)
        except Backpressure as held:
            self._again(task, lease.token, held.delay_s or 0.0)

    def _read(self, task: Task) -> None:
        assert task.kind is Kind.DISCOVER
        for action in self._step(a_run(task)):
            if isinstance(action, Publish):
                self._world.queue.publish([published_by(task, copy) for copy in action.copies])
            else:
                write_end(self._step.store, action)
        self.pages += 1

    def _again(self, task: Task, token: str, delay_s: float) -> None:
        """As the retry middleware publishes it."""
        self.held += 1
        not_before = self._world.clock.now() + delay_s
        copy = task.model_copy(
            update={"serial": task.serial + 1, "state": State.PENDING, "not_before": not_before}
        )
        self._world.queue.publish([Copy(copy, delay_s)])
        self._world.ledger.published(copy, delay_s=delay_s, token=token)
