"""What only the bucket storage in memory does."""

from __future__ import annotations

import threading

import pytest

from core.budget.answer import Claim, Verdict
from core.budget.memory import MemoryBucketStorage
from core.budget.report import Refusal
from core.ports import BucketKey
from tests.support.clock import FakeClock
from tests.support.threads import Threads


def claim(name: str) -> Claim:
    return Claim([BucketKey(name, rate=10.0, burst=5)], ticket="t", heard=[None])


def test_idle_buckets_are_dropped() -> None:
    clock = FakeClock()
    storage = MemoryBucketStorage(clock)
    for number in range(5000):
        storage.take(claim(f"list/{number}.test"))
        clock.advance(1.0)

    assert storage.reset() < 2000


def test_a_bucket_in_use_is_kept() -> None:
    clock = FakeClock()
    storage = MemoryBucketStorage(clock)
    storage.throttled("list", Refusal(0, 10_000 * 1_000_000, 1.0, None))
    for number in range(5000):
        storage.take(claim(f"list/{number}.test"))
        clock.advance(1.0)

    standing = storage.standing("list", None)
    assert standing is not None
    assert standing.blocked_s == 5000.0


def test_a_bucket_that_was_slowed_down_is_kept_longer() -> None:
    clock = FakeClock()
    storage = MemoryBucketStorage(clock)
    storage.throttled("list", Refusal(0, 0, 1.0, None))
    for number in range(3500):
        storage.take(claim(f"list/{number}.test"))
        clock.advance(1.0)

    assert storage.standing("list", None) is not None


def test_it_starts_no_thread() -> None:
    threads = Threads()
    MemoryBucketStorage(FakeClock()).take(claim("weibo"))

    assert threads.started == []


def test_threads_share_one_budget() -> None:
    clock = FakeClock()
    storage = MemoryBucketStorage(clock)
    storage.take(claim("weibo"))
    clock.advance(10.0)
    granted: list[bool] = []

    def ask() -> None:
        granted.extend(storage.take(claim("weibo")).verdict is Verdict.GRANTED for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(granted) == 5


def test_it_is_no_window_counter() -> None:
    storage = MemoryBucketStorage(FakeClock())

    with pytest.raises(NotImplementedError, match="counts no windows"):
        storage.incr("weibo", 1)


def test_it_is_always_there() -> None:
    assert MemoryBucketStorage(FakeClock()).check()
