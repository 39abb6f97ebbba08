from __future__ import annotations

import gzip
import zlib

import pytest

from core.errors import EmptyBody, ServerTrouble, TooLarge, Truncated
from core.model.request import Request
from tests.support.fetching import Net, terms_of
from tests.support.site import Behaviour, Site, answer, chunked, no_length, whole

PAGE = b"<rss>" + b"item " * 5000 + b"</rss>"


def _bare(body: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-15)
    return machine.compress(body) + machine.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(PAGE, mtime=0)),
        ("x-gzip", gzip.compress(PAGE, mtime=0)),
        ("GZIP", gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:])),
        ("gzip", gzip.compress(PAGE) + bytes(20)),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", _bare(PAGE)),
        ("identity", PAGE),
        ("", PAGE),
    ],
)
def test_a_page_is_decoded(site: Site, web: Net, coding: str, body: bytes) -> None:
    site.on("/", answer(200, {"Content-Encoding": coding}, body))

    assert web.page(site.url("/")) == PAGE


def test_compression_is_asked_for(site: Site, web: Net) -> None:
    site.serve("/", PAGE)

    web.page(site.url("/"))

    assert site.requests[0].headers["Accept-Encoding"] == "gzip, deflate"


def test_a_page_tells_where_it_came_from(site: Site, web: Net) -> None:
    site.redirect("/", "/feed?token=t#top")
    site.serve("/feed", PAGE, content_type="application/rss+xml; charset=utf-8")
    with web.fetcher.visit(terms_of()) as visit:
        body = visit.page(Request(site.url("/")))

    assert body.url == site.url("/feed?token=t")
    assert body.content_type == "application/rss+xml; charset=utf-8"
    assert body.status == 200


def test_a_streams_life_is_its_visits(site: Site, web: Net) -> None:
    site.serve("/", PAGE)
    with web.fetcher.visit(terms_of()) as visit:
        body = visit.page(Request(site.url("/")))

    assert body.stream.closed


def test_a_large_page_is_kept_on_disk(site: Site, web: Net) -> None:
    site.serve("/", bytes(5_000_000))

    assert len(web.page(site.url("/"))) == 5_000_000


def test_a_page_over_the_cap_is_too_large(site: Site, web: Net) -> None:
    site.serve("/", bytes(100_001))

    with pytest.raises(TooLarge, match="100,000"):
        web.page(site.url("/"), terms_of(max_page_bytes=100_000))


def test_a_bomb_goes_off_at_the_cap(site: Site, web: Net) -> None:
    site.on("/", answer(200, {"Content-Encoding": "gzip"}, gzip.compress(bytes(50_000_000))))

    with pytest.raises(TooLarge):
        web.page(site.url("/"), terms_of(max_page_bytes=1_000_000))


@pytest.mark.parametrize(
    "behaviour",
    [
        answer(200),
        no_length(b""),
        answer(204),
        answer(200, {"Content-Encoding": "gzip"}, gzip.compress(b"")),
    ],
    ids=["length 0", "no length", "204", "gzip"],
)
def test_an_empty_page_is_an_error(site: Site, web: Net, behaviour: Behaviour) -> None:
    site.on("/", behaviour)

    with pytest.raises(EmptyBody):
        web.page(site.url("/"))


def test_a_refusal_that_is_read_also_needs_no_byte(site: Site, web: Net) -> None:
    site.on("/", answer(432))

    assert web.page(site.url("/"), read_also=frozenset([432])) == b""


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, gzip.compress(PAGE)),
        ({"Content-Type": "application/gzip"}, gzip.compress(PAGE[:9]) + gzip.compress(PAGE[9:])),
        ({"Content-Encoding": "gzip"}, gzip.compress(gzip.compress(PAGE))),
        ({"Content-Encoding": "deflate"}, zlib.compress(gzip.compress(PAGE))),
    ],
    ids=["bare", "members", "gzip", "deflate"],
)
def test_a_file_that_is_gzip_is_undone_whatever_the_header_says(
    site: Site, web: Net, headers: dict[str, str], body: bytes
) -> None:
    site.on("/map.xml.gz", answer(200, headers, body))

    assert web.page(site.url("/map.xml.gz")) == PAGE


def test_a_gzip_that_comes_byte_by_byte_is_undone(site: Site, web: Net) -> None:
    site.on("/", chunked(gzip.compress(b"list"), size=1))

    assert web.page(site.url("/")) == b"list"


def test_what_is_in_a_gzip_stays_as_it_is(site: Site, web: Net) -> None:
    inner = gzip.compress(PAGE)
    site.serve("/", gzip.compress(inner))

    assert web.page(site.url("/")) == inner


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_bomb_in_a_file_goes_off_at_the_cap(site: Site, web: Net, coding: str) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    body = gzip.compress(bomb) if coding else bomb
    site.on("/", answer(200, {"Content-Encoding": coding}, body))

    with pytest.raises(TooLarge, match="max_page_bytes"):
        web.page(site.url("/"), terms_of(max_page_bytes=1_000_000))


def test_a_bomb_whose_shell_is_padding_goes_off_at_the_cap(site: Site, web: Net) -> None:
    shell = gzip.compress(gzip.compress(PAGE) + bytes(50_000_000))
    site.on("/", answer(200, {"Content-Encoding": "gzip"}, shell))

    with pytest.raises(TooLarge):
        web.page(site.url("/"), terms_of(max_page_bytes=1_000_000))


def test_a_cut_file_that_is_gzip_is_truncated(site: Site, web: Net) -> None:
    site.serve("/", gzip.compress(PAGE)[:-5])

    with pytest.raises(Truncated):
        web.page(site.url("/"))


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "compress"])
def test_a_coding_that_was_not_asked_for_is_server_trouble(
    site: Site, web: Net, coding: str
) -> None:
    site.on("/", answer(200, {"Content-Encoding": coding}, b"xyz"))

    with pytest.raises(ServerTrouble):
        web.page(site.url("/"))


def test_a_cut_gzip_page_is_truncated_even_without_a_length(site: Site, web: Net) -> None:
    site.on("/", no_length(gzip.compress(PAGE)[:-5], Content_Encoding="gzip"))

    with pytest.raises(Truncated):
        web.page(site.url("/"))


def test_a_damaged_gzip_page_is_truncated(site: Site, web: Net) -> None:
    body = bytearray(gzip.compress(PAGE))
    body[-6] ^= 0xFF
    site.on("/", answer(200, {"Content-Encoding": "gzip"}, bytes(body)))

    with pytest.raises(Truncated) as caught:
        web.page(site.url("/"))

    assert caught.value.reason == "damaged"


def test_broken_chunks_are_truncated(site: Site, web: Net) -> None:
    site.on("/", chunked(PAGE, broken_after=3))

    with pytest.raises(Truncated):
        web.page(site.url("/"))


def test_a_page_is_asked_for_once_a_call(site: Site, web: Net) -> None:
    site.on("/", whole(b"1"), whole(b"2"))
    with web.fetcher.visit(terms_of()) as visit:
        both = [visit.page(Request(site.url("/"))).stream.read() for _ in range(2)]

    assert both == [b"1", b"2"]


def test_the_rest_of_a_page_is_left_when_its_first_bytes_are_enough(site: Site, web: Net) -> None:
    site.on("/", chunked(PAGE, size=5000))
    with web.fetcher.visit(terms_of()) as visit:
        left = visit.page(Request(site.url("/")), enough=lambda head: head.startswith(b"<rss>"))
        whole_page = visit.page(Request(site.url("/")), enough=lambda _: False)

        assert len(left.stream.read()) < len(PAGE)
        assert whole_page.stream.read() == PAGE


@pytest.mark.parametrize("piece_bytes", [5000, 100_000])
def test_first_bytes_are_enough_also_where_more_came_with_them_than_a_page_may_have(
    piece_bytes: int, site: Site, web: Net
) -> None:
    film = b"film" * 50_000
    site.on("/", chunked(film, size=piece_bytes))
    with web.fetcher.visit(terms_of(max_page_bytes=20_000)) as visit:
        left = visit.page(Request(site.url("/")), enough=lambda head: head.startswith(b"film"))

        assert film.startswith(left.stream.read())
