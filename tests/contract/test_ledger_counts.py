"""What every ledger promises of crashes, counts, generations and open work."""

from __future__ import annotations

import pytest

from core.model.states import Event, move
from core.ports import Early, Lease, OpenWork, Superseded, Vanished
from tests.support.ledger_world import FIRST, LEASE_S, LEDGERS, World, copy_of, crash, ledger_world
from tests.support.tasks import a_discover_task, a_fragment_task


@pytest.fixture(params=LEDGERS)
def world(request: pytest.FixtureRequest) -> World:
    return ledger_world(request)


# --- crashes ---


def test_a_lease_that_ran_out_has_vanished(world: World) -> None:
    crash(world)

    assert world.begin() == Vanished(FIRST)


def test_a_vanished_run_stays_vanished_until_somebody_acts(world: World) -> None:
    crash(world)
    world.begin()

    assert world.begin() == Vanished(FIRST)


def test_the_copy_that_tells_of_a_crash_runs_and_counts_it(world: World) -> None:
    crash(world)
    copy = world.publish(copy_of(FIRST, crashes=1))

    assert world.lease(copy).task.crashes == 1


def test_a_copy_that_the_crash_kept_from_being_told_of_runs(world: World) -> None:
    crash(world)

    assert isinstance(world.begin(copy_of(FIRST)), Lease)


def test_crashes_add_up_over_copies(world: World) -> None:
    task = FIRST
    for _ in range(4):
        crash(world, task)
        vanished = world.begin(task)
        assert isinstance(vanished, Vanished)
        failed = move(vanished.task, Event.CRASHED, now=world.clock.now())
        task = world.publish(copy_of(failed))

    assert world.lease(task).task.crashes == 4


def test_progress_wipes_the_crashes_so_far(world: World) -> None:
    task = world.publish(copy_of(FIRST, crashes=5))
    world.renew(world.lease(task), progress=True)
    world.clock.advance(LEASE_S)

    answer = world.begin(task)

    assert isinstance(answer, Vanished)
    assert answer.task.crashes == 0


def test_crashes_after_progress_count_again(world: World) -> None:
    task = world.publish(copy_of(FIRST, crashes=5))
    world.renew(world.lease(task), progress=True)
    world.clock.advance(LEASE_S)
    copy = world.publish(copy_of(task, crashes=1))

    assert world.lease(copy).task.crashes == 1


def test_a_newer_copy_without_counts_does_not_wipe_the_crashes(world: World) -> None:
    copy = world.publish(copy_of(FIRST, crashes=3))
    unaware = world.publish(copy_of(copy, crashes=0))

    assert world.lease(unaware).task.crashes == 3


# --- counts ---


def test_the_larger_count_of_attempts_wins(world: World) -> None:
    copy = world.publish(copy_of(FIRST, attempts=3))

    assert world.lease(copy.model_copy(update={"attempts": 1})).task.attempts == 3


def test_a_flush_does_not_reset_what_the_message_carries(world: World) -> None:
    copy = world.publish(copy_of(FIRST, attempts=3, crashes=2))
    world.flush()

    task = world.lease(copy).task

    assert (task.attempts, task.crashes) == (3, 2)


# --- generations ---


def test_an_older_generation_is_superseded(world: World) -> None:
    world.publish(FIRST.model_copy(update={"generation": 2}))

    assert world.begin() == Superseded()


def test_a_newer_generation_starts_with_nothing_counted(world: World) -> None:
    world.publish(copy_of(FIRST, attempts=4, crashes=7), delay_s=3600.0)
    task = world.lease(FIRST.model_copy(update={"generation": 2})).task

    assert (task.attempts, task.crashes) == (0, 0)


def test_a_newer_generation_does_not_wait_for_the_older_ones_lease(world: World) -> None:
    world.lease()

    assert isinstance(world.begin(FIRST.model_copy(update={"generation": 2})), Lease)


def test_an_older_generation_s_copy_is_not_remembered(world: World) -> None:
    newer = world.publish(FIRST.model_copy(update={"generation": 2}))
    world.publish(copy_of(FIRST), delay_s=60.0)

    assert isinstance(world.begin(newer), Lease)


# --- open work ---


def test_leased_tasks_are_open_work(world: World) -> None:
    world.lease()

    assert world.open_work() == OpenWork(leased=1, delayed=0)


def test_delayed_tasks_are_open_work(world: World) -> None:
    world.publish(copy_of(FIRST), delay_s=60.0)

    assert world.open_work() == OpenWork(leased=0, delayed=1)


def test_a_task_counts_once_however_often_it_is_published(world: World) -> None:
    copy = copy_of(FIRST)
    for _ in range(3):
        copy = world.publish(copy_of(copy), delay_s=60.0)

    assert world.open_work() == OpenWork(leased=0, delayed=1)


def test_a_copy_published_at_once_is_not_delayed(world: World) -> None:
    copy = world.publish(copy_of(FIRST), delay_s=60.0)
    world.publish(copy_of(copy), delay_s=0.0)

    assert world.open_work() == OpenWork(leased=0, delayed=0)


def test_a_delay_that_is_over_is_not_counted(world: World) -> None:
    world.publish(copy_of(FIRST), delay_s=60.0)
    world.clock.advance(60.0)

    assert world.open_work() == OpenWork(leased=0, delayed=0)


def test_a_lease_that_ran_out_is_not_counted(world: World) -> None:
    crash(world)

    assert world.open_work() == OpenWork(leased=0, delayed=0)


def test_a_leased_task_is_not_delayed_too(world: World) -> None:
    copy = world.publish(copy_of(FIRST), delay_s=60.0)
    world.clock.advance(60.0)
    world.lease(copy)

    assert world.open_work() == OpenWork(leased=1, delayed=0)


def test_a_finished_task_is_no_open_work(world: World) -> None:
    world.publish(copy_of(FIRST), delay_s=60.0)
    world.ledger.finish(FIRST)

    assert world.open_work() == OpenWork(leased=0, delayed=0)


def test_an_early_copy_is_counted_again_after_a_flush(world: World) -> None:
    copy = copy_of(FIRST, not_before=world.clock.now() + 60.0)
    world.flush()
    world.begin(copy)

    assert world.open_work() == OpenWork(leased=0, delayed=1)


def test_what_was_delayed_and_is_purged_is_no_open_work(world: World) -> None:
    for task in (FIRST, a_discover_task(source="weibo"), a_fragment_task(source="weibo")):
        world.publish(copy_of(task), delay_s=3600.0)
    world.ledger.forget_delayed("weibo")

    assert world.open_work() == OpenWork(leased=0, delayed=0)


def test_a_purge_leaves_what_is_leased_and_what_other_sources_delay(world: World) -> None:
    other = FIRST.model_copy(update={"id": "o1", "source": "other"})
    world.lease()
    world.publish(copy_of(other), delay_s=60.0)
    world.ledger.forget_delayed("weibo")

    assert world.open_work() == OpenWork(leased=1, delayed=0)
    assert world.ledger.open_work("other") == OpenWork(leased=0, delayed=1)


def test_what_is_not_of_the_purge_is_counted_again_and_keeps_its_time_and_counts(
    world: World,
) -> None:
    copy = world.publish(copy_of(FIRST, attempts=3), delay_s=60.0)
    world.ledger.forget_delayed("weibo")

    assert world.begin(copy) == Early(60.0)
    assert world.open_work() == OpenWork(leased=0, delayed=1)
    world.clock.advance(60.0)
    assert world.lease(copy).task.attempts == 3


def test_sources_are_counted_apart(world: World) -> None:
    world.lease()

    assert world.ledger.open_work("other") == OpenWork(leased=0, delayed=0)


def test_pages_of_feeds_are_open_work_and_told_apart(world: World) -> None:
    world.lease()
    world.lease(a_discover_task(source="weibo", page=1))
    world.publish(copy_of(a_discover_task(source="weibo", page=2)), delay_s=60.0)

    assert world.open_work() == OpenWork(leased=2, delayed=1, pages=2)


def test_pieces_of_videos_are_open_work_and_told_apart(world: World) -> None:
    world.lease()
    world.lease(a_fragment_task(piece=0, source="weibo"))
    for piece in (1, 2):
        waits = copy_of(a_fragment_task(piece=piece, source="weibo"))
        world.publish(waits, delay_s=60.0)

    assert world.open_work() == OpenWork(leased=2, delayed=2, pages=0, fragments=3)


def test_a_page_that_ended_is_no_open_work(world: World) -> None:
    page = a_discover_task(source="weibo")
    world.lease(page)
    world.ledger.finish(page)

    assert world.open_work() == OpenWork(leased=0, delayed=0, pages=0)
