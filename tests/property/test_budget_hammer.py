"""Threads of several processes at one bucket in Redis, on the server's own clock: the bound holds
on the grants as the server timed them."""

from __future__ import annotations

import multiprocessing
import threading
import time
from typing import Any

import pytest

from core.budget.budget import TokenBudget
from core.budget.redis import RedisBucketStorage
from core.budget.strategy import TokenBucketRateLimiter
from core.clock import SystemClock
from core.ports import BucketKey, Denied, Granted, Reserved
from core.shared_state.server import RedisServer, Script

KEY = BucketKey("hammered", rate=100.0, burst=10)
LASTS_S = 1.5
PROCESSES, THREADS = 2, 4

_STAMPING_CLOCK = """
local stamp
local function now()
  local time = redis.call('TIME')
  stamp = time[1] * 1000000 + time[2]
  return stamp
end
"""


class StampedServer(RedisServer):
    """Runs the production scripts and notes the server's time of each grant."""

    def __init__(self, url: str) -> None:
        super().__init__(url, clock=_STAMPING_CLOCK)
        self.granted_us: list[int] = []

    def script(self, *texts: str) -> Script:
        tail = "end local told = decide() told[#told + 1] = stamp return told"
        return super().script("local function decide()", *texts, tail)

    def run(self, script: Script, keys: Any, arguments: Any) -> Any:
        *told, stamp = super().run(script, keys, arguments)
        if told[0] == b"granted":
            self.granted_us.append(stamp)
        return told


def hammer(url: str, grants: Any) -> None:
    """One process: threads that take, wait, confirm and take again, until the time is over."""
    server = StampedServer(url)
    clock = SystemClock()
    budget = TokenBudget(TokenBucketRateLimiter(RedisBucketStorage(url, server), clock), clock)
    threads = [threading.Thread(target=_ask_on, args=(budget,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grants.put(server.granted_us)


def _ask_on(budget: TokenBudget) -> None:
    until = time.monotonic() + LASTS_S
    while time.monotonic() < until:
        answer = budget.take([KEY], horizon_s=0.2)
        while isinstance(answer, Reserved):
            time.sleep(answer.wait_s)
            answer = budget.confirm([KEY], answer.ticket)
        if isinstance(answer, Denied):
            time.sleep(min(answer.wait_s, 0.05))
        else:
            assert answer == Granted()


@pytest.mark.quiet
@pytest.mark.redis
def test_processes_at_one_bucket_never_overrun_it(redis_url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    workers = [spawn.Process(target=hammer, args=(redis_url, queue)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    grants = sorted(stamp for _ in workers for stamp in queue.get(timeout=60))
    for worker in workers:
        worker.join(timeout=30)

    overrun = max(
        (j - i + 1) - KEY.burst - KEY.rate * (grants[j] - grants[i]) / 1e6
        for i in range(len(grants))
        for j in range(i, len(grants))
    )

    assert overrun <= 1e-4
    assert len(grants) >= 0.5 * KEY.rate * LASTS_S


@pytest.mark.redis
def test_threads_that_are_refused_at_once_are_one_event(redis_url: str) -> None:
    budget = TokenBudget.redis(redis_url, SystemClock())
    together = threading.Barrier(16)
    told: list[bool] = []

    def hear() -> None:
        together.wait(timeout=30)
        told.append(budget.throttled("hammered", era=0, seconds=5.0).is_news)

    threads = [threading.Thread(target=hear) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    standing = budget.standing("hammered")
    budget.close()
    assert standing is not None
    assert (sorted(told), standing.pace, standing.slowdowns) == ([False] * 15 + [True], 0.5, 1)
