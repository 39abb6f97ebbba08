"""Redis restarts from an old state, hands over to a replica, is flushed, frozen or full: no source
is asked more than it may be, and no task pays for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from core.budget.budget import TokenBudget
from core.clock import SystemClock
from core.errors import SharedStateDown
from core.ports import BucketKey, Denied, Granted
from core.shared_state import server as server_module
from tests.support.queue import eventually
from tests.support.rabbitmq import VirtualHost
from tests.support.redis import RedisProcess, running_redis
from tests.support.whole_worker import FAST, Whole, a_whole_worker

pytestmark = pytest.mark.redis

KEY = BucketKey("feed", rate=10.0, burst=20)


def drain(budget: TokenBudget) -> int:
    """Take what is there at once; how much that was."""
    count = 0
    while isinstance(budget.take([KEY], horizon_s=0.0), Granted):
        count += 1
    return count


@pytest.fixture
def start() -> Iterator[Callable[[str], TokenBudget]]:
    """Starts processes, as many as are asked for."""
    budgets: list[TokenBudget] = []

    def start(url: str) -> TokenBudget:
        budgets.append(TokenBudget.redis(url, SystemClock()))
        return budgets[-1]

    yield start
    for budget in budgets:
        budget.close()


Start = Callable[[str], TokenBudget]


def full_bucket(budget: TokenBudget) -> None:
    budget.take([KEY], horizon_s=0.0)
    time.sleep(KEY.burst / KEY.rate + 0.2)


# --- an old state ---


def test_a_redis_that_starts_from_its_snapshot_grants_no_token_twice(
    start: Start, own_redis: RedisProcess
) -> None:
    budget = start(own_redis.url)
    full_bucket(budget)
    with redis.Redis.from_url(own_redis.url) as client:
        client.save()
    began = time.monotonic()
    before = drain(budget)
    own_redis.kill()
    own_redis.start()
    after = drain(budget)
    lasted_s = time.monotonic() - began

    assert before >= KEY.burst
    assert before + after <= KEY.burst + KEY.rate * lasted_s
    assert after <= 1


def test_a_redis_that_starts_from_its_log_works_on(start: Start) -> None:
    log = ("--appendonly", "yes", "--appendfsync", "everysec")
    with running_redis(*log) as server:
        budget = start(server.url)
        full_bucket(budget)
        began = time.monotonic()
        before = drain(budget)
        server.kill()
        server.start(*log)
        after = drain(budget)
        time.sleep(0.5)
        after += drain(budget)
        lasted_s = time.monotonic() - began

    assert after >= 4
    assert before + after <= KEY.burst + KEY.rate * lasted_s


def test_a_replica_that_lagged_and_takes_over_grants_no_token_twice(
    start: Start, own_redis: RedisProcess
) -> None:
    host, port = "127.0.0.1", str(own_redis.port)
    with (
        running_redis("--replicaof", f"{host} {port}", "--replica-read-only", "yes") as replica,
        redis.Redis.from_url(replica.url) as client,
    ):
        budget = start(own_redis.url)
        full_bucket(budget)
        eventually(lambda: client.hget("headrace:bucket:feed", "tokens"), "it has a copy")
        replica.freeze()
        began = time.monotonic()
        before = drain(budget)
        own_redis.kill()
        replica.thaw()
        client.replicaof("NO", "ONE")
        after = drain(start(replica.url))
        lasted_s = time.monotonic() - began

    assert before >= KEY.burst
    assert before + after <= KEY.burst + KEY.rate * lasted_s


# --- forgotten altogether ---


@pytest.mark.quiet
def test_after_a_flush_a_block_holds_within_a_second_for_who_never_heard_of_it(
    start: Start, redis_url: str
) -> None:
    """Whoever knows of it has closed its lanes and claims nothing."""
    start(redis_url).throttled(KEY.name, era=0, seconds=3600.0)
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    began = time.monotonic()
    newcomer = start(redis_url)
    granted = 0
    while isinstance(answer := newcomer.take([KEY], horizon_s=0.0), Granted | Denied):
        if isinstance(answer, Denied) and answer.blocked:
            break
        granted += isinstance(answer, Granted)
        assert time.monotonic() - began < 3.0, "the block was never told again"
        time.sleep(0.02)
    lasted_s = time.monotonic() - began

    assert answer.wait_s > 3590.0
    assert granted <= KEY.rate * lasted_s


def test_what_redis_missed_while_it_was_away_it_is_told_though_nobody_claims(
    start: Start, own_redis: RedisProcess
) -> None:
    budget = start(own_redis.url)
    own_redis.kill()
    with pytest.raises(SharedStateDown):
        budget.throttled(KEY.name, era=0, seconds=3600.0)
    own_redis.start()
    newcomer = start(own_redis.url)

    eventually(lambda: newcomer.blocked_for(KEY.name) > 3500.0, "it is told")


# --- frozen, full ---


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "ANSWER_TIMEOUT_S", 0.3)


@pytest.fixture
def worker(
    tmp_path: Path, vhost: VirtualHost, own_redis: RedisProcess, hasty: None
) -> Iterator[Whole]:
    with a_whole_worker(tmp_path / "store", vhost.url, own_redis.url, {"a": FAST}) as worker:
        yield worker


@pytest.mark.rabbitmq
def test_a_redis_that_is_frozen_for_longer_than_a_lease_counts_no_crash(
    worker: Whole, own_redis: RedisProcess, caplog: pytest.LogCaptureFixture
) -> None:
    tasks = worker.images("a", 60, delay_s=0.1)
    worker.put(*tasks)
    eventually(lambda: worker.asked("a") >= 5, "it is at work")
    own_redis.freeze()
    try:
        eventually(lambda: worker.turns.in_hand("a") == 0, "every run has ended")
        time.sleep(worker.app.settings.lease.seconds + 1.0)
    finally:
        own_redis.thaw()
    eventually(lambda: worker.got(tasks) == len(tasks), "all are got")

    assert "vanished" not in caplog.text


@pytest.mark.rabbitmq
def test_a_redis_that_is_full_is_not_back_before_it_has_memory(
    worker: Whole, own_redis: RedisProcess, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "core.queue.outage")
    tasks = worker.images("a", 60, delay_s=0.05)
    worker.put(*tasks)
    eventually(lambda: worker.asked("a") >= 5, "it is at work")
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", "1")
        eventually(lambda: "handed on" in caplog.text, "it is found out")
        time.sleep(5.0)
        said = caplog.text.count("is back")
        client.config_set("maxmemory", "0")
    eventually(lambda: worker.got(tasks) == len(tasks), "all are got")

    assert said == 0
    assert caplog.text.count("is back") == 1
    assert "vanished" not in caplog.text
