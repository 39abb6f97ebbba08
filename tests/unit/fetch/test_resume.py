from __future__ import annotations

from typing import Any

import pytest

from core.fetch.resume import Course, Plan, Verdict, judge, plan, validators_of
from core.model.partial import Validators

URL = "http://cdn.example/a.jpg"
DATE = "Tue, 14 Jul 2026 03:33:20 GMT"
LONG_BEFORE = "Tue, 14 Jul 2026 03:00:00 GMT"
JUST_BEFORE = "Tue, 14 Jul 2026 03:33:19 GMT"


def _held(**more: Any) -> Validators:
    return Validators(url=URL, **{"etag": '"1"', "total_bytes": 100} | more)


# --- what to ask for ---


def test_nothing_held_asks_for_the_whole_file_uncoded() -> None:
    assert plan(None, URL, 0).headers == {"Accept-Encoding": "identity"}


def test_held_bytes_are_continued_under_if_range_with_a_strong_etag() -> None:
    asked = plan(_held(), URL, 40)

    assert asked.headers == {
        "Accept-Encoding": "identity",
        "Range": "bytes=40-",
        "If-Range": '"1"',
    }


def test_a_safe_date_guards_where_there_is_no_etag() -> None:
    assert plan(_held(etag=None, last_modified=LONG_BEFORE), URL, 40) == Plan(40, LONG_BEFORE)


@pytest.mark.parametrize("etag", ['W/"1"', "unquoted", None])
def test_without_a_strong_validator_held_bytes_are_not_continued(etag: str | None) -> None:
    assert plan(_held(etag=etag), URL, 40) == Plan()


def test_a_weak_etag_is_not_replaced_by_its_date() -> None:
    assert plan(_held(etag='W/"1"', last_modified=LONG_BEFORE), URL, 40) == Plan()


def test_a_file_held_whole_is_asked_about_even_without_a_validator() -> None:
    assert plan(_held(etag=None), URL, 100) == Plan(100, None)


def test_more_than_was_told_is_not_continued() -> None:
    assert plan(_held(), URL, 101) == Plan()


def test_bytes_of_another_address_are_not_continued() -> None:
    assert plan(_held(), "http://cdn.example/b.jpg", 40) == Plan()


def test_bytes_that_nothing_is_remembered_of_are_not_continued() -> None:
    assert plan(None, URL, 40) == Plan()


@pytest.mark.parametrize(
    ("modified", "kept"),
    [(LONG_BEFORE, LONG_BEFORE), (JUST_BEFORE, None), ("nonsense", None), (None, None)],
)
def test_a_date_is_remembered_only_when_the_file_was_still_for_a_minute(
    modified: str | None, kept: str | None
) -> None:
    headers = {"Date": DATE} | ({"Last-Modified": modified} if modified else {})

    assert validators_of(URL, headers, 100).last_modified == kept


# --- what an answer is good for ---

ASKED = Plan(40, '"1"')


def _part(span: str, told: int | None = 60, **headers: str) -> Verdict:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return judge(ASKED, 206, {"Content-Range": span} | named, told, _held())


def test_the_right_part_is_appended() -> None:
    assert _part("bytes 40-99/100") == Verdict(Course.APPEND, 100)


def test_a_part_of_unknown_total_keeps_the_total_that_was_told_before() -> None:
    assert _part("bytes 40-99/*") == Verdict(Course.APPEND, 100)


@pytest.mark.parametrize(
    "span",
    [
        "bytes 39-99/100",
        "bytes 0-99/100",
        "bytes 40-99/99",
        "bytes 40-100/100",
        "bytes 40-39/100",
        "bytes 40-99/101",
        "40-99/100",
        "",
    ],
)
def test_a_part_that_does_not_fit_makes_us_ask_again(span: str) -> None:
    assert _part(span, told=None).course is Course.AGAIN


def test_a_part_whose_length_contradicts_its_range_makes_us_ask_again() -> None:
    assert _part("bytes 40-99/100", told=59).course is Course.AGAIN


def test_row_27_a_part_of_another_version_makes_us_ask_again() -> None:
    """inputs.tsv row 27, for a server that ignores If-Range."""
    assert _part("bytes 40-99/100", ETag='"2"').course is Course.AGAIN


def test_row_27_a_part_of_another_date_makes_us_ask_again() -> None:
    held = _held(etag=None, last_modified=LONG_BEFORE)
    headers = {"Content-Range": "bytes 40-99/100", "Last-Modified": JUST_BEFORE}

    assert judge(Plan(40, LONG_BEFORE), 206, headers, 60, held).course is Course.AGAIN


def test_row_8_a_whole_answer_to_a_range_overwrites() -> None:
    """inputs.tsv row 8: appending it would make the file grow with every retry."""
    assert judge(ASKED, 200, {}, 100, _held()) == Verdict(Course.OVERWRITE, 100)


def test_a_whole_answer_as_one_range_overwrites() -> None:
    headers = {"Content-Range": "bytes 0-99/100"}

    assert judge(Plan(), 206, headers, 100, None) == Verdict(Course.OVERWRITE, 100)


@pytest.mark.parametrize("coding", ["gzip", "br", "GZIP", "identity, zstd"])
@pytest.mark.parametrize("status", [200, 206, 416])
def test_a_coded_answer_is_never_used(coding: str, status: int) -> None:
    headers = {"Content-Encoding": coding, "Content-Range": "bytes 40-99/100"}

    assert judge(ASKED, status, headers, 60, _held()).course is Course.AGAIN
    assert judge(Plan(), status, headers, 60, None).course is Course.REFUSE


def test_a_coding_that_is_none_does_not_matter() -> None:
    assert judge(Plan(), 200, {"Content-Encoding": "binary"}, 9, None).course is Course.OVERWRITE


def test_row_9_a_416_of_just_our_size_completes() -> None:
    """inputs.tsv row 9."""
    asked, headers = Plan(100, '"1"'), {"Content-Range": "bytes */100"}

    assert judge(asked, 416, headers, 0, _held()) == Verdict(Course.COMPLETE, 100)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Range": "bytes */99"},
        {"Content-Range": "bytes */*"},
        {"Content-Range": "bytes */100", "ETag": '"2"'},
    ],
)
def test_any_other_416_makes_us_ask_again_from_zero(headers: dict[str, str]) -> None:
    assert judge(Plan(100, '"1"'), 416, headers, 0, _held()).course is Course.AGAIN


def test_a_416_of_our_size_but_not_of_the_size_once_told_makes_us_ask_again() -> None:
    headers = {"Content-Range": "bytes */40"}

    assert judge(ASKED, 416, headers, 0, _held()).course is Course.AGAIN


def test_a_416_to_a_plain_request_is_refused() -> None:
    assert judge(Plan(), 416, {"Content-Range": "bytes */0"}, 0, None).course is Course.REFUSE
