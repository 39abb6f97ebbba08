"""What only the ledger in memory does."""

from __future__ import annotations

from core.ledger.memory import MemoryLedger
from core.ports import Lease, OpenWork, Superseded
from tests.support.clock import FakeClock
from tests.support.tasks import an_image_task

WEEK_S = 7 * 86_400.0
TASK = an_image_task(source="weibo")


def test_finished_tasks_leave_nothing() -> None:
    ledger = MemoryLedger(FakeClock())
    for number in range(3000):
        task = an_image_task(f"https://a.test/{number}.jpg", source="weibo")
        ledger.begin(task, lease_s=30.0)
        ledger.finish(task)

    assert ledger._entries == {}
    assert ledger.open_work("weibo") == OpenWork(leased=0, delayed=0)


def test_first_copies_leave_nothing() -> None:
    ledger = MemoryLedger(FakeClock())
    ledger.published(TASK, delay_s=0.0, token=None)

    assert ledger._entries == {}


def test_what_nobody_finishes_goes_after_a_week() -> None:
    clock = FakeClock()
    ledger = MemoryLedger(clock)
    ledger.published(TASK.model_copy(update={"serial": 1}), delay_s=60.0, token=None)
    clock.advance(61.0)
    assert ledger.begin(TASK, lease_s=30.0) == Superseded()
    clock.advance(7 * 86_400.0)

    assert isinstance(ledger.begin(TASK, lease_s=30.0), Lease)


def test_left_over_entries_are_swept() -> None:
    clock = FakeClock()
    ledger = MemoryLedger(clock)
    for number in range(5000):
        task = an_image_task(f"https://a.test/{number}.jpg", source="weibo", serial=1)
        ledger.published(task, delay_s=1.0, token=None)
        clock.advance(3600.0)

    assert len(ledger._entries) < 2500


def test_a_video_that_has_ended_leaves_nothing() -> None:
    ledger = MemoryLedger(FakeClock())
    for piece in range(100):
        ledger.join("m1", 1, piece)
    ledger.forget_join("m1")

    assert ledger._joins._of_media == {}


def test_a_newer_generation_frees_the_older_ones_pieces() -> None:
    ledger = MemoryLedger(FakeClock())
    for piece in range(100):
        ledger.join("m1", 1, piece)
    ledger.join("m1", 2, 0)

    assert ledger._joins._of_media["m1"].pieces == {0}


def test_pieces_that_nobody_forgets_go_after_a_week_without_a_word() -> None:
    clock = FakeClock()
    ledger = MemoryLedger(clock)
    ledger.join("m1", 1, 0)
    clock.advance(WEEK_S - 1)
    counted = ledger.join("m1", 1, 1)
    clock.advance(WEEK_S)

    assert counted == 2
    assert ledger.join("m1", 1, 2) == 1


def test_videos_that_nobody_forgets_are_swept() -> None:
    clock = FakeClock()
    ledger = MemoryLedger(clock)
    for number in range(1000):
        ledger.join(f"m{number}", 1, 0)
        clock.advance(86_400.0)

    assert len(ledger._joins._of_media) < 100


def test_a_task_that_nobody_finishes_is_held_for_a_week() -> None:
    clock = FakeClock()
    ledger = MemoryLedger(clock)
    ledger.begin(TASK, lease_s=30.0)
    clock.advance(WEEK_S)
    held = ledger.holds(TASK.id)
    clock.advance(30.0)

    assert held
    assert not ledger.holds(TASK.id)
