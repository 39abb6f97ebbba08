"""Whatever a server answers to a range, a span is never taken from anywhere else in the file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.fetch.resume import Course, judge, plan
from core.model.partial import Validators
from core.model.request import Span

URL = "http://cdn.example/a.ts"
SMALL = st.integers(0, 12)
SPANS = st.builds(Span, SMALL, st.integers(1, 12))
HELD = st.builds(
    Validators,
    url=st.sampled_from([URL, "http://cdn.example/b.ts"]),
    etag=st.sampled_from([None, '"1"', '"2"', 'W/"1"']),
    total_bytes=st.none() | SMALL,
    start=SMALL,
)
RANGES = st.builds(
    "bytes {}-{}/{}".format, SMALL, st.integers(0, 24), st.just("*") | st.integers(0, 30)
) | st.sampled_from(["", "bytes */12", "nonsense"])
HEADERS = st.fixed_dictionaries(
    {"Content-Range": RANGES}, optional={"ETag": st.sampled_from(['"1"', '"2"'])}
)
STATUS = st.sampled_from([200, 206, 416, 204])


@given(st.none() | HELD, SMALL, SPANS)
def test_what_is_asked_for_is_what_is_missing_of_the_span(held, size, span):
    asked = plan(held, URL, size, span)
    first, last = asked.headers["Range"].removeprefix("bytes=").split("-")

    assert asked.start in (0, size)
    assert (int(first), int(last)) == (span.start + asked.start, span.end - 1)
    assert ("If-Range" in asked.headers) == (asked.start > 0)


@given(st.none() | HELD, SMALL, SPANS, STATUS, HEADERS, st.none() | st.integers(0, 40))
def test_a_body_is_used_only_where_it_stands_where_it_should(
    held, size, span, status, headers, told
):
    asked = plan(held, URL, size, span)
    verdict = judge(asked, status, headers, told, held)

    match verdict.course:
        case Course.APPEND | Course.OVERWRITE:
            assert status == 206
            assert headers["Content-Range"].startswith(f"bytes {asked.first}-{span.end - 1}/")
            assert told in (None, span.end - asked.first)
            assert (verdict.course is Course.APPEND) == (asked.start > 0)
        case Course.CUT:
            assert status not in (206, 416)
            assert told is None or told >= span.end
        case Course.AGAIN:
            assert asked.start > 0
        case Course.REFUSE:
            assert asked.start == 0
        case Course.COMPLETE:
            raise AssertionError("a span is complete when it was counted, never by word")


@given(st.none() | HELD, SMALL, SPANS)
def test_bytes_are_gone_on_with_only_under_a_guard(held, size, span):
    asked = plan(held, URL, size, span)

    if asked.start:
        assert held is not None
        assert (held.url, held.start) == (URL, span.start)
        assert asked.guard == held.etag
        assert asked.start < span.length
