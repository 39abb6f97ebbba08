"""Telling feeds apart, and remembering the choice in the cursor."""

from __future__ import annotations

import pytest

from core.errors import Malformed, Misconfigured
from core.settings import ADAPTERS as NAMED
from core.sources import ADAPTERS, adapter
from core.sources.lists import ENTRIES_A_PAGE
from tests.support.pages import parse, rss

LIST = "https://cdn.example.com/1.jpg\n"
JSON = '{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "a"}]}'
SITEMAP = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'></urlset>"
LINE = '{"url": "https://cdn.example.com/1.jpg"}\n'
MANIFEST = (
    '{"@context": "http://iiif.io/api/presentation/3/context.json", "type": "Manifest",'
    ' "items": []}'
)


@pytest.mark.parametrize(
    ("body", "own"),
    [
        (rss("<guid>1</guid>"), "rss"),
        ("\ufeff \n" + rss("<guid>1</guid>"), "rss"),
        (JSON, "jsonfeed"),
        ("\n\n" + JSON, "jsonfeed"),
        (LIST, "list"),
        ("# <rss> {}\n\n  " + LIST, "list"),
        ("ftp://x.example.com/\n" + LIST, "list"),
        ("caption,url\nx,https://cdn.example.com/1.jpg\n", "list"),
        ("URL\nhttps://cdn.example.com/1.jpg\n", "list"),
        (LINE, "list"),
        (LINE + LINE, "list"),
        ('{"id": 1}\n' + LINE, "list"),
        (f"[\n{LINE}]", "list"),
        (SITEMAP, "sitemap"),
        ("<?xml version='1.0'?><!-- made <rss> --> <?x?>" + SITEMAP, "sitemap"),
        (SITEMAP.replace("urlset", "s:urlset").replace("xmlns", "xmlns:s"), "sitemap"),
        ("<sitemapindex/>", "sitemap"),
        (MANIFEST, "iiif"),
        (MANIFEST.replace("/", "\\/"), "iiif"),
        (JSON.replace('"a"', '"see iiif.io/api/presentation/3"'), "jsonfeed"),
    ],
)
def test_content_tells_the_adapter_whatever_the_header_says(body: str, own: str) -> None:
    assert parse("feed", body, content_type="text/html") == parse(own, body)


def test_utf_16_is_told_apart() -> None:
    assert parse("feed", rss("<guid>1</guid>").encode("utf-16")).posts[0].key == "1"
    assert parse("feed", JSON.encode("utf-16")).posts[0].key == "a"
    assert parse("feed", MANIFEST.encode("utf-16")).posts == ()
    assert parse("feed", SITEMAP.encode("utf-16")).posts == ()


def test_only_feeds_that_are_newest_first_say_so() -> None:
    assert parse("feed", rss()).newest_first
    assert parse("feed", JSON).newest_first
    assert not parse("feed", LIST).newest_first


def test_the_cursor_remembers_the_adapter_and_asks_for_the_next_page() -> None:
    page = parse("feed", rss(channel='<atom:link rel="next" href="/2"/>'))
    request = adapter("feed").request("https://site.example.com/feed", page.cursor)

    assert page.cursor == "rss https://site.example.com/2"
    assert request is not None
    assert request.url == "https://site.example.com/2"


def test_a_lists_next_page_goes_on_in_the_kept_body() -> None:
    body = LIST * ENTRIES_A_PAGE + "https://cdn.example.com/last.jpg"
    first = parse("feed", body)
    second = parse("feed", body, cursor=first.cursor)

    assert adapter("feed").request("https://site.example.com/l", first.cursor) is None
    assert [post.key for post in second.posts] == ["https://cdn.example.com/last.jpg"]


def test_a_later_page_is_read_as_the_first_was() -> None:
    with pytest.raises(Malformed) as caught:
        parse("feed", JSON, cursor="rss https://site.example.com/2")

    assert caught.value.reason == "bad_xml"


@pytest.mark.parametrize("body", ["Service unavailable", "\x89PNG\r\n\x1a\n", "-- no list"])
def test_what_is_no_feed_is_refused(body: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse("feed", body)

    assert caught.value.reason == "unknown_format"


@pytest.mark.parametrize("cursor", ["", "rss", "feed x", "https://site.example.com/2"])
def test_a_cursor_from_elsewhere_is_refused(cursor: str) -> None:
    with pytest.raises(Malformed) as parsed:
        parse("feed", LIST, cursor=cursor)
    with pytest.raises(Malformed) as asked:
        adapter("feed").request("https://site.example.com/feed", cursor)

    assert parsed.value.reason == asked.value.reason == "bad_cursor"


def test_an_adapter_that_there_is_not_is_answered_with_those_there_are() -> None:
    with pytest.raises(Misconfigured, match=", ".join(sorted(ADAPTERS))):
        adapter("gopher")


def test_the_settings_name_exactly_the_adapters_there_are() -> None:
    assert set(NAMED) == set(ADAPTERS)
