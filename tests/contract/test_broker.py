"""What both brokers promise, under Dramatiq's own worker: the one in this process and RabbitMQ's
pass the same tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from dramatiq import Middleware
from dramatiq.worker import Worker

from core import errors
from core.clock import SystemClock
from core.model.task import Kind, Task
from core.ports import Copy
from core.queue import depth
from core.queue.broker import HeadraceBroker, NotStarted, RabbitBroker
from core.queue.embedded import EmbeddedBroker, EmbeddedQueue
from core.queue.lanes import HEADRACE, lanes_of
from core.queue.publisher import RabbitPublisher
from tests.support.queue import (
    FakeLedger,
    Gate,
    Shortest,
    Steps,
    a_retry,
    eventually,
    stop,
    working,
)
from tests.support.tasks import a_discover_task, a_fragment_task, a_verify_task, an_image_task

SOURCES: dict[str, int | None] = {"a": 1, "b": 2}


class Harness:
    """A broker with planned steps, and a look at what is left in its queue."""

    def __init__(self, broker: HeadraceBroker, publisher: Any, look: Callable[[], depth.Depth]):
        self.broker = broker
        self.publisher = publisher
        self.look = look
        self.steps = Steps()
        self.steps.declare(broker)

    def put(self, *tasks: Task, delay_s: float = 0.0) -> None:
        self.publisher.publish([Copy(task, delay_s) for task in tasks])

    def ready(self, source: str) -> int:
        return sum(n for name, n in self.look().lanes.items() if name.startswith(f"{source}."))

    def dead(self, source: str) -> int:
        return self.look().dead.get(source, 0)

    def left(self) -> int:
        """Everything that a new worker would find."""
        seen = self.look()
        return sum(seen.lanes.values()) + seen.delayed


class Pieces:
    """What the fixture builds from; a test may change it before."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.ledger = FakeLedger()
        self.end_dead: Callable[..., None] = lambda _task, _failure: None

    def retry(self, publisher: object):
        return a_retry(publisher, ledger=self.ledger, end_dead=self._end_dead)

    def _end_dead(self, *told: object) -> None:
        self.end_dead(*told)


@pytest.fixture
def pieces() -> Pieces:
    return Pieces()


def embedded(pieces: Pieces, _request: pytest.FixtureRequest, _stack: ExitStack) -> Harness:
    queue = EmbeddedQueue(SOURCES, SystemClock(), rng=Shortest())

    def look() -> depth.Depth:
        lanes = {f"{owner}.any": queue.ready(owner) for owner in (*SOURCES, HEADRACE)}
        delayed = queue.open_tasks() - sum(lanes.values())
        return depth.Depth(lanes, dict(queue.dead), delayed, 0)

    broker = EmbeddedBroker(queue, retry=pieces.retry(queue), stop=pieces.stop)
    return Harness(broker, queue, look)


def rabbitmq(pieces: Pieces, request: pytest.FixtureRequest, stack: ExitStack) -> Harness:
    url = request.getfixturevalue("vhost_url")
    publisher = stack.enter_context(RabbitPublisher(url, SOURCES, SystemClock()))
    broker = RabbitBroker(
        url,
        SOURCES,
        publisher=publisher,
        retry=pieces.retry(publisher),
        stop=pieces.stop,
        clock=SystemClock(),
    )
    broker.rng = Shortest()
    return Harness(broker, publisher, lambda: depth.read(url, SOURCES))


@pytest.fixture(
    params=[embedded, pytest.param(rabbitmq, marks=pytest.mark.rabbitmq)],
    ids=lambda build: build.__name__,
)
def harness(request: pytest.FixtureRequest, pieces: Pieces) -> Iterator[Harness]:
    with ExitStack() as stack:
        yield request.param(pieces, request, stack)


def image(name: str, *, source: str = "a", **fields: object) -> Task:
    return an_image_task(f"https://{source}.example/{name}", source=source, **fields)


def test_a_settled_task_is_gone(harness: Harness) -> None:
    task = image("1")
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "run")

    assert (harness.left(), harness.steps.count(task)) == (0, 1)


def test_joins_run_beside_a_source_whose_slots_are_taken(harness: Harness) -> None:
    gate = Gate()
    harness.steps.plan(image("1"), gate)
    harness.put(image("1"), a_verify_task(source="a"), a_verify_task("n" * 32, source="b"))
    with working(harness.broker):
        eventually(lambda: len(harness.steps.ended) == 2, "both joins end")
        assert harness.broker.turns.in_hand("a") == 1
        gate.opened.set()
        eventually(lambda: len(harness.steps.ended) == 3, "the image ends")

    assert harness.left() == 0


def test_the_depth_of_one_kind_is_its_lanes_alone(harness: Harness) -> None:
    harness.put(image("1"), a_fragment_task(source="a"), a_fragment_task(piece=1, source="a"))
    eventually(lambda: harness.ready("a") == 3, "all are there")

    assert harness.publisher.ready("a", Kind.FRAGMENT) == 2


def test_an_actor_may_be_sent_a_record(harness: Harness) -> None:
    task = image("1")
    with working(harness.broker):
        harness.broker.get_actor("image").send(task.to_message())
        eventually(lambda: harness.steps.ended, "run")

    assert harness.steps.runs == [task]


def test_a_record_may_be_sent_with_a_delay(harness: Harness) -> None:
    actor = harness.broker.get_actor("image")
    ran: list[float] = []
    harness.steps.plan(image("1"), lambda _task: ran.append(time.monotonic()))
    with working(harness.broker):
        sent = time.monotonic()
        actor.send_with_options(args=(image("1").to_message(),), delay=1000)
        eventually(lambda: harness.steps.ended, "it runs")

    assert ran[0] - sent >= 0.95


def test_a_delayed_copy_comes_to_its_lane(harness: Harness) -> None:
    task = image("1")
    put = time.monotonic()
    harness.put(task, delay_s=1.0)
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "run after the delay")

    assert time.monotonic() - put >= 0.95
    assert harness.steps.count(task) == 1


def test_a_task_without_outcome_comes_back(harness: Harness) -> None:
    task = image("1")
    harness.steps.plan(task, errors.StorageDown("disk full"))
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "second run")

    assert harness.steps.count(task) == 2
    assert (harness.left(), harness.dead("a")) == (0, 0)


def test_it_waits_without_holding_its_slot(harness: Harness) -> None:
    first, second = image("1"), image("2")
    harness.steps.plan(first, errors.StorageDown("disk full"))
    harness.put(first, second)
    with working(harness.broker):
        eventually(lambda: len(harness.steps.ended) == 2, "both run")

    assert harness.steps.ended == [second.id, first.id]


def test_a_transient_error_is_tried_again_and_counted_until_the_task_is_dead(
    harness: Harness,
) -> None:
    task = image("1", max_attempts=3)
    harness.steps.plan(task, *(errors.Timeout("slow") for _ in range(3)))
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.dead("a"), "dead")

    assert [run.attempts for run in harness.steps.runs] == [0, 1, 2]
    assert (harness.left(), harness.dead("a")) == (0, 1)


def test_a_permanent_error_is_dead_at_once(harness: Harness) -> None:
    task = image("1")
    harness.steps.plan(task, errors.Gone("404"))
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.dead("a"), "dead")

    assert (harness.left(), harness.steps.count(task)) == (0, 1)


def test_a_throttled_task_comes_back_and_nothing_is_counted(harness: Harness) -> None:
    task = image("1")
    harness.steps.plan(task, *(errors.Throttled("slower", delay_s=0.0) for _ in range(8)))
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "ninth run")

    assert {run.attempts for run in harness.steps.runs} == {0}
    assert harness.dead("a") == 0


def test_what_goes_to_the_head_runs_again_first(harness: Harness) -> None:
    first, second, third = image("1"), image("2"), image("3")
    harness.steps.plan(first, errors.BudgetSpent("later", delay_s=5.0))
    harness.put(first, second, third)
    with working(harness.broker):
        eventually(lambda: len(harness.steps.ended) == 3, "all run")

    ids = [run.id for run in harness.steps.runs]
    assert ids == [first.id, first.id, second.id, third.id]


def test_discover_runs_before_the_images_that_wait(harness: Harness) -> None:
    gate = Gate()
    first, second, page = image("1"), image("2"), a_discover_task(source="a")
    harness.steps.plan(first, gate)
    harness.put(first, second)
    with working(harness.broker):
        eventually(lambda: gate.inside, "the first runs")
        harness.put(page)
        eventually(lambda: harness.broker.turns.buffered("a") == 2, "both wait here")
        gate.opened.set()
        eventually(lambda: len(harness.steps.ended) == 3, "all run")

    assert harness.steps.ended == [first.id, page.id, second.id]


def test_a_stuck_source_keeps_its_slots_and_leaves_the_others_alone(harness: Harness) -> None:
    gate = Gate()
    stuck = [image(str(n), source="b") for n in range(5)]
    flowing = [image(str(n), source="a") for n in range(20)]
    for task in stuck:
        harness.steps.plan(task, gate)
    harness.put(*stuck, *flowing)
    with working(harness.broker, threads=8):
        eventually(lambda: len(harness.steps.ended) == 20, "the other source's tasks")
        eventually(lambda: gate.inside == 2, "its slots are taken")
        gate.opened.set()
        eventually(lambda: len(harness.steps.ended) == 25, "the stuck ones")

    assert gate.most == 2


def test_a_closed_source_waits_and_an_opened_one_goes_on(harness: Harness) -> None:
    harness.broker.close_source("a")
    harness.put(image("1"), image("2"), image("1", source="b"))
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "the open source's task")
        closed = [run.source for run in harness.steps.runs]
        harness.broker.open_source("a")
        eventually(lambda: len(harness.steps.ended) == 3, "the closed source's tasks")

    assert closed == ["b"]


@pytest.mark.parametrize(
    "told", [errors.SourceBlocked("it said so", delay_s=1.5), errors.Throttled("so", delay_s=1.5)]
)
def test_a_source_that_one_run_finds_blocked_is_left_alone_until_the_block_ends(
    harness: Harness, told: errors.Postponed
) -> None:
    first, second = image("1"), image("2")
    seen: list[float] = []

    def blocked(_task: Task) -> None:
        seen.append(time.monotonic())
        raise told

    harness.steps.plan(first, blocked)
    harness.steps.plan(second, lambda _task: seen.append(time.monotonic()))
    harness.put(first, second)
    with working(harness.broker):
        eventually(lambda: len(harness.steps.ended) == 2, "both after the block")

    assert seen[1] - seen[0] >= 1.5
    assert (harness.steps.count(first), harness.steps.count(second)) == (2, 1)
    assert harness.left() == 0


def test_a_pause_outlasts_a_block(harness: Harness) -> None:
    task = image("1")

    def paused_meanwhile(_task: Task) -> None:
        harness.broker.close_source("a")
        raise errors.SourceBlocked("it said «slower»", delay_s=0.2)

    harness.steps.plan(task, paused_meanwhile)
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.steps.runs, "it is paused")
        eventually(lambda: harness.ready("a") == 1, "the task waits")
        harness.put(*(image(str(n), source="b") for n in range(20)))
        eventually(lambda: len(harness.steps.ended) == 20, "the other source's tasks")
        waiting = harness.steps.count(task)
        harness.broker.open_source("a")
        eventually(lambda: len(harness.steps.ended) == 21, "it goes on once resumed")

    assert waiting == 1


class BrokenHook(Middleware):
    """A hook that fails once, before or after the actor."""

    def __init__(self, hook: str) -> None:
        self.failures = 0
        setattr(self, hook, self._fail_once)

    def _fail_once(self, *_args: object, **_kwargs: object) -> None:
        self.failures += 1
        if self.failures == 1:
            raise ConnectionError("a bug in a hook")


def test_fact_1_a_crash_within_the_deciding_hook_never_acknowledges(
    harness: Harness, pieces: Pieces
) -> None:
    ends: list[str] = []

    def end_dead(task: Task, _failure: object) -> None:
        ends.append(task.id)
        if len(ends) == 1:
            raise ValueError("a bug")

    pieces.end_dead = end_dead
    task = image("1")
    harness.steps.plan(task, errors.Gone("404"), errors.Gone("404"))
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: len(ends) == 2, "decided again")

    assert harness.steps.count(task) == 2
    assert harness.left() == 0


@pytest.mark.parametrize("hook", ["after_process_message", "before_ack"])
def test_fact_1_a_crash_in_another_hook_changes_no_outcome(harness: Harness, hook: str) -> None:
    broken = BrokenHook(hook)
    harness.broker.add_middleware(broken)
    task = image("1")
    harness.steps.plan(task, errors.StorageDown("disk full"))
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "second run")

    assert broken.failures >= 1
    assert harness.steps.count(task) == 2


def test_fact_1_a_run_that_ends_in_system_exit_is_not_acknowledged(harness: Harness) -> None:
    def leave(_task: Task) -> None:
        raise SystemExit(1)

    task = image("1")
    harness.steps.plan(task, leave)
    harness.put(task)
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "second run")

    assert harness.steps.count(task) == 2


def test_a_worker_that_stops_ends_what_runs_and_hands_back_the_rest(
    harness: Harness, pieces: Pieces
) -> None:
    gate = Gate()
    running, *waiting = [image(str(n)) for n in range(6)]
    harness.steps.plan(running, gate)
    harness.put(running, *waiting)
    with working(harness.broker) as worker:
        eventually(lambda: gate.inside, "the first runs")
        stopping = threading.Thread(target=stop, args=(worker,))
        stopping.start()
        eventually(pieces.stop.is_set, "the process knows")
        eventually(lambda: harness.left() >= 5, "the others go back at once")
        gate.opened.set()
        stopping.join()

    assert harness.steps.ended == [running.id]
    assert harness.left() == 5


def test_a_step_that_hands_over_at_the_end_is_found_by_the_next_worker(
    harness: Harness, pieces: Pieces
) -> None:
    task = image("1")

    def hand_over(run: Task) -> None:
        assert pieces.stop.wait(20)
        raise errors.Released("shutting down")

    harness.steps.plan(task, hand_over)
    harness.put(task)
    with working(harness.broker) as worker:
        eventually(lambda: harness.steps.runs, "it runs")
        stop(worker)
    with working(harness.broker):
        eventually(lambda: harness.steps.ended, "it runs again")

    assert harness.steps.count(task) == 2


def test_a_delay_is_never_a_queue_of_the_workers(harness: Harness) -> None:
    """Fact 7: a `.DQ` consumer would hold delayed messages in the worker's memory."""
    assert harness.broker.get_declared_delay_queues() == set()
    assert harness.broker.get_declared_queues() == {"headrace"}


def test_an_actor_of_another_queue_or_kind_is_refused(harness: Harness) -> None:
    with pytest.raises(errors.Misconfigured, match="headrace"):
        harness.broker.declare_queue("default")


def test_a_record_that_cannot_be_read_is_not_published(harness: Harness) -> None:
    with pytest.raises(errors.Misconfigured, match="image"):
        harness.broker.get_actor("image").send({"id": 1})


def test_open_work_is_flushed_by_nobody(harness: Harness) -> None:
    with pytest.raises(NotImplementedError, match="flushed"):
        harness.broker.flush_all()


# --- RabbitMQ alone ---


def a_rabbit_broker(url: str = "amqp://nobody:secret@127.0.0.1:1/%2F") -> RabbitBroker:
    publisher = RabbitPublisher(url, SOURCES, SystemClock())
    return RabbitBroker(
        url,
        SOURCES,
        publisher=publisher,
        retry=a_retry(publisher),
        stop=threading.Event(),
        clock=SystemClock(),
    )


def test_a_broker_is_built_without_a_connection() -> None:
    assert a_rabbit_broker().lanes == (*lanes_of("a"), *lanes_of("b"), "headrace.verify")


@pytest.mark.parametrize(
    ("patterns", "lanes"),
    [
        (None, (*lanes_of("a"), *lanes_of("b"), "headrace.verify")),
        ({"a.*"}, lanes_of("a")),
        ({"*.image"}, ("a.image", "b.image")),
        ({"*.verify"}, ("headrace.verify",)),
        ({"b.discover", "a.*"}, (*lanes_of("a"), "b.discover")),
    ],
)
def test_the_queues_option_takes_patterns_of_lanes(
    patterns: set[str] | None, lanes: tuple[str, ...]
) -> None:
    broker = a_rabbit_broker()
    worker = Worker(broker, queues=patterns, worker_threads=1)
    broker.emit_before("worker_boot", worker)

    assert broker.lanes == lanes
    assert worker.consumer_whitelist == {"headrace"}


def test_a_pattern_that_names_no_lane_stops_the_start_and_lists_the_lanes() -> None:
    broker = a_rabbit_broker()
    worker = Worker(broker, queues={"c.*"}, worker_threads=1)

    with pytest.raises(NotStarted, match=r"c\.\*.*a\.manifest, a\.image"):
        worker.start()
