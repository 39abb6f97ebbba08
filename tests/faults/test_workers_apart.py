"""A whole worker on a real RabbitMQ and Redis, and a site: a source that is stuck, slowed or paused
costs no other anything, and Redis may go and come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.queue import eventually
from tests.support.rabbitmq import VirtualHost
from tests.support.redis import RedisProcess, flush
from tests.support.site import Seen, answer, hang, whole
from tests.support.whole_worker import FAST, PICTURE, Whole, a_whole_worker

pytestmark = [pytest.mark.rabbitmq, pytest.mark.redis]

Start = Callable[..., Whole]
LATENCY_S = 0.15  # of a healthy source's answers: long beside what this machine adds
BLOCK_S = 60  # longer than a test looks


@pytest.fixture
def start(tmp_path: Path, vhost: VirtualHost, redis_url: str) -> Iterator[Start]:
    """Starts a worker on the suite's servers, with sources and their terms."""
    with ExitStack() as stack:
        yield lambda **sources: stack.enter_context(
            a_whole_worker(tmp_path / "store", vhost.url, redis_url, sources)
        )


def healthy(worker: Whole, of: str, count: int = 30) -> float:
    """How many of the healthy source's pictures are got a second."""
    return worker.rate(worker.images("b", count, of=of, delay_s=LATENCY_S))


def keeps_its_speed(worker: Whole, alone: float) -> bool:
    """Whether the healthy source has the speed that it has alone. What else the machine does may
    slow one look at it; what another source does slows each."""
    looks = (healthy(worker, f"beside{look}-") for look in range(5))
    return any(beside >= 0.8 * alone for beside in looks)


def stuck(worker: Whole, source: str, count: int) -> None:
    """Publish tasks of a source that accepts and never answers."""
    tasks = worker.images(source, count)
    for number in range(count):
        worker.site.on(f"/{source}/{number}.jpg", hang())
    worker.put(*tasks)


# --- no source pays for another ---


@pytest.mark.quiet
def test_three_sources_that_never_answer_leave_another_its_speed(start: Start) -> None:
    worker = start(a=FAST, c=FAST, d=FAST, b=FAST)
    alone = healthy(worker, "alone")
    for source in ("a", "c", "d"):
        stuck(worker, source, 200)
    all_slots = [2, 2, 2]
    eventually(lambda: [worker.asked(one) for one in ("a", "c", "d")] == all_slots, "all are stuck")

    assert keeps_its_speed(worker, alone)
    assert [worker.asked(source) for source in ("a", "c", "d")] == all_slots


@pytest.mark.quiet
def test_a_source_that_asks_for_time_is_left_alone_and_leaves_another_its_speed(
    start: Start, vhost: VirtualHost
) -> None:
    worker = start(a=FAST, b=FAST)
    alone = healthy(worker, "alone")
    tasks = worker.images("a", 60)
    slower = answer(429, {"Retry-After": str(BLOCK_S)})
    for number in range(60):
        worker.site.on(f"/a/{number}.jpg", slower, whole(PICTURE))
    worker.put(*tasks)
    eventually(lambda: worker.asked("a"), "it is asked")
    keeps = keeps_its_speed(worker, alone)
    eventually(lambda: worker.ready("a") >= 58, "what was prefetched is back")
    time.sleep(2.0)

    assert keeps
    assert worker.asked("a") <= 2  # its slots


@pytest.mark.quiet
def test_a_source_over_its_budget_holds_no_thread_and_leaves_another_its_speed(
    start: Start,
) -> None:
    """Its first token is due in two minutes, and no thread waits for more than five seconds."""
    worker = start(a={"rate": 1 / 120, "burst": 1}, b=FAST)
    alone = healthy(worker, "alone")
    worker.put(*worker.images("a", 200))
    eventually(lambda: worker.turns.buffered("a") == 3, "it was tried, and waits")

    assert keeps_its_speed(worker, alone)
    assert (worker.turns.in_hand("a"), worker.asked("a")) == (0, 0)
    assert (worker.turns.buffered("a"), worker.ready("a")) == (3, 197)


@pytest.mark.quiet
def test_a_paused_source_leaves_another_its_speed_and_goes_on_once_resumed(start: Start) -> None:
    worker = start(a=FAST, b=FAST)
    alone = healthy(worker, "alone")
    worker.app.switchboard.pause("a", "a person said so")
    tasks = worker.images("a", 50)
    worker.put(*tasks)
    keeps = keeps_its_speed(worker, alone)
    asked, ready = worker.asked("a"), worker.ready("a")
    worker.app.store.switches.change("a", lambda now: now.model_copy(update={"pause": None}))
    eventually(lambda: worker.got(tasks) == 50, "it goes on, and all are got")

    assert keeps
    assert (asked, ready) == (0, 50)


# --- Redis goes and comes ---


def test_without_redis_no_request_goes_out_no_thread_waits_and_work_goes_on_when_it_is_back(
    tmp_path: Path, vhost: VirtualHost, own_redis: RedisProcess
) -> None:
    with a_whole_worker(tmp_path / "store", vhost.url, own_redis.url, {"a": FAST}) as worker:
        tasks = worker.images("a", 120, delay_s=LATENCY_S)
        worker.put(*tasks)
        eventually(lambda: worker.asked("a") >= 10, "it is at work")
        own_redis.kill()
        eventually(lambda: worker.turns.in_hand("a") == 0, "no thread waits")
        asked = worker.asked("a")
        time.sleep(4.0)
        still_asked, in_hand = worker.asked("a"), worker.turns.in_hand("a")
        ready = worker.ready("a")
        own_redis.start()
        eventually(lambda: worker.got(tasks) == 120, "all are got")

        assert (still_asked, in_hand) == (asked, 0)
        assert 0 < ready <= 120
        assert worker.turns.buffered("a") == 0


def test_a_flushed_redis_leaves_a_blocked_and_a_paused_source_alone(
    start: Start, redis_url: str
) -> None:
    worker = start(a=FAST, b=FAST, c=FAST)
    tasks = worker.images("a", 30)
    worker.site.on("/a/0.jpg", answer(429, {"Retry-After": "5"}), whole(PICTURE))
    worker.put(tasks[0])
    eventually(lambda: worker.asked("a"), "it says «slower»")
    worker.app.switchboard.pause("c", "a person said so")
    flush(redis_url)
    others = worker.images("c", 30)
    worker.put(*tasks[1:], *others)
    healthy(worker, "after", 20)
    eventually(lambda: worker.got(tasks) == 30, "the block ends, the other pause does not")
    refused, *later = requests(worker, "a")

    assert min(seen.at for seen in later) >= refused.at + 5.0
    assert worker.asked("c") == 0


def requests(worker: Whole, source: str) -> list[Seen]:
    """What the site was asked of a source, in the order in which it came."""
    mine = [seen for seen in worker.site.requests if seen.path.startswith(f"/{source}/")]
    return sorted(mine, key=lambda seen: seen.at)
