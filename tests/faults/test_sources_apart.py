"""No source pays for another, on a real RabbitMQ: one is blocked, paused or stuck, and the others
go on; what waits for it stays in its lanes, as the broker's own counters show."""

from __future__ import annotations

import os
import random
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core import errors
from core.clock import SystemClock
from core.model.task import Task
from core.ports import Copy
from core.queue import depth
from core.queue.broker import RabbitBroker
from core.queue.lanes import lanes_of
from core.queue.publisher import RabbitPublisher
from tests.support.queue import Gate, Steps, a_retry, eventually, working
from tests.support.rabbitmq import VirtualHost, fresh_vhost, impatient_server
from tests.support.tasks import a_discover_task, a_fragment_task, an_image_task

pytestmark = pytest.mark.rabbitmq

SOURCES: dict[str, int | None] = {"a": 2, "b": 2}
BLOCKED_S = 14.0  # more than twice the shortened `consumer_timeout`
STEP_S = 0.05  # of a healthy source's runs: long beside what this machine adds


class World:
    """One worker process's parts on a virtual host, and the broker's own counters."""

    def __init__(
        self, vhost: VirtualHost, publisher: RabbitPublisher, sources: dict[str, int | None]
    ) -> None:
        self.vhost, self.publisher, self.sources = vhost, publisher, sources
        self.steps = Steps()
        self.broker = RabbitBroker(
            vhost.url,
            sources,
            publisher=publisher,
            retry=a_retry(publisher),
            stop=threading.Event(),
            clock=SystemClock(),
        )
        self.steps.declare(self.broker)

    def put(self, *tasks: Task) -> None:
        self.publisher.publish([Copy(task) for task in tasks])

    def ready(self, source: str) -> int:
        lanes = depth.read(self.vhost.url, [source]).lanes
        return sum(lanes[name] for name in lanes_of(source))

    def ended(self, source: str) -> int:
        ids = {run.id for run in self.steps.runs if run.source == source}
        return sum(1 for task in self.steps.ended if task in ids)

    def runs(self, source: str) -> int:
        return sum(1 for run in self.steps.runs if run.source == source)

    def told(self, source: str, counter: str) -> int:
        """A counter that RabbitMQ keeps of a source's lanes."""
        queues = [self.vhost.call("GET", f"queues/{{vhost}}/{name}") for name in lanes_of(source)]
        return sum(queue.get("message_stats", {}).get(counter, 0) for queue in queues)

    def rate(self, source: str, tasks: list[Task]) -> float:
        """Publish a healthy source's tasks: how many a second end well."""
        for task in tasks:
            self.steps.always(task, lambda _task: time.sleep(STEP_S))
        before = self.ended(source)
        self.put(*tasks)
        began = time.monotonic()
        eventually(lambda: self.ended(source) == before + len(tasks), f"{source}'s tasks end")
        return len(tasks) / (time.monotonic() - began)

    def keeps(self, alone: float, source: str = "b") -> bool:
        """Whether a healthy source has the speed that it has alone. What else the machine does may
        slow one look at it; what another source does slows each."""
        looks = (self.rate(source, images(60, source, f"beside{look}-")) for look in range(5))
        return any(beside >= 0.8 * alone for beside in looks)


@contextmanager
def a_world(vhost: VirtualHost, sources: dict[str, int | None] = SOURCES) -> Iterator[World]:
    with RabbitPublisher(vhost.url, sources, SystemClock()) as publisher:
        yield World(vhost, publisher, sources)


@pytest.fixture
def world(vhost: VirtualHost) -> Iterator[World]:
    with a_world(vhost) as made:
        yield made


def image(name: str, source: str = "a") -> Task:
    return an_image_task(f"https://{source}.example/{name}", source=source)


def images(count: int, source: str = "a", of: str = "") -> list[Task]:
    return [image(f"{of}{number}", source) for number in range(count)]


def every_lane_full(source: str = "a") -> list[Task]:
    """More of each kind than is prefetched."""
    pages = [a_discover_task(source=source, page=page) for page in range(2, 7)]
    pieces = [a_fragment_task(piece=piece, source=source) for piece in range(5)]
    return [*pages, *pieces, *images(20, source)]


@pytest.mark.skipif(bool(os.environ.get("HEADRACE_TEST_RABBITMQ_URL")), reason="needs its own node")
def test_a_block_longer_than_the_consumer_timeout_returns_what_was_prefetched_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with impatient_server(tmp_path) as server, fresh_vhost(server) as vhost, a_world(vhost) as it:
        tasks = every_lane_full()
        opens_at = time.monotonic() + BLOCKED_S + 2.0

        def blocked(_task: Task) -> None:
            rest_s = opens_at - time.monotonic()
            if rest_s > 0:
                raise errors.SourceBlocked("it said «slower»", delay_s=rest_s)

        for task in tasks:
            it.steps.always(task, blocked)
        it.put(*tasks)
        with working(it.broker, threads=8):
            # when: runs learn of the block
            eventually(lambda: it.runs("a"), "one is tried")
            eventually(lambda: it.ready("a") == len(tasks), "everything is back in its lanes")
            tried = it.runs("a")
            it.rate("b", images(20, "b"))
            time.sleep(max(0.0, opens_at - time.monotonic() - 2.0))
            still_tried, still_ready = it.runs("a"), it.ready("a")
            eventually(lambda: it.ended("a") == len(tasks), "all end well after the block")
            eventually(lambda: it.told("a", "ack") == len(tasks), "RabbitMQ knows of each")
            redelivered = it.told("a", "redeliver")

        # then: nothing moved meanwhile, nothing was closed over it, nothing ran twice
        prefetched = 3 + 3 + 3  # of three lanes, the slots and one each
        assert tried <= SOURCES["a"]
        assert (still_tried, still_ready) == (tried, len(tasks))
        assert redelivered <= prefetched
        assert "PRECONDITION_FAILED" not in caplog.text
        assert "RabbitMQ cancelled" not in caplog.text  # what 4.3 does instead
        assert it.runs("a") == len(tasks) + tried


def test_a_paused_source_returns_what_was_prefetched_once_and_keeps_the_rest(world: World) -> None:
    gate = Gate()
    tasks = images(20)
    for task in tasks[:2]:
        world.steps.plan(task, gate)
    world.put(*tasks)
    with working(world.broker, threads=8):
        eventually(lambda: gate.inside == 2, "two run")
        world.broker.close_source("a")
        eventually(lambda: world.ready("a") == 18, "the third goes back")
        gate.opened.set()
        world.rate("b", images(20, "b"))
        paused = world.runs("a")
        world.broker.open_source("a")
        eventually(lambda: world.ended("a") == 20, "all end well")
        eventually(lambda: world.told("a", "ack") == 20, "RabbitMQ knows of each")
        redelivered = world.told("a", "redeliver")

    assert (paused, world.runs("a")) == (2, 20)
    assert redelivered <= 1


@pytest.mark.quiet
def test_a_resumed_source_goes_on_within_a_second(world: World) -> None:
    waits: list[float] = []
    with working(world.broker):
        for turn in range(5):  # the machine may be away for a moment in one of them
            world.broker.close_source("a")
            world.put(image(f"{turn}"))
            world.rate("b", [image(f"{turn}", "b")])
            opened = time.monotonic()
            world.broker.open_source("a")
            eventually(lambda turn=turn: world.ended("a") == turn + 1, "it goes on")
            waits.append(time.monotonic() - opened)

    assert statistics.median(waits) <= 1.0


@pytest.mark.quiet
@pytest.mark.parametrize("stuck", [["a"], ["a", "c", "d"]])
def test_sources_that_never_end_leave_another_its_speed(
    vhost: VirtualHost, stuck: list[str]
) -> None:
    """With the default slots and threads; five hundred tasks of each stuck one wait."""
    gate = Gate()
    with a_world(vhost, dict.fromkeys([*stuck, "b"], None)) as it:
        with working(it.broker, threads=8):
            alone = it.rate("b", images(60, "b", "alone"))
            for source in stuck:
                tasks = images(500, source)
                for task in tasks:
                    it.steps.always(task, gate)
                it.put(*tasks)
            eventually(lambda: gate.inside == 2 * len(stuck), "their slots are taken")
            keeps = it.keeps(alone)
            for source in stuck:
                it.broker.close_source(source)
            gate.opened.set()

        assert keeps
        assert gate.most == 2 * len(stuck)


@pytest.mark.quiet
@pytest.mark.parametrize(
    "shut",
    [
        errors.BudgetSpent("its budget is spent", delay_s=60.0),
        errors.SourceBlocked("it said «slower»", delay_s=60.0),
        errors.SourcePaused("a person paused it"),
    ],
    ids=lambda error: error.reason,
)
def test_a_source_that_may_not_go_on_leaves_another_its_speed(
    world: World, shut: errors.Postponed
) -> None:
    tasks = images(500)
    for task in tasks:
        world.steps.always(task, shut)
    with working(world.broker, threads=8):
        alone = world.rate("b", images(60, "b", "alone"))
        world.put(*tasks)
        eventually(lambda: world.runs("a"), "it was tried")
        keeps = world.keeps(alone)

    assert keeps
    assert world.runs("a") <= 4


def test_a_source_that_opens_while_its_messages_are_out_keeps_the_connection(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """3.10.8 ends the connection (541) over a lane that is consumed again under the same tag."""
    rng = random.Random(2)
    world.broker.rng = Quick()
    tasks = images(40)

    def now_well_now_ill(_task: Task) -> None:
        time.sleep(rng.uniform(0.0, 0.3))
        if rng.random() < 0.5:
            raise errors.StorageDown("disk full")  # it is held for a while, then given back

    for task in tasks:
        world.steps.always(task, now_well_now_ill)
    world.put(*tasks)
    with working(world.broker, threads=8):
        for _ in range(20):
            time.sleep(0.12)
            world.broker.close_source("a")
            time.sleep(0.1)
            world.broker.open_source("a")
        eventually(lambda: world.ended("a") == 40, "all end well")

    assert "INTERNAL_ERROR" not in caplog.text


class Quick:
    """Holds what has no outcome for a moment only."""

    def uniform(self, _low: float, _high: float) -> float:
        return 0.3
