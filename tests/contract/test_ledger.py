"""What every ledger promises, in memory and in Redis alike: leases, copies, delays."""

from __future__ import annotations

import pytest

from core.model.task import State
from core.ports import Early, Held, Lease, OpenWork, Superseded, Vanished
from tests.support.ledger_world import FIRST, LEASE_S, LEDGERS, World, copy_of, crash, ledger_world


@pytest.fixture(params=LEDGERS)
def world(request: pytest.FixtureRequest) -> World:
    return ledger_world(request)


# --- the lease ---


def test_an_unknown_task_is_leased(world: World) -> None:
    lease = world.lease()

    assert lease.task.state is State.LEASED
    assert lease.task.lease_until == world.clock.now() + LEASE_S


def test_a_leased_task_is_held_until_the_lease_ends(world: World) -> None:
    world.lease()
    world.clock.advance(10.0)

    assert world.begin() == Held(20.0)


def test_leases_of_other_tasks_are_others(world: World) -> None:
    world.lease()

    assert isinstance(world.begin(FIRST.model_copy(update={"id": "image-m2"})), Lease)


def test_every_lease_has_a_token_of_its_own(world: World) -> None:
    first = world.lease()
    world.ledger.release(FIRST, first.token)

    assert world.lease().token != first.token


def test_a_renewed_lease_is_held_longer(world: World) -> None:
    lease = world.lease()
    world.clock.advance(20.0)

    assert world.renew(lease)
    assert world.begin() == Held(30.0)


def test_a_lease_that_ran_out_may_be_renewed_while_nobody_took_it(world: World) -> None:
    lease = world.lease()
    world.clock.advance(40.0)

    assert world.renew(lease)
    assert world.begin() == Held(30.0)


def test_a_lease_that_another_token_holds_is_not_renewed(world: World) -> None:
    lost = world.lease()
    world.clock.advance(40.0)
    world.lease(world.publish(copy_of(FIRST, crashes=1)))

    assert not world.renew(lost)


def test_a_lease_that_was_forgotten_is_taken_anew(world: World) -> None:
    lease = world.lease()
    world.flush()

    assert world.renew(lease)
    assert world.begin() == Held(30.0)


def test_a_lease_of_an_older_generation_is_not_renewed(world: World) -> None:
    lease = world.lease()
    world.publish(FIRST.model_copy(update={"generation": 2}))

    assert not world.renew(lease)


def test_a_released_task_may_run_at_once(world: World) -> None:
    world.ledger.release(FIRST, world.lease().token)

    assert isinstance(world.begin(), Lease)


def test_a_release_counts_nothing(world: World) -> None:
    world.ledger.release(FIRST, world.lease().token)

    task = world.lease().task

    assert (task.attempts, task.crashes) == (0, 0)


def test_a_released_task_is_no_open_work(world: World) -> None:
    world.ledger.release(FIRST, world.lease().token)

    assert world.open_work() == OpenWork(leased=0, delayed=0)


def test_a_release_with_a_lost_token_releases_nothing(world: World) -> None:
    world.lease()
    world.ledger.release(FIRST, "another")

    assert isinstance(world.begin(), Held)


def test_a_finished_task_is_forgotten_whoever_holds_it(world: World) -> None:
    world.lease()
    world.ledger.finish(FIRST)

    assert isinstance(world.begin(), Lease)


def test_the_end_of_an_older_generation_leaves_the_newer_alone(world: World) -> None:
    newer = FIRST.model_copy(update={"generation": 2})
    world.lease(world.publish(newer))
    world.ledger.finish(FIRST)

    assert isinstance(world.begin(newer), Held)


# --- copies ---


def test_a_lower_copy_is_superseded(world: World) -> None:
    lease = world.lease()
    world.publish(copy_of(FIRST), token=lease.token)

    assert world.begin() == Superseded()


def test_the_highest_copy_runs(world: World) -> None:
    lease = world.lease()
    copy = world.publish(copy_of(FIRST), token=lease.token)

    assert isinstance(world.begin(copy), Lease)


def test_a_copy_that_ran_supersedes_the_lower_ones_though_nobody_told_of_it(world: World) -> None:
    lease = world.lease(copy_of(FIRST))
    world.ledger.release(lease.task, lease.token)

    assert world.begin() == Superseded()


def test_publishing_ends_the_publishers_lease(world: World) -> None:
    lease = world.lease()
    world.publish(copy_of(FIRST), token=lease.token)

    assert world.open_work() == OpenWork(leased=0, delayed=0)


def test_publishing_leaves_anothers_lease_alone(world: World) -> None:
    holder = world.lease()
    copy = world.publish(copy_of(FIRST))

    assert world.begin(copy) == Held(30.0)
    assert world.renew(holder)


def test_a_late_lower_copy_changes_nothing(world: World) -> None:
    lease = world.lease()
    second = world.publish(copy_of(copy_of(FIRST)), token=lease.token)
    world.publish(copy_of(FIRST), delay_s=60.0)

    assert isinstance(world.begin(second), Lease)


def test_a_first_copy_published_again_hides_no_crash(world: World) -> None:
    crash(world)
    world.publish(FIRST)

    assert isinstance(world.begin(), Vanished)


# --- delays ---


def test_a_delayed_copy_does_not_run_early(world: World) -> None:
    copy = world.publish(copy_of(FIRST), delay_s=60.0)
    world.clock.advance(45.0)

    assert world.begin(copy) == Early(15.0)


def test_a_delayed_copy_runs_in_time(world: World) -> None:
    copy = world.publish(copy_of(FIRST), delay_s=60.0)
    world.clock.advance(60.0)

    assert isinstance(world.begin(copy), Lease)


def test_the_ledgers_time_counts_and_not_the_message_s(world: World) -> None:
    wrong = world.clock.now() + 9999.0
    copy = world.publish(copy_of(FIRST, not_before=wrong), delay_s=60.0)
    world.clock.advance(60.0)

    assert isinstance(world.begin(copy), Lease)


def test_the_message_s_time_counts_where_the_ledger_was_flushed(world: World) -> None:
    copy = copy_of(FIRST, not_before=world.clock.now() + 60.0)
    world.publish(copy, delay_s=60.0)
    world.flush()
    world.clock.advance(15.0)

    assert world.begin(copy) == Early(45.0)


def test_of_two_copies_of_one_serial_the_longer_delay_counts(world: World) -> None:
    copy = world.publish(copy_of(FIRST), delay_s=60.0)
    world.publish(copy, delay_s=5.0)

    assert world.begin(copy) == Early(60.0)


def test_a_newer_copy_need_not_wait_for_an_older_ones_time(world: World) -> None:
    copy = world.publish(copy_of(FIRST), delay_s=60.0)
    newer = world.publish(copy_of(copy), delay_s=0.0)

    assert isinstance(world.begin(newer), Lease)
