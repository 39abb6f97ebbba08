"""A stretch of a file: from the right range, or cut out of the whole file, or not at all."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from core.errors import (
    EmptyBody,
    HeadraceError,
    LeaseLost,
    Malformed,
    NotMedia,
    Permanent,
    ServerTrouble,
    TooLarge,
    Truncated,
)
from core.model.partial import Validators
from core.model.request import Request, Span
from tests.support.fetching import HeldPartial, Net, terms_of
from tests.support.site import (
    Behaviour,
    Exchange,
    Site,
    answer,
    chunked,
    cut,
    gzipped,
    no_length,
    raw,
    whole,
)

BODY = bytes(range(1, 251)) * 80  # 20,000 bytes that differ wherever a span could slip to
SPAN = Span(6000, 5000)
PART = BODY[6000:11_000]
PAGE = b"<!DOCTYPE html><title>Expired</title>" + b"<p>Please log in." * 1000


def _held(tmp_path: Path, site: Site, body: bytes, **told: object) -> HeldPartial:
    remembered = {"url": site.url("/x"), "etag": '"1"', "total_bytes": len(BODY), "start": 6000}
    return HeldPartial(tmp_path / "partial", body, Validators.model_validate(remembered | told))


def _part(body: bytes, span: str, status: int = 206, **headers: str) -> Behaviour:
    return answer(status, {"Content-Range": span} | headers, body)


# --- what a span is ---


@pytest.mark.parametrize(("start", "length"), [(-1, 5), (0, 0), (5, -1)])
def test_a_span_that_no_file_has_is_malformed(start: int, length: int) -> None:
    with pytest.raises(Malformed) as caught:
        Span(start, length)

    assert caught.value.reason == "bad_range"


def test_a_span_names_itself_for_people() -> None:
    assert str(SPAN) == "bytes 6,000 to 10,999"


# --- from a range ---


def test_just_the_span_is_asked_for_and_kept(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY)

    got = web.download(site.url("/x"), partial, span=SPAN)

    assert site.requests[0].headers.get_all("Range") == ["bytes=6000-10999"]
    assert partial.path.read_bytes() == PART
    assert (got.size_bytes, got.sha256) == (5000, hashlib.sha256(PART).hexdigest())
    assert (got.fetched.status, got.fetched.resumed) == (206, False)


@pytest.mark.parametrize("span", [Span(0, 1), Span(0, 20_000), Span(19_999, 1), Span(0, 5000)])
def test_a_span_may_lie_at_either_end(
    site: Site, web: Net, partial: HeldPartial, span: Span
) -> None:
    site.serve("/x", BODY)

    web.download(site.url("/x"), partial, span=span)

    assert partial.path.read_bytes() == BODY[span.start : span.end]


def test_a_header_of_the_feeds_does_not_change_the_range(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.serve("/x", BODY)

    web.download(site.url("/x"), partial, span=SPAN, headers={"range": "bytes=0-"})

    assert site.requests[0].headers.get_all("Range") == ["bytes=6000-10999"]


def test_a_total_that_is_not_told_is_not_needed(site: Site, web: Net, partial: HeldPartial) -> None:
    site.on("/x", _part(PART, "bytes 6000-10999/*"))

    web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == PART


@pytest.mark.parametrize(
    "told",
    [
        "bytes 0-4999/20000",
        "bytes 5999-10998/20000",
        "bytes 6001-11000/20000",
        "bytes 6000-10998/20000",
        "bytes 6000-19999/20000",
        "bytes 6000-10999/8000",
        "nonsense",
    ],
)
def test_another_range_is_refused(site: Site, web: Net, partial: HeldPartial, told: str) -> None:
    site.on("/x", _part(PART, told))

    with pytest.raises(ServerTrouble, match="bytes 6,000 to 10,999 were asked for") as caught:
        web.download(site.url("/x"), partial, span=SPAN)

    assert caught.value.reason == "bad_range"
    assert not partial.path.exists() or not partial.path.read_bytes()


def test_a_range_without_its_content_range_is_refused(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.on("/x", answer(206, {}, PART))

    with pytest.raises(ServerTrouble):
        web.download(site.url("/x"), partial, span=SPAN)


def test_a_range_whose_body_runs_on_is_dropped(site: Site, web: Net, partial: HeldPartial) -> None:
    head = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 6000-10999/20000\r\n\r\n"
    site.on("/x", raw(head + BODY[6000:]))

    with pytest.raises(ServerTrouble) as caught:
        web.download(site.url("/x"), partial, span=SPAN)

    assert caught.value.reason == "longer_than_told"
    assert partial.path.read_bytes() == b""


def test_a_range_that_ends_early_without_a_length_is_truncated(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    head = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 6000-10999/20000\r\n\r\n"
    site.on("/x", raw(head + PART[:100]))

    with pytest.raises(Truncated, match="100 of 5,000 bytes"):
        web.download(site.url("/x"), partial, span=SPAN)


def test_an_empty_range_is_an_error(site: Site, web: Net, partial: HeldPartial) -> None:
    head = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 6000-10999/20000\r\n\r\n"
    site.on("/x", raw(head))

    with pytest.raises(EmptyBody):
        web.download(site.url("/x"), partial, span=SPAN)


def test_a_span_past_the_files_end_is_permanent(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY)

    with pytest.raises(Permanent) as caught:
        web.download(site.url("/x"), partial, span=Span(20_000, 10))

    assert caught.value.http_status == 416
    assert len(site.requests) == 1


def test_a_span_of_a_file_over_the_cap_is_got(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY)

    web.download(site.url("/x"), partial, terms_of(max_file_bytes=6000), span=SPAN)

    assert partial.path.read_bytes() == PART


def test_a_span_over_the_cap_is_refused(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY)

    with pytest.raises(TooLarge):
        web.download(site.url("/x"), partial, terms_of(max_file_bytes=4000), span=SPAN)


# --- cut out of the whole file ---


@pytest.mark.parametrize(
    "behaviour",
    [whole(BODY, ranges=False), no_length(BODY), chunked(BODY, size=777)],
    ids=["told", "to the close", "chunked"],
)
@pytest.mark.parametrize("span", [SPAN, Span(0, 5000), Span(15_000, 5000), Span(0, 20_000)])
def test_the_span_is_cut_out_of_a_whole_file(
    site: Site, web: Net, partial: HeldPartial, behaviour: Behaviour, span: Span
) -> None:
    site.on("/x", behaviour)

    got = web.download(site.url("/x"), partial, span=span)

    assert partial.path.read_bytes() == BODY[span.start : span.end]
    assert got.sha256 == hashlib.sha256(BODY[span.start : span.end]).hexdigest()
    assert (got.fetched.status, len(site.requests)) == (200, 1)


def test_a_file_that_is_too_short_by_its_header_is_refused_before_a_byte(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.serve("/x", BODY[:10_000], ranges=False)

    with pytest.raises(ServerTrouble, match="a file of 10,000 bytes") as caught:
        web.download(site.url("/x"), partial, span=SPAN)

    assert (caught.value.reason, caught.value.http_status) == ("bad_range", 200)
    assert len(site.requests) == 1


@pytest.mark.parametrize("size", [100, 6000, 10_999])
def test_a_file_that_turns_out_too_short_is_refused_and_dropped(
    site: Site, web: Net, partial: HeldPartial, size: int
) -> None:
    site.on("/x", no_length(BODY[:size]))

    with pytest.raises(ServerTrouble, match=f"a file of {size:,} bytes"):
        web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == b""


@pytest.mark.parametrize("after", [3000, 8000, 15_000])
def test_a_file_that_breaks_off_is_refused_even_behind_the_span(
    site: Site, web: Net, partial: HeldPartial, after: int
) -> None:
    site.on("/x", cut(BODY, after, ETag='"1"'))

    with pytest.raises(Truncated):
        web.download(site.url("/x"), partial, span=SPAN)


@pytest.mark.parametrize("after", [3000, 8000, 15_000])
def test_after_a_break_the_next_attempt_is_exact(
    site: Site, web: Net, partial: HeldPartial, after: int
) -> None:
    site.on("/x", cut(BODY, after, ETag='"1"'), whole(BODY, etag='"1"'))
    with pytest.raises(Truncated):
        web.download(site.url("/x"), partial, span=SPAN)

    web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == PART


@pytest.mark.parametrize("span", [SPAN, Span(0, 500)])
def test_a_page_is_not_taken_for_a_whole_file(
    site: Site, web: Net, partial: HeldPartial, span: Span
) -> None:
    site.on("/x", answer(200, {"Content-Type": "video/mp2t"}, PAGE))

    with pytest.raises(NotMedia) as caught:
        web.download(site.url("/x"), partial, span=span)

    assert caught.value.reason == "html_instead_of_media"
    assert partial.path.read_bytes() == b""


def test_a_coded_file_is_not_cut(site: Site, web: Net, partial: HeldPartial) -> None:
    site.on("/x", gzipped(BODY))

    with pytest.raises(ServerTrouble) as caught:
        web.download(site.url("/x"), partial, span=SPAN)

    assert caught.value.reason == "content_coded"


@pytest.mark.parametrize(
    "behaviour", [whole(BODY, ranges=False), no_length(BODY)], ids=["told", "to the close"]
)
def test_a_whole_file_over_the_cap_is_not_read_for_a_span(
    site: Site, web: Net, partial: HeldPartial, behaviour: Behaviour
) -> None:
    site.on("/x", behaviour)

    with pytest.raises(TooLarge):
        web.download(site.url("/x"), partial, terms_of(max_file_bytes=12_000), span=SPAN)


def test_only_what_is_kept_counts_as_progress(site: Site, web: Net, partial: HeldPartial) -> None:
    site.on("/x", chunked(BODY))
    told: list[int] = []
    with web.fetcher.visit(terms_of()) as visit:
        visit.download(Request(site.url("/x")), partial, told.append, span=SPAN)

    assert sum(told) == SPAN.length


def test_a_lost_lease_ends_it_even_before_the_span(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.serve("/x", BODY, ranges=False)

    def lost(_: int) -> None:
        raise LeaseLost("another holds it")

    with web.fetcher.visit(terms_of()) as visit, pytest.raises(LeaseLost):
        visit.download(Request(site.url("/x")), partial, lost, span=Span(19_000, 10))


# --- going on ---


def test_a_cut_span_goes_on_where_it_stopped(site: Site, web: Net, partial: HeldPartial) -> None:
    def break_off(exchange: Exchange) -> None:
        told = {"Content-Range": "bytes 6000-10999/20000", "Content-Length": "5000", "ETag": '"1"'}
        exchange.head(206, told)
        exchange.raw(PART[:2000])
        exchange.drop()

    site.on("/x", break_off, whole(BODY, etag='"1"'))
    with pytest.raises(Truncated):
        web.download(site.url("/x"), partial, span=SPAN)
    got = web.download(site.url("/x"), partial, span=SPAN)

    assert site.requests[1].headers["Range"] == "bytes=8000-10999"
    assert site.requests[1].headers["If-Range"] == '"1"'
    assert (got.sha256, got.fetched.resumed) == (hashlib.sha256(PART).hexdigest(), True)
    assert partial.path.read_bytes() == PART


def test_a_span_that_is_resumed_from_a_whole_answer_is_cut_anew(
    site: Site, web: Net, tmp_path: Path
) -> None:
    partial = _held(tmp_path, site, PART[:2000])
    site.serve("/x", BODY, etag='"1"', ranges=False)

    got = web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == PART
    assert not got.fetched.resumed


def test_a_changed_file_is_not_mixed_with_the_old_one(site: Site, web: Net, tmp_path: Path) -> None:
    partial = _held(tmp_path, site, bytes(2000))
    site.serve("/x", BODY, etag='"2"')

    web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == PART


def test_not_even_where_the_server_ignores_if_range(site: Site, web: Net, tmp_path: Path) -> None:
    partial = _held(tmp_path, site, bytes(2000))
    part = _part(BODY[8000:11_000], "bytes 8000-10999/20000", ETag='"2"')
    site.on("/x", part, whole(BODY, etag='"2"'))

    web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == PART
    assert site.requests[1].headers["Range"] == "bytes=6000-10999"


@pytest.mark.parametrize(
    "told", [{"start": 0}, {"start": 5000}, {"etag": None}, {"url": "http://mill.example/y"}]
)
def test_bytes_of_another_stretch_or_without_a_guard_are_dropped(
    site: Site, web: Net, tmp_path: Path, told: dict[str, object]
) -> None:
    partial = _held(tmp_path, site, bytes(2000), **told)
    site.serve("/x", BODY, etag='"1"')

    web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == PART
    assert site.requests[0].headers["If-Range"] is None


def test_bytes_of_a_span_are_not_gone_on_with_as_a_whole_file(
    site: Site, web: Net, tmp_path: Path
) -> None:
    partial = _held(tmp_path, site, PART[:2000])
    site.serve("/x", BODY, etag='"1"')

    web.download(site.url("/x"), partial)

    assert partial.path.read_bytes() == BODY


@pytest.mark.parametrize("size", [5000, 5001, 9000])
def test_a_span_that_is_held_whole_is_fetched_again(
    site: Site, web: Net, tmp_path: Path, size: int
) -> None:
    """No byte of it is left to ask for, so nobody could say that it is still the same."""
    partial = _held(tmp_path, site, bytes(size))
    site.serve("/x", BODY, etag='"1"')

    web.download(site.url("/x"), partial, span=SPAN)

    assert partial.path.read_bytes() == PART
    assert site.requests[0].headers["Range"] == "bytes=6000-10999"


@pytest.mark.parametrize(
    "behaviour",
    [
        answer(416),
        answer(416, {"Content-Range": "bytes */2000"}),
        answer(206, {"Content-Range": "bytes 0-1999/2000"}, bytes(2000)),
        answer(204),
        whole(BODY[:100], ranges=False),
    ],
    ids=["416", "416 of our size", "another part", "204", "short"],
)
def test_a_server_that_never_answers_rightly_is_asked_twice_at_most(
    site: Site, web: Net, tmp_path: Path, behaviour: Behaviour
) -> None:
    partial = _held(tmp_path, site, PART[:2000])
    site.on("/x", behaviour)
    with pytest.raises(HeadraceError):
        web.download(site.url("/x"), partial, span=SPAN)

    assert len(site.requests) == 2
