from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.steps.gate import Gate, Marks, held_s

MARKS = Marks(high_water=20, low_water=10)


def answers(*depths: int, marks: Marks = MARKS) -> list[bool]:
    gate = Gate()
    return [gate.lets_in("press", depth, marks) for depth in depths]


def test_it_is_open_up_to_the_high_mark():
    assert answers(0, 10, 20) == [True, True, True]


def test_once_passed_it_stays_shut_until_below_the_low_mark():
    assert answers(21, 20, 15, 10, 9, 20) == [False, False, False, False, True, True]


def test_sources_are_held_apart():
    gate = Gate()

    assert not gate.lets_in("press", 21, MARKS)
    assert gate.lets_in("mill", 15, MARKS)


def test_marks_that_changed_count_at_once():
    gate = Gate()
    gate.lets_in("press", 21, MARKS)

    assert gate.lets_in("press", 21, Marks(high_water=100, low_water=50))


@pytest.mark.parametrize("marks", [Marks(1, 1), Marks(20, 20)])
def test_a_source_with_nothing_open_is_let_in_whatever_the_marks(marks):
    assert answers(21, 0, marks=marks) == [False, True]


@given(st.lists(st.integers(0, 30)))
def test_between_the_marks_nothing_changes(depths):
    gate, before = Gate(), True
    for depth in depths:
        now = gate.lets_in("press", depth, MARKS)
        between = MARKS.low_water <= depth <= MARKS.high_water

        assert now is before if between else now is (depth < MARKS.low_water)
        before = now


@pytest.mark.parametrize(
    ("depth", "rate", "wait_s"),
    [
        (1010, 10.0, 100.0),  # what the backlog takes down to the low mark
        (11, 10.0, 5.0),
        (100_000, 10.0, 300.0),
        (0, 10.0, 5.0),
    ],
)
def test_held_work_waits_as_long_as_the_backlog_takes_within_bounds(depth, rate, wait_s):
    assert held_s(depth, MARKS, rate) == wait_s
