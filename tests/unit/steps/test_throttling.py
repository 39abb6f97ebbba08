from __future__ import annotations

import pytest

from core.steps.throttling import FIRST_BLOCK_S, LONGEST_BLOCK_S, WITHOUT_A_WORD_S, Throttling


@pytest.mark.parametrize("told", [0.0, 0.2])
def test_a_source_that_names_no_usable_time_is_left_alone_longer_each_time(told):
    throttling = Throttling()

    blocks = [throttling.block_s("press", told) for _ in range(12)]

    assert blocks[:4] == [FIRST_BLOCK_S, 2.0, 4.0, 8.0]
    assert blocks[-1] == LONGEST_BLOCK_S


def test_a_source_is_left_alone_as_long_as_it_asks():
    assert Throttling().block_s("press", 90.0) == 90.0


def test_a_source_that_says_nothing_is_left_alone_for_a_while():
    assert Throttling().block_s("press", None) == WITHOUT_A_WORD_S


def test_an_answer_begins_the_count_anew_and_no_source_counts_for_another():
    throttling = Throttling()
    throttling.block_s("press", 0.0)
    throttling.block_s("press", 0.0)

    throttling.answered("press")

    assert throttling.block_s("press", 0.0) == FIRST_BLOCK_S
    assert throttling.block_s("other", 0.0) == FIRST_BLOCK_S
