"""What only the bucket storage in Redis does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from core.budget.answer import Claim, Slowed, Verdict
from core.budget.budget import TokenBudget
from core.budget.redis import RedisBucketStorage
from core.budget.report import Fault, Refusal
from core.budget.strategy import TokenBucketRateLimiter
from core.budget.usage import Figures
from core.clock import SystemClock
from core.errors import SharedStateDown
from core.ports import BucketKey, Denied, Granted, Reserved
from tests.support.clock import FakeClock
from tests.support.redis import GivenTimeServer, RedisProcess

pytestmark = pytest.mark.redis

KEY = BucketKey("weibo", rate=2.0, burst=10)
BLOCK = Refusal(0, 3600 * 1_000_000, 1.0, None)


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


def claim(*buckets: BucketKey, horizon_us: int = 5_000_000) -> Claim:
    return Claim(buckets, ticket="t1", heard=[None] * len(buckets), horizon_us=horizon_us)


def test_a_budget_connects_to_nothing_before_it_is_asked() -> None:
    TokenBudget.redis("redis://127.0.0.1:1/0", FakeClock())


def test_an_idle_bucket_goes_once_it_would_be_full(redis_url: str, client: redis.Redis) -> None:
    RedisBucketStorage(redis_url).take(claim(KEY))

    fill_ms = KEY.burst / KEY.rate * 1000
    assert fill_ms < client.pttl("headrace:bucket:weibo") <= fill_ms + 60_000


def test_a_blocked_bucket_outlives_its_block(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.throttled("weibo", BLOCK)

    assert client.pttl("headrace:bucket:weibo") > 3600 * 1000


def test_a_bucket_that_was_slowed_down_is_kept_for_an_hour(
    redis_url: str, client: redis.Redis
) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.throttled("weibo", Refusal(0, 0, 1.0, None))
    storage.take(claim(KEY))

    assert client.pttl("headrace:bucket:weibo") > 3600 * 1000


def test_a_take_does_not_shorten_the_life_of_a_block(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.throttled("weibo", BLOCK)

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


def a_process(url: str, clock: FakeClock) -> TokenBudget:
    """One that tells nothing by itself: a thread of its own would move the time."""
    return TokenBudget(TokenBucketRateLimiter(RedisBucketStorage(url), clock), clock)


def told_while_away(server: RedisProcess, clock: FakeClock, seconds: float | None) -> TokenBudget:
    """A budget that a source refused while Redis was away; it is back, 100 s later."""
    budget = a_process(server.url, clock)
    server.kill()
    with pytest.raises(SharedStateDown):
        budget.throttled("weibo", era=0, seconds=seconds)
    server.start()
    clock.advance(100.0)
    return budget


def test_a_block_that_redis_missed_is_told_when_it_is_back(own_redis: RedisProcess) -> None:
    budget = told_while_away(own_redis, FakeClock(), 300.0)

    answer = budget.take([KEY], horizon_s=5.0)

    assert isinstance(answer, Denied)
    assert answer.blocked
    assert 190.0 < answer.wait_s <= 200.0


def test_a_refusal_that_redis_missed_slows_down_though_its_time_is_over(
    own_redis: RedisProcess,
) -> None:
    budget = told_while_away(own_redis, FakeClock(), 10.0)

    standing = budget.standing("weibo")

    assert standing is not None
    assert standing.pace == 0.5
    assert 0.0 < standing.blocked_s <= 1.0


def test_of_what_redis_missed_the_longest_block_counts_once(own_redis: RedisProcess) -> None:
    clock = FakeClock()
    budget = a_process(own_redis.url, clock)
    own_redis.kill()
    for seconds in (300.0, 30.0, None):
        with pytest.raises(SharedStateDown):
            budget.throttled("weibo", era=0, seconds=seconds)
    own_redis.start()

    standing = budget.standing("weibo")

    assert standing is not None
    assert (standing.pace, standing.slowdowns) == (0.5, 1)
    assert 290.0 < standing.blocked_s <= 300.0


def test_figures_that_redis_misses_fail_no_request(own_redis: RedisProcess) -> None:
    budget = TokenBudget.redis(own_redis.url, FakeClock())
    own_redis.kill()

    budget.used("weibo", waited_s=0.1, asked_s=0.1)


def test_every_script_leaves_nothing_that_stays(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.failed("a", Fault(0, "task", 3, 1.0, None))
    storage.failed("b", Fault(0, "task", 1, 1.0, None))
    storage.throttled("c", BLOCK)
    storage.used("e", Figures(1, 0.1, 0.1))
    storage.answered(["f"])

    keys = list(client.scan_iter("*"))
    assert len(keys) == 3
    assert all(client.pttl(key) > 0 for key in keys)


HEARD = Slowed(1000, 2**52, 0.5, 1, outage=False)
ASKS: dict[str, Callable[[RedisBucketStorage], object]] = {
    "take": lambda s: s.take(Claim([KEY], ticket="t", heard=[HEARD])),
    "confirm": lambda s: s.confirm(Claim([KEY], ticket="t", heard=[HEARD])),
    "throttled by old news": lambda s: s.throttled("weibo", Refusal(0, 0, 1.0, HEARD)),
    "throttled": lambda s: s.throttled("weibo", Refusal(2000, 0, 1.0, HEARD)),
    "failed by old news": lambda s: s.failed("weibo", Fault(0, "task", 3, 1.0, HEARD)),
    "failed once": lambda s: s.failed("weibo", Fault(2000, "task", 3, 1.0, HEARD)),
    "failed": lambda s: s.failed("weibo", Fault(2000, "task", 1, 1.0, HEARD)),
    "standing": lambda s: s.standing("weibo", HEARD),
    "retell": lambda s: s.retell({"weibo": HEARD}),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_what_a_script_puts_back_after_a_flush_goes_with_time(
    redis_url: str, client: redis.Redis, ask: Callable[[RedisBucketStorage], object]
) -> None:
    ask(RedisBucketStorage(redis_url))

    assert client.pttl("headrace:bucket:weibo") > 3600 * 1000


def test_a_block_that_old_news_prolongs_lives_as_long(redis_url: str, client: redis.Redis) -> None:
    """A request of before the slowdown is answered «not before tomorrow»."""
    storage = RedisBucketStorage(redis_url)
    storage.throttled("weibo", Refusal(0, 0, 1.0, None))
    storage.throttled("weibo", Refusal(0, 86_400 * 1_000_000, 1.0, None))

    assert client.pttl("headrace:bucket:weibo") > 86_400 * 1000


@pytest.mark.parametrize("again", ["throttled", "failed"])
def test_a_report_that_is_told_twice_counts_once(redis_url: str, again: str) -> None:
    """The answer to the first was lost on its way."""
    storage = RedisBucketStorage(redis_url)
    report = BLOCK if again == "throttled" else Fault(0, "task", 1, 1.0, None)
    for _ in range(2):
        event = getattr(storage, again)("weibo", report)

    assert (event.slowed.pace, event.slowed.row, event.is_news) == (0.5, 1, False)


def test_only_the_era_is_kept_of_what_climbed_back(redis_url: str, client: redis.Redis) -> None:
    clock = FakeClock()
    storage = RedisBucketStorage(redis_url, GivenTimeServer(redis_url, clock))
    storage.throttled("weibo", Refusal(0, 0, 1.0, None))
    for _ in range(20):
        clock.advance(31.0)
        storage.take(claim(KEY))

    fields = set(client.hkeys("headrace:bucket:weibo"))
    assert "era" in fields
    assert not fields & {"pace", "row", "window_at", "window_used", "outage"}


def test_clear_forgets_bucket_and_tickets(redis_url: str, client: redis.Redis) -> None:
    storage = RedisBucketStorage(redis_url)
    storage.take(claim(KEY))
    storage.clear("weibo")

    assert client.keys("*") == []
