"""Redis is away, frozen, full or started again: trouble of ours is no task's crash, and a run that
really vanished is one all the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from core.clock import SystemClock
from core.errors import SharedStateDown
from core.ledger.redis import RedisLedger
from core.ports import Early, Held, Lease, Vanished
from core.shared_state import server as server_module
from tests.support.clock import FakeClock
from tests.support.ledger_world import FIRST, LEASE_S, copy_of
from tests.support.queue import eventually
from tests.support.redis import Disk, GivenTimeServer, RedisProcess
from tests.support.tasks import an_image_task

pytestmark = pytest.mark.redis

SHORT_S = 0.3
OTHER = an_image_task("https://a.test/other.jpg", source="weibo")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "ANSWER_TIMEOUT_S", 0.2)


def fails(ledger: RedisLedger) -> None:
    with pytest.raises(SharedStateDown):
        ledger.begin(FIRST, lease_s=SHORT_S)


def begun_while_frozen(server: RedisProcess) -> RedisLedger:
    """A ledger that never heard whether it got the lease, which has run out."""
    ledger = RedisLedger(server.url)
    ledger.begin(OTHER, lease_s=SHORT_S)  # Redis knows the script from now on
    server.freeze()
    try:
        fails(ledger)
    finally:
        server.thaw()
    with redis.Redis.from_url(server.url) as client:
        eventually(lambda: client.hget(f"headrace:task:{FIRST.id}", "token"), "it is leased")
    SystemClock().sleep(2 * SHORT_S)
    return ledger


@pytest.mark.usefixtures("hasty")
def test_a_begin_that_a_frozen_redis_did_later_is_no_crash(own_redis: RedisProcess) -> None:
    ledger = begun_while_frozen(own_redis)

    assert isinstance(ledger.begin(FIRST, lease_s=LEASE_S), Lease)


@pytest.mark.usefixtures("hasty")
def test_nor_is_it_elsewhere_once_this_process_has_caught_up(own_redis: RedisProcess) -> None:
    ledger = begun_while_frozen(own_redis)
    ledger.catch_up()

    assert isinstance(RedisLedger(own_redis.url).begin(FIRST, lease_s=LEASE_S), Lease)


@pytest.mark.usefixtures("hasty")
def test_a_lease_that_could_not_be_released_is_when_redis_is_back(own_redis: RedisProcess) -> None:
    ledger = RedisLedger(own_redis.url)
    lease = ledger.begin(FIRST, lease_s=SHORT_S)
    assert isinstance(lease, Lease)
    own_redis.freeze()
    try:
        with pytest.raises(SharedStateDown):
            ledger.release(lease.task, lease.token)
    finally:
        own_redis.thaw()
    SystemClock().sleep(2 * SHORT_S)
    ledger.catch_up()

    assert isinstance(RedisLedger(own_redis.url).begin(FIRST, lease_s=LEASE_S), Lease)


def test_a_lease_that_was_given_up_in_an_outage_longer_than_it_is_no_crash(redis_url: str) -> None:
    ledger = RedisLedger(redis_url)
    lease = ledger.begin(FIRST, lease_s=SHORT_S)
    assert isinstance(lease, Lease)
    ledger.release_later(lease.task, lease.token)
    SystemClock().sleep(2 * SHORT_S)
    ledger.catch_up()

    assert isinstance(RedisLedger(redis_url).begin(FIRST, lease_s=LEASE_S), Lease)


def test_a_run_that_vanished_is_a_crash_whoever_catches_up(redis_url: str) -> None:
    RedisLedger(redis_url).begin(FIRST, lease_s=SHORT_S)
    SystemClock().sleep(2 * SHORT_S)
    ledger = RedisLedger(redis_url)
    ledger.catch_up()

    assert isinstance(ledger.begin(FIRST, lease_s=LEASE_S), Vanished)


def test_catching_up_ends_no_lease_that_another_took_over(redis_url: str) -> None:
    ledger, other = RedisLedger(redis_url), RedisLedger(redis_url)
    lease = ledger.begin(FIRST, lease_s=SHORT_S)
    assert isinstance(lease, Lease)
    ledger.release_later(lease.task, lease.token)
    SystemClock().sleep(2 * SHORT_S)
    other.begin(copy_of(FIRST, crashes=1), lease_s=LEASE_S)
    ledger.catch_up()

    assert isinstance(other.begin(copy_of(FIRST, crashes=1), lease_s=LEASE_S), Held)


def test_a_process_that_ends_releases_what_it_owes(redis_url: str) -> None:
    ledger = RedisLedger(redis_url)
    lease = ledger.begin(FIRST, lease_s=LEASE_S)
    assert isinstance(lease, Lease)
    ledger.release_later(lease.task, lease.token)
    ledger.close()

    assert isinstance(RedisLedger(redis_url).begin(FIRST, lease_s=LEASE_S), Lease)


def test_a_process_that_ends_while_redis_is_away_ends(own_redis: RedisProcess) -> None:
    ledger = RedisLedger(own_redis.url)
    ledger.release_later(FIRST, "t1")
    own_redis.kill()

    ledger.close()


# --- full ---


@pytest.fixture
def full_redis(own_redis: RedisProcess) -> Iterator[tuple[RedisLedger, redis.Redis]]:
    ledger = RedisLedger(own_redis.url)
    ledger.begin(OTHER, lease_s=LEASE_S)
    ledger.open_work("weibo")
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", "1")
        yield ledger, client


def test_a_redis_that_can_begin_nothing_is_not_back(
    full_redis: tuple[RedisLedger, redis.Redis],
) -> None:
    ledger, _ = full_redis
    ledger.open_work("weibo")
    fails(ledger)

    with pytest.raises(SharedStateDown, match="memory is full"):
        ledger.catch_up()


def test_once_it_has_memory_it_is(full_redis: tuple[RedisLedger, redis.Redis]) -> None:
    ledger, client = full_redis
    fails(ledger)
    client.config_set("maxmemory", "0")
    ledger.catch_up()

    assert isinstance(ledger.begin(FIRST, lease_s=LEASE_S), Lease)


def test_asking_whether_it_is_back_leaves_nothing_that_stays(redis_url: str) -> None:
    RedisLedger(redis_url).catch_up()

    with redis.Redis.from_url(redis_url) as client:
        assert 0 < client.pttl("headrace:asked") <= 60_000


# --- started again, with what was on its disk ---


class Restarted:
    """A ledger under a given time, and the server's disk."""

    def __init__(self, url: str) -> None:
        self.clock = FakeClock()
        server = GivenTimeServer(url, self.clock)
        self.disk = Disk(url, server)
        self.ledger = RedisLedger(url, server)

    def begin(self, task=FIRST):
        return self.ledger.begin(task, lease_s=LEASE_S)


@pytest.fixture
def world(redis_url: str) -> Restarted:
    return Restarted(redis_url)


def test_a_lease_that_ended_since_and_is_there_again_is_no_crash(world: Restarted) -> None:
    lease = world.begin()
    world.disk.save()
    world.ledger.release(FIRST, lease.token)
    world.disk.restart()
    world.clock.advance(LEASE_S)

    assert isinstance(world.begin(), Lease)


def test_a_lease_that_ran_out_while_redis_was_down_is_no_crash(world: Restarted) -> None:
    world.begin()
    world.disk.save()
    world.clock.advance(LEASE_S)
    world.disk.restart()

    assert isinstance(world.begin(), Lease)


def test_a_lease_that_still_runs_is_held_through_a_restart(world: Restarted) -> None:
    world.begin()
    world.disk.save()
    world.clock.advance(10.0)
    world.disk.restart()

    assert world.begin() == Held(20.0)


def test_a_run_that_vanishes_after_the_restart_is_a_crash(world: Restarted) -> None:
    lease = world.begin()
    world.disk.save()
    world.disk.restart()
    world.ledger.renew(lease.task, lease.token, lease_s=LEASE_S)
    world.clock.advance(LEASE_S)

    assert isinstance(world.begin(), Vanished)


def test_an_old_state_takes_no_count_from_a_newer_copy(world: Restarted) -> None:
    lease = world.begin()
    world.disk.save()
    copy = copy_of(FIRST, attempts=2, crashes=1)
    world.ledger.published(copy, delay_s=0.0, token=lease.token)
    world.disk.restart()
    world.clock.advance(LEASE_S)
    again = world.begin(copy)

    assert isinstance(again, Lease)
    assert (again.task.attempts, again.task.crashes) == (2, 1)


def test_an_old_state_lets_no_copy_run_before_its_time(world: Restarted) -> None:
    world.begin()
    world.disk.save()
    copy = copy_of(FIRST, not_before=world.clock.now() + 60.0)
    world.ledger.published(copy, delay_s=60.0, token=None)
    world.disk.restart()

    assert world.begin(copy) == Early(60.0)


def test_a_task_that_ended_since_and_is_there_again_is_repeated_at_most(world: Restarted) -> None:
    world.begin()
    world.disk.save()
    world.ledger.finish(FIRST)
    world.disk.restart()
    world.clock.advance(LEASE_S)

    assert isinstance(world.begin(), Lease)
