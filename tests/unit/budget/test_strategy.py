"""The token bucket as any other strategy of the library is used."""

from __future__ import annotations

import pytest
from limits import RateLimitItemPerSecond

from core.budget.memory import MemoryBucketStorage
from core.budget.redis import RedisBucketStorage
from core.budget.report import Refusal
from core.budget.strategy import TokenBucketRateLimiter
from core.errors import Misconfigured
from tests.support.clock import FakeClock
from tests.support.redis import GivenTimeServer

ITEM = RateLimitItemPerSecond(6, 2)  # six in two seconds: a burst of 6, refilled at 3 a second


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def limiter(request: pytest.FixtureRequest, clock: FakeClock) -> TokenBucketRateLimiter:
    if request.param == "memory":
        return TokenBucketRateLimiter(MemoryBucketStorage(clock), clock)
    url = request.getfixturevalue("redis_url")
    return TokenBucketRateLimiter(RedisBucketStorage(url, GivenTimeServer(url, clock)), clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def full(limiter: TokenBucketRateLimiter, clock: FakeClock) -> TokenBucketRateLimiter:
    limiter.test(ITEM, "weibo")
    clock.advance(10.0)
    return limiter


def test_a_new_bucket_grants_nothing(limiter: TokenBucketRateLimiter) -> None:
    assert not limiter.hit(ITEM, "weibo")


def test_a_full_bucket_grants_its_burst(full: TokenBucketRateLimiter) -> None:
    assert [full.hit(ITEM, "weibo") for _ in range(7)] == [True] * 6 + [False]


def test_a_hit_may_cost_several_tokens(full: TokenBucketRateLimiter) -> None:
    assert full.hit(ITEM, "weibo", cost=5)
    assert not full.hit(ITEM, "weibo", cost=2)


def test_a_test_charges_nothing(full: TokenBucketRateLimiter) -> None:
    assert all(full.test(ITEM, "weibo", cost=6) for _ in range(10))


def test_a_test_says_no_where_a_hit_would(full: TokenBucketRateLimiter) -> None:
    full.hit(ITEM, "weibo", cost=6)

    assert not full.test(ITEM, "weibo")


def test_the_stats_count_what_is_left(full: TokenBucketRateLimiter, clock: FakeClock) -> None:
    full.hit(ITEM, "weibo", cost=4)

    stats = full.get_window_stats(ITEM, "weibo")

    assert stats.remaining == 2
    assert stats.reset_time == pytest.approx(clock.now() + 4 / 3, abs=1e-5)


def test_a_blocked_bucket_has_nothing_left(full: TokenBucketRateLimiter) -> None:
    full.throttled("weibo", Refusal(0, 5_000_000, 1.0, None))

    assert full.get_window_stats(ITEM, "weibo").remaining == 0
    assert not full.test(ITEM, "weibo")


def test_the_stats_reckon_with_a_block(full: TokenBucketRateLimiter, clock: FakeClock) -> None:
    full.throttled("weibo", Refusal(0, 5_000_000, 1.0, None))

    stats = full.get_window_stats(ITEM, "weibo")

    assert stats.reset_time == pytest.approx(clock.now() + 5 + 6 / 1.5, abs=1e-5)


def test_buckets_are_known_by_their_identifiers(full: TokenBucketRateLimiter) -> None:
    full.hit(ITEM, "weibo", cost=6)

    assert not full.hit(RateLimitItemPerSecond(100), "weibo")


def test_a_cleared_bucket_starts_empty(full: TokenBucketRateLimiter) -> None:
    full.clear(ITEM, "weibo")

    assert not full.hit(ITEM, "weibo")


def test_a_bucket_without_a_name_is_refused(limiter: TokenBucketRateLimiter) -> None:
    with pytest.raises(Misconfigured, match="identifiers"):
        limiter.hit(ITEM)
