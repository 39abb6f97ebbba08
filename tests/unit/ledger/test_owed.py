"""Leases to release as soon as that can be told."""

from __future__ import annotations

from core.ledger.owed import Owed
from tests.support.tasks import an_image_task

ONE, OTHER = (an_image_task(f"https://a.test/{n}.jpg") for n in range(2))


def test_nothing_is_owed_at_first() -> None:
    assert Owed().take() is None


def test_what_is_owed_is_taken_once() -> None:
    owed = Owed()
    owed.add(ONE, "t1")

    assert (owed.take(), owed.take()) == ((ONE, "t1"), None)


def test_a_lease_is_owed_once_however_often_it_is_told() -> None:
    owed = Owed()
    owed.add(ONE, "t1")
    owed.add(ONE, "t1")

    assert len(owed) == 1


def test_one_task_may_owe_several() -> None:
    owed = Owed()
    owed.add(ONE, "t1")
    owed.add(ONE, "t2")

    assert sorted(token for _, token in filter(None, [owed.take(), owed.take()])) == ["t1", "t2"]


def test_what_one_task_owes_can_be_asked_for() -> None:
    owed = Owed()
    owed.add(ONE, "t1")
    owed.add(OTHER, "t2")

    assert (owed.take(OTHER.id), owed.take(OTHER.id)) == ((OTHER, "t2"), None)
    assert len(owed) == 1
