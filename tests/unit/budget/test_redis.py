"""What only the bucket storage in Redis does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from core.budget.answer import Claim, Verdict
from core.budget.budget import TokenBudget
from core.budget.redis import RedisBucketStorage
from core.clock import SystemClock
from core.errors import SharedStateDown
from core.ports import BucketKey, Denied, Granted, Reserved
from tests.support.clock import FakeClock
from tests.support.redis import RedisProcess

pytestmark = pytest.mark.redis

KEY = BucketKey("weibo", rate=2.0, burst=10)


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


def claim(*buckets: BucketKey, horizon_us: int = 5_000_000) -> Claim:
    return Claim(buckets, ticket="t1", known=[0] * len(buckets), horizon_us=horizon_us)


def test_a_budget_connects_to_nothing_before_it_is_asked() -> None:
    TokenBudget.redis("redis://127.0.0.1:1/0", FakeClock())


def test_an_idle_bucket_goes_once_it_would_be_full(redis_url: str, client: redis.Redis) -> None:
    RedisBucketStorage(redis_url).take(claim(KEY))

    fill_ms = KEY.burst / KEY.rate * 1000
    assert fill_ms < client.pttl("headrace:bucket:weibo") <= fill_ms + 60_000


def test_a_blocked_bucket_outlives_its_block(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.block("weibo", 3600 * 1_000_000)

    assert client.pttl("headrace:bucket:weibo") > 3600 * 1000


def test_a_take_does_not_shorten_the_life_of_a_block(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.block("weibo", 3600 * 1_000_000)

    assert storage.take(claim(KEY)).verdict is Verdict.BLOCKED
    assert client.pttl("headrace:bucket:weibo") > 3600 * 1000


def test_tickets_go_with_time_whoever_died(redis_url: str, client: redis.Redis) -> None:
    RedisBucketStorage(redis_url).take(claim(KEY))

    assert 0 < client.pttl("headrace:bucket:weibo:tickets") <= 70_000


def test_many_hosts_leave_nothing_that_stays(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    for number in range(50):
        storage.take(claim(KEY, BucketKey(f"weibo/{number}.test", 2.0, 10)))

    assert all(client.pttl(key) > 0 for key in client.scan_iter("*"))


def test_a_very_slow_bucket_is_no_error(redis_url: str) -> None:
    answer = RedisBucketStorage(redis_url).take(claim(BucketKey("rare", 1e-9, 1_000_000)))

    assert answer.verdict is Verdict.DENIED


def test_real_time_fills_the_bucket(redis_url: str) -> None:
    fast = BucketKey("fast", rate=1000.0, burst=5)
    clock = SystemClock()
    budget = TokenBudget.redis(redis_url, clock)
    answer = budget.take([fast], horizon_s=1.0)
    assert isinstance(answer, Reserved)
    clock.sleep(answer.wait_s + 0.01)

    assert budget.confirm([fast], answer.ticket) == Granted()


def test_nothing_goes_out_while_redis_is_away(own_redis: RedisProcess) -> None:
    budget = TokenBudget.redis(own_redis.url, FakeClock())
    own_redis.kill()

    with pytest.raises(SharedStateDown):
        budget.take([KEY], horizon_s=5.0)


def test_a_block_that_redis_missed_is_told_when_it_is_back(own_redis: RedisProcess) -> None:
    clock = FakeClock()
    budget = TokenBudget.redis(own_redis.url, clock)
    own_redis.kill()
    with pytest.raises(SharedStateDown):
        budget.block("weibo", seconds=300.0)
    own_redis.start()
    clock.advance(100.0)

    answer = budget.take([KEY], horizon_s=5.0)

    assert isinstance(answer, Denied)
    assert answer.blocked
    assert 190.0 < answer.wait_s <= 200.0


def test_clear_forgets_bucket_and_tickets(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.take(claim(KEY))
    storage.clear("weibo")

    assert client.keys("*") == []
