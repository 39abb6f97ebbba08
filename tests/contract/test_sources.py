"""Every adapter against the recorded pages and against damage: a `FeedPage` or `Malformed`, and
nothing else."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from core.errors import Malformed
from core.model.post import FeedPage, MediaRecord, Post
from core.sources import ADAPTERS, Signs, adapter
from core.sources.adapter import Adapter
from core.sources.body import MAX_BODY_BYTES
from core.sources.json_page import SOURCE_JSON_BYTES
from tests.support.pages import DATA, page_input, parse, rss

# Feeds that anyone may read at their own address; what knows its readers has an API behind it.
OPEN = [name for name, reader in ADAPTERS.items() if not isinstance(reader, Signs)]
FOLDERS = {
    "rss": "rss",
    "atom": "atom",
    "jsonfeed": "jsonfeed",
    "lists": "list",
    "sitemap": "sitemap",
    "iiif": "iiif",
}
FILES = {
    "rss/feed_page1.xml": "rss",
    "rss/feed_page2_last.xml": "rss",
    "atom/feed.xml": "rss",
    "jsonfeed/page1.json": "jsonfeed",
    "jsonfeed/page2_last.json": "jsonfeed",
    "sitemap/index.xml": "sitemap",
    "sitemap/sitemap-images.xml.gz": "sitemap",
    "sitemap/sitemap-videos.xml": "sitemap",
    "iiif/manifest_v2.json": "iiif",
    "iiif/manifest_v3.json": "iiif",
    "lists/urls.txt": "list",
    "lists/pairs.csv": "list",
    "lists/pairs.tsv": "list",
    "lists/pairs.jsonl": "list",
    "lists/array.json": "list",
}
READ_AT = 1773100800.0  # the recorded clock, 2026-03-10: what expires by it is expected to be so
STRUCTURED = [file for file, name in FILES.items() if name != "list"]


def _bytes(file: str) -> bytes:
    """As an adapter gets them: gzip is undone where bytes are read."""
    raw = (DATA / file).read_bytes()
    return gzip.decompress(raw) if file.endswith(".gz") else raw


def _expected_pages(*, without: str = "") -> list[Any]:
    found = []
    for folder, name in FOLDERS.items():
        if folder == without:
            continue
        told = json.loads((DATA / folder / "expected.json").read_text("utf-8"))
        for page in told["pages"]:
            ident = f"{folder}/{page['file']}"
            found += [
                pytest.param(using, folder, page, id=f"{using}-{ident}") for using in (name, "feed")
            ]
    return found


def _parsed(name: str, folder: str, expected: dict[str, Any]) -> FeedPage:
    url = expected.get("base", "https://lists.example.com/urls.txt")
    return parse(name, _bytes(f"{folder}/{expected['file']}"), url=url, read_at=READ_AT)


def _records(page: FeedPage) -> list[dict[str, Any]]:
    return [_record(post, media) for post in page.posts for media in post.media]


def _record(post: Post, media: MediaRecord) -> dict[str, Any]:
    """In the words of the recorded expectations."""
    manifest = next((r for r in media.renditions if r.manifest), None)
    return {
        "media_index": media.position,
        "kind": str(media.kind),
        "url": media.renditions[0].url,
        "manifest": {"type": manifest.manifest, "url": manifest.url} if manifest else None,
        "variants": sorted(
            (
                {
                    "url": r.url,
                    "mime": r.mime,
                    "width": r.width,
                    "height": r.height,
                    "bitrate": r.bitrate,
                    "size": r.size_bytes,
                }
                for r in media.renditions
            ),
            key=lambda variant: variant["url"],
        ),
        "created_at": post.created_at.strftime("%Y-%m-%dT%H:%M:%SZ") if post.created_at else None,
        "author": post.author.name if post.author else None,
        "expected_size": media.renditions[0].size_bytes,
        "duration_s": media.duration_s,
        "poster": media.poster,
        "hashes": media.hashes,
    }


def _told(record: dict[str, Any]) -> dict[str, Any]:
    """One recorded expectation, with every field spelled out."""
    fields = ("url", "mime", "width", "height", "bitrate", "size")
    variants = [{field: v.get(field) for field in fields} for v in record["variants"]]
    algorithm, _, digest = record["extra"].get("hash", "").partition(":")
    hashes = {name: record["extra"][name] for name in ("md5", "sha256") if name in record["extra"]}
    same = ("media_index", "kind", "url", "manifest", "created_at", "expected_size", "duration_s")
    return {field: record[field] for field in same} | {
        "variants": sorted(variants, key=lambda variant: variant["url"]),
        "author": (record["author"] or {}).get("name"),
        "poster": record["extra"].get("poster"),
        "hashes": {algorithm: digest} if digest else hashes,
    }


@pytest.mark.parametrize(("name", "folder", "expected"), _expected_pages())
def test_recorded_pages_give_the_expected_media(
    name: str, folder: str, expected: dict[str, Any]
) -> None:
    page = _parsed(name, folder, expected)

    assert _records(page) == [_told(record) for record in expected.get("records", ())]


@pytest.mark.parametrize(("name", "folder", "expected"), _expected_pages())
def test_recorded_pages_say_what_was_skipped(
    name: str, folder: str, expected: dict[str, Any]
) -> None:
    page = _parsed(name, folder, expected)
    reasons = [skipped.reason for skipped in page.skipped]

    for told in expected.get("skipped", ()):
        assert told["reason"] in reasons
        for unit in {"line", "row"} & told.keys():
            assert {"where": f"{unit} {told[unit]}", "reason": told["reason"]} in [
                skipped.model_dump() for skipped in page.skipped
            ]


# A list's posts are known by their addresses, not by the recorded line numbers.
@pytest.mark.parametrize(("name", "folder", "expected"), _expected_pages(without="lists"))
def test_recorded_pages_keep_the_ids_that_feeds_give(
    name: str, folder: str, expected: dict[str, Any]
) -> None:
    page = _parsed(name, folder, expected)
    keys = {post.key for post in page.posts}

    assert {record["post_id"] for record in expected.get("records", ())} <= keys
    if folder != "sitemap":  # most pages of a site show no media: they are told, and are no posts
        assert {skipped["post_id"] for skipped in expected.get("skipped", ())} <= keys


@pytest.mark.parametrize(("name", "folder", "expected"), _expected_pages())
def test_recorded_pages_lead_to_the_next(name: str, folder: str, expected: dict[str, Any]) -> None:
    page = _parsed(name, folder, expected)
    url = next(iter(expected.get("children", ())), expected.get("next") or {}).get("url")

    if url is None:
        assert page.cursor is None
    else:
        request = adapter(name).request("https://other.example.com/", page.cursor)
        assert request is not None
        assert request.url == url


@pytest.mark.parametrize("file", STRUCTURED)
@pytest.mark.parametrize("name", ["own", "feed"])
def test_a_page_cut_anywhere_never_passes_for_a_whole_one(name: str, file: str) -> None:
    whole = _bytes(file).rstrip()
    using = FILES[file] if name == "own" else name

    for length in range(len(whole)):
        with pytest.raises(Malformed):
            parse(using, whole[:length])


@pytest.mark.parametrize("file", STRUCTURED)
def test_a_page_cut_within_its_items_is_called_truncated(file: str) -> None:
    whole = _bytes(file)
    beginnings = (b"<item", b"<entry", b"<url>", b"<sitemap>", b'"items"', b'"sequences"')
    start = max(map(whole.find, beginnings))

    for length in range(start + 20, len(whole.rstrip()) - 1, 7):
        with pytest.raises(Malformed) as caught:
            parse(FILES[file], whole[:length])
        assert caught.value.reason == "truncated"


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("value", [0x00, 0x22, 0x26, 0x3C, 0xFF])
def test_a_damaged_byte_gives_a_page_or_malformed(file: str, value: int) -> None:
    whole = bytearray(_bytes(file))

    for at in range(0, len(whole), 23):
        damaged = bytearray(whole)
        damaged[at] = value
        for name in (FILES[file], "feed"):
            _page_or_malformed(name, bytes(damaged))


def _page_or_malformed(name: str, body: bytes) -> None:
    try:
        found = parse(name, body)
    except Malformed:
        return
    assert isinstance(found, FeedPage)


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("body", [b"", b" \r\n\t", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_an_empty_body_is_called_empty(name: str, body: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        parse(name, body)

    assert caught.value.reason == "empty"


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><body>Please log in</body></html>",
        b"\xef\xbb\xbf\n <!-- proxy --> <HTML><head></head></HTML>",
        b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "a" "b"><html/>',
        "<!doctype html><title>Non</title>".encode("utf-16"),
    ],
)
def test_an_html_page_is_named_as_such(name: str, body: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        parse(name, body)

    assert caught.value.reason == "html_instead_of_feed"


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_error_names_the_page_without_its_secrets(name: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(name, b"", url="https://user:pass@site.example.com/f?token=hidden")

    assert "site.example.com/f" in str(caught.value)
    assert "hidden" not in str(caught.value)
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize("name", ["feed", "rss", "jsonfeed", "sitemap", "iiif"])
def test_a_body_past_the_bound_is_refused(name: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(name, b"<" + b" " * MAX_BODY_BYTES)

    assert caught.value.reason == "page_too_large"


@pytest.mark.parametrize("name", ["facebook", "weibo", "bilibili", "mastodon"])
def test_an_answer_of_a_named_source_has_a_smaller_bound(name: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(name, b'{"a": "' + b" " * SOURCE_JSON_BYTES + b'"}')

    assert caught.value.reason == "page_too_large"


@pytest.mark.parametrize(
    "body", [rss(*[""] * 11), '{"items": [' + ",".join(["{}"] * 11) + "]}"], ids=["rss", "json"]
)
def test_a_page_of_items_past_the_bound_is_refused(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.sources.rss.MAX_ITEMS", 10)
    monkeypatch.setattr("core.sources.jsonfeed.MAX_ITEMS", 10)

    with pytest.raises(Malformed, match="10 items") as caught:
        parse("feed", body)

    assert caught.value.reason == "page_too_large"


@pytest.mark.parametrize("name", OPEN)
def test_the_first_page_of_an_address_is_asked_for(name: str) -> None:
    request = adapter(name).request("https://site.example.com/f", None)

    assert request is not None
    assert request.url == "https://site.example.com/f"


@pytest.mark.parametrize("name", OPEN)
def test_a_local_file_is_read_and_not_asked_for(name: str) -> None:
    assert adapter(name).request("file:feed.xml", None) is None


@pytest.mark.parametrize(("key", "value"), ADAPTERS.items())
def test_the_registry_knows_each_adapter_by_its_own_name(key: str, value: Adapter) -> None:
    assert value.name == key


@pytest.mark.parametrize("file", FILES)
def test_parsing_twice_gives_the_same(file: str) -> None:
    page = page_input(_bytes(file))
    reader = adapter(FILES[file])

    assert reader.parse(page) == reader.parse(page)
