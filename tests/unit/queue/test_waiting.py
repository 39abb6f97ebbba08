"""What is due, in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.queue.waiting import Waiting


def test_nothing_leaves_before_it_is_due() -> None:
    waiting: Waiting[str] = Waiting()
    waiting.add(5.0, "late")

    assert waiting.take_due(4.9) == []
    assert waiting.take_due(5.0) == ["late"]


def test_the_wait_is_until_the_next_or_the_limit() -> None:
    waiting: Waiting[str] = Waiting()
    alone = waiting.wait_s(1.0, limit_s=9.0)
    waiting.add(5.0, "late")

    assert (alone, waiting.wait_s(1.0, limit_s=9.0), waiting.wait_s(1.0, limit_s=2.0)) == (9, 4, 2)


@given(st.lists(st.floats(min_value=0, max_value=100)))
def test_everything_leaves_once_and_in_order(dues: list[float]) -> None:
    waiting: Waiting[tuple[float, int]] = Waiting()
    for place, due in enumerate(dues):
        waiting.add(due, (due, place))
    left = waiting.take_due(50.0) + waiting.take_all()

    assert left == sorted((due, place) for place, due in enumerate(dues))
