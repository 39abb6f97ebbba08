"""A budget under a time that is given, whichever storage it has, for its contract suites."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from core.budget.budget import TokenBudget
from core.budget.memory import MemoryBucketStorage
from core.budget.redis import RedisBucketStorage
from core.budget.strategy import TokenBucketRateLimiter
from core.ports import BucketKey, Denied, Granted, Reserved, Slowdown
from tests.support.clock import FakeClock
from tests.support.redis import Disk, GivenTimeServer, flush

STORAGES = ["memory", pytest.param("redis", marks=pytest.mark.redis)]
SLOW = BucketKey("slow", rate=2.0, burst=3)
HOST = BucketKey("slow/a.test", rate=1.0, burst=2)
LATEST = 2**52  # an era that is older than none


class Longest(random.Random):
    """Draws the largest of what it may."""

    def uniform(self, a: float, b: float) -> float:
        return max(a, b)


@dataclass
class ServerClock:
    """A server's clock: set by its operator, while that of the processes goes on."""

    clock: FakeClock
    ahead_s: float = 0.0

    def now(self) -> float:
        return self.clock.now() + self.ahead_s


@dataclass
class World:
    """One storage that several processes share."""

    clock: FakeClock
    storage: MemoryBucketStorage | RedisBucketStorage
    flush: Callable[[], object]
    save: Callable[[], object]  # what is held now goes to the storage's disk, if it has one
    restart: Callable[[], object]  # it knows what was saved last

    def process(self) -> TokenBudget:
        limiter = TokenBucketRateLimiter(self.storage, self.clock)
        return TokenBudget(limiter, self.clock, rng=Longest())


def memory_world(clock: FakeClock) -> World:
    storage = MemoryBucketStorage(clock)
    return World(clock, storage, storage.reset, lambda: None, storage.reset)


def redis_world(clock: FakeClock, url: str) -> World:
    server = GivenTimeServer(url, clock)
    disk = Disk(url, server)
    storage = RedisBucketStorage(url, server)
    return World(clock, storage, lambda: flush(url), disk.save, disk.restart)


def budget_world(request: pytest.FixtureRequest) -> World:
    """The world of the storage that the fixture's parameter names."""
    clock = FakeClock()
    if request.param == "memory":
        return memory_world(clock)
    return redis_world(clock, request.getfixturevalue("redis_url"))


def fill(world: World, *buckets: BucketKey) -> None:
    """Make the buckets known, then wait until they are full."""
    world.process().take(buckets or [SLOW], horizon_s=0.0)
    world.clock.advance(60.0)


def reserve(budget: TokenBudget, *buckets: BucketKey, horizon_s: float = 5.0) -> Reserved:
    answer = budget.take(buckets or [SLOW], horizon_s=horizon_s)
    assert isinstance(answer, Reserved), answer
    return answer


def drain(budget: TokenBudget, *buckets: BucketKey) -> int:
    """Take what is there at once; how much that was."""
    count = 0
    while isinstance(budget.take(buckets or [SLOW], horizon_s=0.0), Granted):
        count += 1
        assert count < 1000
    return count


def denied(wait_s: float, *, blocked: bool = False, bucket: str = "slow") -> Denied:
    return Denied(wait_s, blocked, bucket)


def block(budget: TokenBudget, seconds: float, bucket: str = "slow") -> Slowdown:
    """The source says «slower» once more, and for how long."""
    return budget.throttled(bucket, era=LATEST, seconds=seconds)


def granted(budget: TokenBudget, *buckets: BucketKey) -> Granted:
    answer = budget.take(buckets or [SLOW], horizon_s=0.0)
    assert isinstance(answer, Granted), answer
    return answer


def pace(budget: TokenBudget, bucket: str = "slow") -> float:
    """Share of the rate that is granted; the whole where nothing is known of the bucket."""
    standing = budget.standing(bucket)
    return standing.pace if standing else 1.0


def climb(world: World, budget: TokenBudget, windows: int, bucket: BucketKey = SLOW) -> None:
    """Clean windows, in each of which something is granted."""
    for _ in range(windows):
        world.clock.advance(30.0)
        granted(budget, bucket)
