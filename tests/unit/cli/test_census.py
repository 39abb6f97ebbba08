from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cli.census import Census, Standing


@pytest.fixture
def census() -> Iterator[Census]:
    census = Census()
    yield census
    census.close()


def test_a_media_is_found_once(census: Census):
    assert census.find("a")
    assert not census.find("a")
    assert census.counts()[Standing.INCOMPLETE] == 1


def test_what_this_run_got_is_done_whatever_was_thought_before(census: Census):
    census.find("a")
    census.recognise("a", Standing.KNOWN)

    census.settle("a", Standing.DONE, 10)

    assert census.standing("a") is Standing.DONE
    assert census.got_bytes == 10


def test_an_older_end_does_not_override_what_this_run_did(census: Census):
    census.find("a")
    census.settle("a", Standing.DONE, 10)

    census.recognise("a", Standing.KNOWN)

    assert census.standing("a") is Standing.DONE


def test_a_repeated_end_is_counted_once(census: Census):
    census.settle("a", Standing.DONE, 10)
    census.settle("a", Standing.DONE, 10)

    assert census.counts()[Standing.DONE] == 1
    assert census.got_bytes == 10


def test_a_media_is_told_once_even_if_nobody_met_it(census: Census):
    assert census.tell("a")
    assert not census.tell("a")
    assert census.counts().total() == 1


def test_a_video_that_ended_incomplete_is_told_from_one_without_an_end(census: Census):
    census.find("open")
    census.settle("holed", Standing.INCOMPLETE)
    census.settle("holed", Standing.INCOMPLETE)

    assert census.counts()[Standing.INCOMPLETE] == 2
    assert census.holed == 1


def test_a_video_that_was_mended_is_incomplete_no_more(census: Census):
    census.find("a")
    census.recognise("a", Standing.INCOMPLETE)
    before = census.holed

    census.settle("a", Standing.DONE, 10)

    assert (before, census.holed) == (1, 0)


def test_a_media_on_two_old_pages_is_to_be_seen_to_once(census: Census):
    assert census.scan("a")
    assert not census.scan("a")
    assert census.counts()[Standing.INCOMPLETE] == 1


def test_a_media_that_a_new_page_showed_first_is_to_be_seen_to_all_the_same(census: Census):
    census.find("a")

    assert census.scan("a")


def test_what_this_run_ended_is_no_leftover_however_it_ended(census: Census):
    census.find("a")
    census.settle("a", Standing.FAILED)
    census.settle("b", Standing.DONE)

    assert not census.scan("a")
    assert not census.scan("b")


def test_what_failed_before_and_is_tried_again_is_open(census: Census):
    census.find("a")
    census.recognise("a", Standing.FAILED)
    census.reopen("a")

    assert census.standing("a") is Standing.INCOMPLETE
    assert census.holed == 0


def test_what_this_run_ended_is_not_opened_by_an_older_page(census: Census):
    census.settle("a", Standing.FAILED)
    census.reopen("a")

    assert census.standing("a") is Standing.FAILED


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["find", "settle", "recognise", "tell", "scan", "reopen"]),
        st.sampled_from("abc"),
        st.sampled_from(Standing),
    ),
    max_size=30,
)


@given(MOVES)
def test_the_counts_are_those_of_the_standings(moves: list[tuple[str, str, Standing]]):
    census = Census()
    for move, media, standing in moves:
        if move in ("settle", "recognise"):
            getattr(census, move)(media, standing)
        else:
            getattr(census, move)(media)
    standings = [census.standing(media) for media in "abc"]
    counts = census.counts()
    census.close()

    for standing in Standing:
        assert counts[standing] == standings.count(standing)
