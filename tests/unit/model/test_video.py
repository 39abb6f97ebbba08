"""What pieces are called, for people."""

from __future__ import annotations

import pytest

from core.model.video import listed, pieces_in_words


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([3], "piece 4"),
        ({7, 3}, "pieces 4, 8"),
        (range(25), "pieces 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20"),
    ],
)
def test_pieces_are_counted_from_one_and_in_order(pieces, words):
    assert pieces_in_words(pieces).startswith(words)


def test_a_long_list_of_pieces_is_cut_and_says_how_many_more_there_are():
    assert pieces_in_words(range(1025)).endswith("19, 20 and 1,005 more")


def test_the_sources_own_numbers_stay_as_they_are():
    assert listed([9, 4]) == "4, 9"
