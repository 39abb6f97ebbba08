"""What only the ledger in Redis does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from core.errors import SharedStateDown
from core.ledger.redis import RedisLedger
from core.model.task import Task
from core.ports import Lease
from tests.support.redis import RedisProcess
from tests.support.tasks import an_image_task

pytestmark = pytest.mark.redis

WEEK_MS = 7 * 86_400 * 1000
TASK = an_image_task(source="weibo")
KEY = f"headrace:task:{TASK.id}"


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def ledger(redis_url: str) -> Iterator[RedisLedger]:
    ledger = RedisLedger(redis_url)
    yield ledger
    ledger.close()


def run_to_its_end(ledger: RedisLedger, task: Task) -> None:
    ledger.published(task, delay_s=0.0, token=None)
    lease = ledger.begin(task, lease_s=30.0)
    assert isinstance(lease, Lease)
    ledger.renew(lease.task, lease.token, lease_s=30.0, progress=True)
    ledger.finish(lease.task)


def test_finished_tasks_leave_nothing(ledger: RedisLedger, client: redis.Redis) -> None:
    for number in range(200):
        run_to_its_end(ledger, an_image_task(f"https://a.test/{number}.jpg", source="weibo"))

    assert client.keys("*") == []


def test_first_copies_leave_nothing(ledger: RedisLedger, client: redis.Redis) -> None:
    ledger.published(TASK, delay_s=0.0, token=None)

    assert client.keys("*") == []


def test_a_copy_published_after_the_end_goes_with_time(
    ledger: RedisLedger, client: redis.Redis
) -> None:
    run_to_its_end(ledger, TASK)
    ledger.published(TASK.model_copy(update={"serial": 1}), delay_s=60.0, token=None)

    assert WEEK_MS < client.pttl(KEY) <= WEEK_MS + 60_000


def test_a_lease_that_nobody_ends_goes_with_time(ledger: RedisLedger, client: redis.Redis) -> None:
    ledger.begin(TASK, lease_s=30.0)

    assert WEEK_MS < client.pttl(KEY) <= WEEK_MS + 30_000


def test_a_released_task_goes_with_time(ledger: RedisLedger, client: redis.Redis) -> None:
    lease = ledger.begin(TASK, lease_s=30.0)
    assert isinstance(lease, Lease)
    ledger.release(TASK, lease.token)

    assert 0 < client.pttl(KEY) <= WEEK_MS


def test_delays_that_are_over_are_trimmed_by_the_next(
    ledger: RedisLedger, client: redis.Redis
) -> None:
    client.zadd("headrace:delayed:weibo", {"image-long-ago": 1.0})
    ledger.published(TASK.model_copy(update={"serial": 1}), delay_s=60.0, token=None)

    assert client.zrange("headrace:delayed:weibo", 0, -1) == [TASK.id]


def test_leases_that_ran_out_are_trimmed_by_the_next(
    ledger: RedisLedger, client: redis.Redis
) -> None:
    client.zadd("headrace:leased:weibo", {"image-long-ago": 1.0})
    ledger.begin(TASK, lease_s=30.0)

    assert client.zrange("headrace:leased:weibo", 0, -1) == [TASK.id]


def test_a_video_that_has_ended_leaves_nothing(ledger: RedisLedger, client: redis.Redis) -> None:
    for piece in range(100):
        ledger.join("m1", 1, piece)
    ledger.forget_join("m1")

    assert client.keys("*") == []


def test_pieces_that_nobody_forgets_go_after_a_week_without_a_word(
    ledger: RedisLedger, client: redis.Redis
) -> None:
    ledger.join("m1", 1, 0)
    client.pexpire("headrace:join:m1", 1000)
    ledger.join("m1", 1, 1)

    assert WEEK_MS - 60_000 < client.pttl("headrace:join:m1") <= WEEK_MS


def test_a_video_is_one_key_whatever_its_generations(
    ledger: RedisLedger, client: redis.Redis
) -> None:
    for generation in (1, 2, 3):
        ledger.join("m1", generation, 0)

    assert client.keys("*") == ["headrace:join:m1"]


def test_a_join_whose_answer_got_lost_counts_once(
    ledger: RedisLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ledger._server.run

    def twice(*call: object) -> object:
        run(*call)
        return run(*call)

    monkeypatch.setattr(ledger._server, "run", twice)

    assert [ledger.join("m1", 1, piece) for piece in (0, 1)] == [1, 2]


def test_a_ledger_connects_to_nothing_before_it_is_asked() -> None:
    RedisLedger("redis://127.0.0.1:1/0")


def test_a_ledger_that_is_away_says_so(own_redis: RedisProcess) -> None:
    ledger = RedisLedger(own_redis.url)
    own_redis.kill()

    with pytest.raises(SharedStateDown):
        ledger.begin(TASK, lease_s=30.0)


def test_a_begin_whose_answer_got_lost_holds_no_lease_against_itself(
    ledger: RedisLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, answers = ledger._server.run, []

    def twice(*call: object) -> object:
        answers.append(run(*call))
        return run(*call)

    monkeypatch.setattr(ledger._server, "run", twice)

    assert isinstance(ledger.begin(TASK, lease_s=30.0), Lease)
    assert answers[0][0] == b"leased"
