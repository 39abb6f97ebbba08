"""What holds for every adapter and any input."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import urlsplit
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Malformed
from core.model.post import FeedPage, Post
from core.sources import ADAPTERS
from core.sources.dates import read_date
from core.sources.resolve import Unusable, resolve
from tests.support.pages import URL, parse, rss

NAMES = st.sampled_from(sorted(ADAPTERS))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "url", "title", "image", "attachments", "mime_type", "authors"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FRAGMENTS = st.sampled_from(
    [
        b"<rss>", b"</rss>", b"<channel>", b"</channel>", b"<item>", b"</item>", b"<guid>", b"&",
        b"<media:group>", b"<media:content url='/1.png'/>", b"<![CDATA[", b"]]>", b"<!--", b"-->",
        b"<!DOCTYPE x>", b"<?xml version='1.0'?>", b"<feed xmlns='http://www.w3.org/2005/Atom'>",
        b"<entry>", b"</entry>", b"</feed>", b'{"items": [', b"]}", b"{", b"}", b"http://a/b.jpg\n",
        b"<![", b"<!", b"<", b">", b"\xff", b"\0", b" ", b"<a b=", b"'", b'"', b"</", b"&#0;",
        b"xml:base='//['", b"<link rel='next' href='http://[/'/>", b"<urlset>", b"</urlset>",
        b"<sitemapindex>", b"</sitemapindex>", b"<sitemap>", b"</sitemap>", b"<url>", b"</url>",
        b"<loc>http://a/1</loc>", b"<image:image>", b"</image:image>", b"<video:video>",
        b"<image:loc>/1.png</image:loc>", b"<video:content_loc>/v</video:content_loc>", b"\n",
        b"url,text\n", b"http://a/c.jpg,", b"[", b"]", b",", b'{"url": "http://a/d.jpg"}',
        b'"type": "Manifest", "items": [', b'"iiif.io/api/presentation/3/"', b"\x1f\x8b",
    ]
)  # fmt: skip


def _page_or_malformed(name: str, body: bytes) -> FeedPage | None:
    try:
        return parse(name, body)
    except Malformed:
        return None


def _check(post: Post) -> None:
    """What everybody further on relies on."""
    assert post.key
    assert [media.position for media in post.media] == list(range(len(post.media)))
    for media in post.media:
        assert media.renditions
        for rendition in media.renditions:
            parts = urlsplit(rendition.url)
            assert parts.scheme in ("http", "https")
            assert parts.hostname
            assert not parts.fragment
    assert Post.model_validate_json(post.model_dump_json()) == post


@given(NAMES, st.binary(max_size=300))
def test_any_bytes_give_a_page_or_malformed(name: str, body: bytes) -> None:
    _page_or_malformed(name, body)


@settings(max_examples=400)
@given(NAMES, st.lists(FRAGMENTS, max_size=25))
def test_any_pieces_of_feeds_give_a_page_or_malformed(name: str, pieces: list[bytes]) -> None:
    page = _page_or_malformed(name, b"".join(pieces))

    for post in page.posts if page else ():
        _check(post)


CHILDREN = "<sitemapindex>{}</sitemapindex>".format(
    "".join(f"<sitemap><loc>https://site.example.com/{n}.xml</loc></sitemap>" for n in "ab")
)


@given(
    st.binary(max_size=60) | FRAGMENTS,
    st.sampled_from([200, 400, 401, 403, 404, 405, 410, 418, 451, 499]),
    st.sampled_from(["sitemap", "feed"]),
)
def test_whatever_one_child_says_the_next_is_asked_for(body: bytes, status: int, name: str) -> None:
    cursor, reason = parse(name, CHILDREN).cursor, None
    try:
        page = parse(name, body, cursor=cursor, status=status)
    except Malformed as error:
        reason = error.reason
    if reason is not None:
        assert reason in ("empty", "truncated")  # another answer may be whole
        return
    following = ADAPTERS[name].request(URL, page.cursor)

    assert following is not None
    assert following.url.endswith("/b.xml")
    assert page.posts or page.skipped or status == 200


@settings(max_examples=300)
@given(st.lists(JSON_VALUES, max_size=4), JSON_VALUES)
def test_any_json_in_items_keeps_every_object_as_a_post(
    items: list[object], following: object
) -> None:
    body = json.dumps({"items": items, "next_url": following})
    page = parse("jsonfeed", body)

    for post in page.posts:
        _check(post)
    objects = [item for item in items if isinstance(item, dict)]
    twice = [skipped for skipped in page.skipped if skipped.reason == "duplicate"]
    assert len(page.posts) + len(twice) == len(objects)


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(["items", "sequences", "label", "id"]), JSON_VALUES))
def test_any_json_in_a_manifest_keeps_every_object_as_a_post(told: dict[str, object]) -> None:
    page = _page_or_malformed("iiif", json.dumps({"type": "Manifest", **told}).encode())

    for post in page.posts if page else ():
        _check(post)


CANVAS_VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["painting", "Image", "Choice", "http://a/1", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "items", "body", "motivation", "service", "source"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=300)
@given(st.lists(CANVAS_VALUES, max_size=3))
def test_any_canvas_is_a_post_or_is_told(canvases: list[object]) -> None:
    page = parse("iiif", json.dumps({"type": "Manifest", "items": canvases}))

    for post in page.posts:
        _check(post)
    objects = [canvas for canvas in canvases if isinstance(canvas, dict)]
    told = [skip for skip in page.skipped if skip.reason in ("duplicate", "not_an_object")]
    assert len(page.posts) + len(told) == len(canvases)
    assert len(page.posts) <= len(objects)


ROWS = st.dictionaries(
    st.sampled_from(["url", "URL", "caption", "title", "width", "md5", "author", "created_at"]),
    JSON_VALUES | st.sampled_from(["https://a.example.com/1.jpg", "nan", "2026-01-01"]),
    max_size=6,
)


@settings(max_examples=300)
@given(st.lists(ROWS | JSON_VALUES, min_size=1, max_size=5))
def test_any_value_in_a_list_is_a_post_or_is_told(values: list[object]) -> None:
    good = "https://a.example.com/good.jpg"
    array = parse("list", json.dumps([good, *values]))
    lines = parse("list", "\n".join(map(json.dumps, [{"url": good}, *values])))

    for page in (array, lines):
        assert len(page.posts) + len(page.skipped) == len(values) + 1
        for post in page.posts:
            _check(post)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), max_size=8),
    st.sampled_from(",\t;|"),
    st.sampled_from([1, 2, 3]),
)
def test_any_table_that_is_written_well_is_read_back(
    captions: list[str], delimiter: str, page_size: int
) -> None:
    captions = [text.replace("\r", "").replace("\0", "") for text in captions]
    rows = [(text, f"https://a.example.com/{n}.jpg") for n, text in enumerate(captions)]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows([("caption", "url"), *rows])
    cursor, found = None, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.sources.lists.ENTRIES_A_PAGE", page_size)
        for _ in range(len(rows) + 1):
            page = parse("list", stream.getvalue(), cursor=cursor)
            found += [(post.key, post.text or "") for post in page.posts]
            cursor = page.cursor
            if cursor is None:
                break

    said = [("" if text.strip().lower() == "nan" else text.strip(), url) for text, url in rows]
    assert found == [(url, text) for text, url in said]


XML_TEXT = st.text(
    st.characters(min_codepoint=32, max_codepoint=0xFFFD, exclude_categories=("Cs",)), max_size=30
)


@given(st.lists(st.tuples(XML_TEXT, XML_TEXT, XML_TEXT), max_size=5))
def test_any_text_in_items_keeps_every_item(fields: list[tuple[str, str, str]]) -> None:
    items = [
        f"<guid>{number} {escape(guid)}</guid><pubDate>{escape(date)}</pubDate>"
        f"<enclosure url={quoteattr(url)} length={quoteattr(date)} type={quoteattr(guid)}/>"
        for number, (guid, date, url) in enumerate(fields)
    ]
    page = parse("rss", rss(*items))

    assert len(page.posts) == len(fields)
    for post in page.posts:
        _check(post)


@given(st.text(max_size=60), st.sampled_from([None, "https://a.example.com/x/y?z"]))
def test_an_address_is_whole_or_unusable(raw: str, base: str | None) -> None:
    found = resolve(raw, base)

    if not isinstance(found, Unusable):
        assert resolve(found, None) == found
        assert urlsplit(found).scheme in ("http", "https")


@given(st.text(max_size=60))
def test_reading_a_date_never_fails(text: str) -> None:
    found = read_date(text)

    assert found is None or found.utcoffset() is not None


@given(st.datetimes())
def test_a_date_that_we_write_is_read_back(moment: object) -> None:
    found = read_date(f"{moment}")

    assert found is not None
    assert found.replace(tzinfo=None) == moment


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["", "# c", "x", "https://a.example.com/%d.jpg"]), max_size=2500))
def test_a_list_read_in_chunks_loses_nothing(lines: list[str]) -> None:
    whole = [line % number if "%" in line else line for number, line in enumerate(lines)]
    body = "https://a.example.com/first.jpg\n" + "\n".join(whole)
    cursor, found, skipped = None, [], 0
    for _ in range(10):
        page = parse("list", body, cursor=cursor)
        found += [post.key for post in page.posts]
        skipped += len(page.skipped)
        cursor = page.cursor
        if cursor is None:
            break

    assert found[1:] == [line for line in whole if line.startswith("https")]
    assert skipped == whole.count("x")
