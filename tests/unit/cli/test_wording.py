import pytest

from core.cli.wording import cause, count, duration, printable, size, table
from core.model.end import Failure


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 KB"),
        (34_499, "34 KB"),
        (1_234_567, "1.2 MB"),
        (123_456_789, "123 MB"),
        (5_000_000_000, "5.0 GB"),
        (7e15, "7000 TB"),
    ],
)
def test_a_size_is_said_in_decimal_units(size_bytes: float, said: str):
    assert size(size_bytes) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.04, "0.0 s"), (8.43, "8.4 s"), (9.97, "10 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min")],
)
def test_a_duration_is_said_as_people_say_it(seconds: float, said: str):
    assert duration(seconds) == said


def test_one_is_not_several():
    assert count(1, "page") == "1 page"
    assert count(1_200, "page") == "1,200 pages"
    assert count(2, "media", "media") == "2 media"


def test_nothing_that_a_feed_says_moves_the_cursor_or_begins_a_line():
    said = printable("a\x1b[31mred\nnext\r\x07\u202eend ä")

    assert "\x1b" not in said
    assert "\n" not in said
    assert "\u202e" not in said
    assert said.endswith("end ä")


def test_a_cause_has_its_status_where_there_was_one():
    failure = Failure(reason="gone", message="", passing=False, http_status=404)

    assert cause(failure) == "404 gone"
    assert cause(failure.model_copy(update={"http_status": None})) == "gone"


def test_columns_are_aligned_and_nothing_is_cut():
    lines = list(table(("source", "done"), [("feed", "9"), ("a-longer-name", "1,000")]))

    assert lines == ["source          done", "feed               9", "a-longer-name  1,000"]
