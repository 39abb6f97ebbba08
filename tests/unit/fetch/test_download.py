from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from core.errors import (
    EmptyBody,
    LeaseLost,
    Permanent,
    ServerTrouble,
    StorageDown,
    TooLarge,
    Truncated,
)
from core.model.partial import Validators
from core.model.request import Request
from tests.support.fetching import HeldPartial, Net, net, terms_of
from tests.support.media import jpeg
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

BODY = jpeg(size_bytes=20_000)
OTHER = jpeg(seed=1, size_bytes=20_000)
LONG_AGO = "Mon, 01 Jan 2024 00:00:00 GMT"


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _held(tmp_path: Path, site: Site, body: bytes, **told: object) -> HeldPartial:
    remembered = {"url": site.url("/x"), "etag": '"1"', "total_bytes": len(BODY)} | told
    return HeldPartial(tmp_path / "partial", body, Validators.model_validate(remembered))


# --- a file that comes well ---


def test_a_file_comes_whole_with_its_provenance(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY, content_type="image/webp", etag='"1"', last_modified=LONG_AGO)

    got = web.download(site.url("/x?sig=abc"), partial)

    assert partial.path.read_bytes() == BODY
    assert (got.sha256, got.size_bytes) == (_sha256(BODY), len(BODY))
    assert got.fetched.requested_url == got.fetched.final_url == site.url("/x?sig=***")
    assert (got.fetched.status, got.fetched.resumed) == (200, False)
    assert (got.fetched.etag, got.fetched.last_modified) == ('"1"', LONG_AGO)
    assert got.fetched.type_told == "image/webp"


def test_identity_is_asked_for_whatever_a_header_says(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.serve("/x", BODY)

    web.download(site.url("/x"), partial, headers={"accept-encoding": "gzip"})

    assert site.requests[0].headers.get_all("Accept-Encoding") == ["identity"]


def test_chunks_are_told_as_they_are_written(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY)
    told: list[int] = []
    with web.fetcher.visit(terms_of()) as visit:
        visit.download(Request(site.url("/x")), partial, told.append)

    assert sum(told) == len(BODY)


def test_a_visit_counts_its_requests(site: Site, web: Net, partial: HeldPartial) -> None:
    site.redirect("/a", "/x")
    site.serve("/x", BODY)
    with web.fetcher.visit(terms_of()) as visit:
        visit.download(Request(site.url("/a")), partial, lambda _: None)

    assert (visit.requests, visit.prompt) == (2, True)


@pytest.mark.parametrize(
    "behaviour", [no_length(BODY), chunked(BODY)], ids=["to the close", "chunked"]
)
def test_a_length_is_not_needed(
    site: Site, web: Net, partial: HeldPartial, behaviour: Behaviour
) -> None:
    site.on("/x", behaviour)

    assert web.download(site.url("/x"), partial).sha256 == _sha256(BODY)


def test_a_small_file_costs_no_note_beside_it(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY, etag='"1"')

    web.download(site.url("/x"), partial)

    assert partial.validators is None


def test_a_large_file_is_remembered_while_it_comes(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.serve("/x", bytes(3_000_000), etag='"1"')

    web.download(site.url("/x"), partial)

    assert partial.validators == Validators(url=site.url("/x"), etag='"1"', total_bytes=3_000_000)


def test_a_range_that_a_source_needs_from_the_start_is_sent(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.serve("/x", BODY)

    got = web.download(site.url("/x"), partial, headers={"Range": "bytes=0-"})

    assert (got.fetched.status, got.sha256) == (206, _sha256(BODY))


# --- a file that does not come whole ---


def test_row_7_a_short_body_is_truncated_and_kept(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    """inputs.tsv row 7: Content-Length 10,000, 14 bytes, close."""
    site.on("/x", cut(bytes(10_000), 14, ETag='"1"'))

    with pytest.raises(Truncated, match="after 14 bytes"):
        web.download(site.url("/x"), partial)

    assert partial.path.read_bytes() == bytes(14)
    assert partial.validators == Validators(url=site.url("/x"), etag='"1"', total_bytes=10_000)


def test_a_reset_in_mid_body_is_truncated_and_kept(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    def behave(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Length": "10000"})
        exchange.raw(bytes(100))
        exchange.wait(0.1)
        exchange.reset()

    site.on("/x", behave)
    with pytest.raises(Truncated):
        web.download(site.url("/x"), partial)

    assert partial.path.stat().st_size == 100


def test_broken_chunks_are_truncated(site: Site, web: Net, partial: HeldPartial) -> None:
    site.on("/x", chunked(BODY, broken_after=5))

    with pytest.raises(Truncated):
        web.download(site.url("/x"), partial)


@pytest.mark.parametrize(
    "behaviour",
    [no_length(b""), answer(200), answer(204), chunked(b"")],
    ids=["no length", "length 0", "204", "chunked"],
)
def test_row_29_an_empty_body_is_an_error(
    site: Site, web: Net, partial: HeldPartial, behaviour: Behaviour
) -> None:
    """inputs.tsv row 29: with and without Content-Length."""
    site.on("/x", behaviour)

    with pytest.raises(EmptyBody) as caught:
        web.download(site.url("/x"), partial)

    assert caught.value.reason == "empty_body"


def test_a_coded_body_is_refused_not_decoded(site: Site, web: Net, partial: HeldPartial) -> None:
    site.on("/x", gzipped(BODY))

    with pytest.raises(ServerTrouble) as caught:
        web.download(site.url("/x"), partial)

    assert caught.value.reason == "content_coded"
    assert partial.path.stat().st_size == 0


def test_too_large_by_its_header_is_refused_before_a_byte(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.on("/x", cut(bytes(1001), 0))

    with pytest.raises(TooLarge, match="1,000"):
        web.download(site.url("/x"), partial, terms_of(max_file_bytes=1000))


def test_too_large_by_count_is_refused_and_dropped(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.on("/x", no_length(bytes(500_000)))
    with pytest.raises(TooLarge):
        web.download(site.url("/x"), partial, terms_of(max_file_bytes=1000))

    assert partial.restarts == 1


def test_a_full_disk_is_seen_before_the_body(site: Site, partial: HeldPartial) -> None:
    site.serve("/x", BODY)
    with net(free_bytes=30_000, min_free_bytes=20_000) as web, pytest.raises(StorageDown) as caught:
        web.download(site.url("/x"), partial)

    assert "20,000 are needed" in str(caught.value)
    assert not partial.path.read_bytes()


def test_a_disk_that_is_full_costs_the_source_no_request(site: Site, partial: HeldPartial) -> None:
    site.serve("/x", BODY)
    with net(free_bytes=30_000, min_free_bytes=30_001) as web, pytest.raises(StorageDown) as caught:
        web.download(site.url("/x"), partial)

    assert "30,001 stay free" in str(caught.value)
    assert site.requests == []


def test_a_lost_lease_ends_the_download(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/x", BODY)

    def lost(_: int) -> None:
        raise LeaseLost("another holds it")

    with web.fetcher.visit(terms_of()) as visit, pytest.raises(LeaseLost):
        visit.download(Request(site.url("/x")), partial, lost)


# --- going on ---


def test_a_cut_file_goes_on_where_it_stopped(site: Site, web: Net, partial: HeldPartial) -> None:
    site.on("/x", cut(BODY, 6000, ETag='"1"'), whole(BODY, etag='"1"'))
    with pytest.raises(Truncated):
        web.download(site.url("/x"), partial)

    got = web.download(site.url("/x"), partial)

    assert site.requests[1].headers["Range"] == "bytes=6000-"
    assert site.requests[1].headers["If-Range"] == '"1"'
    assert (got.sha256, got.fetched.resumed, got.fetched.status) == (_sha256(BODY), True, 206)
    assert partial.path.read_bytes() == BODY


def test_a_date_that_is_old_enough_guards_too(site: Site, web: Net, tmp_path: Path) -> None:
    partial = _held(tmp_path, site, BODY[:6000], etag=None, last_modified=LONG_AGO)
    site.serve("/x", BODY, last_modified=LONG_AGO)

    got = web.download(site.url("/x"), partial)

    assert site.requests[0].headers["If-Range"] == LONG_AGO
    assert (got.sha256, got.fetched.resumed) == (_sha256(BODY), True)


@pytest.mark.parametrize(
    "second",
    [whole(BODY, ranges=False, etag='"1"'), no_length(BODY)],
    ids=["same etag", "no length"],
)
def test_row_8_a_200_to_a_range_starts_anew(
    site: Site, web: Net, tmp_path: Path, second: Behaviour
) -> None:
    """inputs.tsv row 8: the file must not grow with every retry."""
    partial = _held(tmp_path, site, BODY[:6000])
    site.on("/x", second)

    got = web.download(site.url("/x"), partial)

    assert (got.size_bytes, got.sha256) == (len(BODY), _sha256(BODY))
    assert partial.path.read_bytes() == BODY
    assert not got.fetched.resumed


def test_row_8_a_gzipped_200_to_a_range_is_asked_for_again(
    site: Site, web: Net, tmp_path: Path
) -> None:
    """inputs.tsv row 8: a CDN that compresses, and so ignores the Range."""
    partial = _held(tmp_path, site, BODY[:6000])
    site.on("/x", gzipped(BODY), whole(BODY))

    got = web.download(site.url("/x"), partial)

    assert got.sha256 == _sha256(BODY)
    assert site.requests[1].headers["Range"] is None


def test_row_9_a_file_held_whole_is_completed_by_its_416(
    site: Site, web: Net, tmp_path: Path
) -> None:
    """inputs.tsv row 9: a crash after the last byte, before the commit."""
    partial = _held(tmp_path, site, BODY)
    site.serve("/x", BODY, etag='"1"', content_type="text/html")

    got = web.download(site.url("/x"), partial)

    assert (got.sha256, got.size_bytes, got.fetched.resumed) == (_sha256(BODY), len(BODY), True)
    assert (got.fetched.status, got.fetched.etag, got.fetched.type_told) == (416, '"1"', None)
    assert len(site.requests) == 1


def test_row_9_a_416_of_another_size_starts_anew(site: Site, web: Net, tmp_path: Path) -> None:
    partial = _held(tmp_path, site, OTHER[:6000] + bytes(14_000))
    site.on("/x", answer(416, {"Content-Range": "bytes */19999"}), whole(BODY))

    got = web.download(site.url("/x"), partial)

    assert (got.sha256, got.fetched.resumed) == (_sha256(BODY), False)


def test_row_9_a_416_for_ever_ends(site: Site, web: Net, tmp_path: Path) -> None:
    partial = _held(tmp_path, site, BODY)
    site.on("/x", answer(416))
    with pytest.raises(Permanent):
        web.download(site.url("/x"), partial)

    assert len(site.requests) == 2


def test_row_27_a_changed_file_is_not_mixed_with_the_old_one(
    site: Site, web: Net, tmp_path: Path
) -> None:
    """inputs.tsv row 27: the server honours If-Range and answers 200."""
    partial = _held(tmp_path, site, OTHER[:6000])
    site.serve("/x", BODY, etag='"2"')

    assert web.download(site.url("/x"), partial).sha256 == _sha256(BODY)
    assert partial.path.read_bytes() == BODY


def test_row_27_not_even_where_the_server_ignores_if_range(
    site: Site, web: Net, tmp_path: Path
) -> None:
    partial = _held(tmp_path, site, OTHER[:6000])
    part = {"Content-Range": "bytes 6000-19999/20000", "ETag": '"2"'}
    site.on("/x", answer(206, part, BODY[6000:]), whole(BODY, etag='"2"'))

    assert web.download(site.url("/x"), partial).sha256 == _sha256(BODY)
    assert partial.path.read_bytes() == BODY


@pytest.mark.parametrize("etag", [None, 'W/"1"'])
def test_row_27_without_a_strong_validator_it_starts_anew(
    site: Site, web: Net, tmp_path: Path, etag: str | None
) -> None:
    partial = _held(tmp_path, site, OTHER[:6000], etag=etag)
    site.serve("/x", BODY)

    assert web.download(site.url("/x"), partial).sha256 == _sha256(BODY)
    assert site.requests[0].headers["Range"] is None


def test_bytes_without_a_note_are_dropped(site: Site, web: Net, tmp_path: Path) -> None:
    partial = HeldPartial(tmp_path / "partial", OTHER)
    site.serve("/x", BODY)

    assert web.download(site.url("/x"), partial).sha256 == _sha256(BODY)


def test_a_range_sent_in_parts_is_asked_for_part_by_part(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    def behave(exchange: Exchange) -> None:
        asked = exchange.headers["Range"] or "bytes=0-"
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        end = min(start + 7000, len(BODY))
        span = f"bytes {start}-{end - 1}/{len(BODY)}"
        exchange.answer(206, {"Content-Range": span, "ETag": '"1"'}, BODY[start:end])

    site.on("/x", behave)
    got = web.download(site.url("/x"), partial, headers={"Range": "bytes=0-"})

    assert (got.sha256, len(site.requests)) == (_sha256(BODY), 3)
    assert not got.fetched.resumed


def test_a_part_that_nothing_guards_is_truncated(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.on("/x", answer(206, {"Content-Range": "bytes 0-99/20000"}, BODY[:100]))
    with pytest.raises(Truncated, match="100 of 20,000 bytes"):
        web.download(site.url("/x"), partial)

    assert len(site.requests) == 1


def test_a_part_from_elsewhere_for_a_whole_file_is_refused(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.on("/x", answer(206, {"Content-Range": "bytes 5-99/20000"}, BODY[5:100]))

    with pytest.raises(ServerTrouble) as caught:
        web.download(site.url("/x"), partial)

    assert caught.value.reason == "bad_range"


def test_a_part_that_runs_on_past_its_total_is_dropped(
    site: Site, web: Net, tmp_path: Path
) -> None:
    partial = _held(tmp_path, site, BODY[:6000])
    head = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 6000-19999/20000\r\n\r\n"
    site.on("/x", raw(head + bytes(14_001)))
    with pytest.raises(ServerTrouble) as caught:
        web.download(site.url("/x"), partial)

    assert caught.value.reason == "longer_than_told"
    assert partial.validators is None


def test_row_12_and_others_leave_what_is_held_alone(site: Site, web: Net, tmp_path: Path) -> None:
    partial = _held(tmp_path, site, BODY[:6000])
    site.on("/x", answer(503))
    with pytest.raises(ServerTrouble):
        web.download(site.url("/x"), partial)

    assert partial.path.read_bytes() == BODY[:6000]
    assert partial.validators is not None
