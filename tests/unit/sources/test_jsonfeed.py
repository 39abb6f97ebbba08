"""JSON Feed 1 and 1.1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import Malformed
from core.model.post import FeedPage, MediaKind
from tests.support.pages import URL, parse

VERSION = "https://jsonfeed.org/version/1.1"
CDN = "https://cdn.example.com"


def _parse(*items: object, url: str = URL, **feed: object) -> FeedPage:
    body = {"version": VERSION, "items": list(items)} | feed
    return parse("jsonfeed", json.dumps(body), url=url)


def _reason(body: bytes | str) -> str:
    with pytest.raises(Malformed) as caught:
        parse("jsonfeed", body)
    return caught.value.reason


def _attachment(name: str, **more: object) -> dict[str, Any]:
    return {"url": f"{CDN}/{name}", "mime_type": "video/mp4"} | more


def test_attachments_of_one_title_are_renditions_of_one_media() -> None:
    page = _parse(
        {"attachments": [_attachment("a.mp4", title="t"), _attachment("b.mp4", title="t")]}
    )

    (media,) = page.posts[0].media
    assert [r.url for r in media.renditions] == [f"{CDN}/a.mp4", f"{CDN}/b.mp4"]


def test_attachments_without_title_are_separate_media() -> None:
    page = _parse({"attachments": [_attachment("a.mp4"), _attachment("b.mp4", title="")]})

    assert [m.position for m in page.posts[0].media] == [0, 1]


def test_the_image_is_a_media_and_the_banner_is_not() -> None:
    page = _parse({"image": f"{CDN}/i.jpg", "banner_image": f"{CDN}/b.jpg"})

    assert [m.renditions[0].url for m in page.posts[0].media] == [f"{CDN}/i.jpg"]


def test_an_image_that_an_attachment_repeats_is_one_media_and_knows_its_size() -> None:
    same = {"url": f"{CDN}/i.jpg", "mime_type": "image/jpeg", "size_in_bytes": 7}
    page = _parse({"image": f"{CDN}/i.jpg", "attachments": [same]})

    (media,) = page.posts[0].media
    assert media.kind is MediaKind.IMAGE
    assert media.renditions[0].size_bytes == 7


@pytest.mark.parametrize(
    ("told", "key"),
    [
        ({"id": 2}, "2"),
        ({"id": 2.0}, "2"),
        ({"id": 12345678901234567890}, "12345678901234567890"),
        ({"id": "  x "}, "x"),
        ({"id": None, "url": "/p"}, "https://site.example.com/p"),
        ({"id": True, "url": "/p"}, "https://site.example.com/p"),
        ({"id": {}, "url": "/p"}, "https://site.example.com/p"),
    ],
)
def test_an_id_is_text_and_else_the_link(told: dict[str, Any], key: str) -> None:
    assert _parse(told).posts[0].key == key


def test_an_item_without_id_and_link_is_known_by_its_content() -> None:
    first, second = _parse({"content_text": "a"}, {"content_text": "b"}).posts

    assert first.key.startswith("digest:")
    assert first.key != second.key


@pytest.mark.parametrize("item", [None, 3, "x", [], True])
def test_an_item_that_is_no_object_is_skipped_and_the_next_is_read(item: object) -> None:
    page = _parse(item, {"id": "b"})

    assert [post.key for post in page.posts] == ["b"]
    assert (page.skipped[0].where, page.skipped[0].reason) == ("item 1", "not_an_object")


@pytest.mark.parametrize(
    ("attachment", "reason"),
    [
        (None, "not_an_object"),
        ({}, "no_address"),
        ({"url": 5}, "no_address"),
        ({"url": "mailto:a@b.example.com"}, "not_http_url"),
        ({"url": "https://x.example.com/\ud800"}, "not_http_url"),
        ({"url": "https://x.example.com/a.mp3", "mime_type": "audio/mpeg"}, "unsupported_type"),
    ],
)
def test_an_attachment_that_gives_no_media_is_skipped(attachment: object, reason: str) -> None:
    page = _parse({"id": "a", "attachments": [attachment]})

    assert [s.reason for s in page.skipped] == [reason]


@pytest.mark.parametrize("value", [None, 5, "x", {}, [], [[]], True, -1, 1e308, "\ud800"])
@pytest.mark.parametrize(
    "field",
    ["id", "url", "title", "image", "attachments", "date_published", "authors", "content_text"],
)
def test_a_field_of_a_wrong_type_costs_no_item(field: str, value: object) -> None:
    item = {"id": "a", "attachments": [_attachment("a.mp4")]} | {field: value}
    page = _parse(item, {"id": "b"})

    assert len(page.posts) == 2


@pytest.mark.parametrize("size", [0, -5, None, "x", True, 1e400, [], 10**400])
def test_a_size_that_is_none_is_unknown(size: object) -> None:
    page = _parse({"attachments": [_attachment("a.mp4", size_in_bytes=size)]})

    assert page.posts[0].media[0].renditions[0].size_bytes is None


def test_a_relative_address_in_a_local_file_is_skipped() -> None:
    page = _parse({"id": "a", "image": "i.jpg"}, url="file:feed.json")

    assert [s.reason for s in page.skipped] == ["relative_without_base"]


def test_the_next_page_resolves_against_this_one() -> None:
    assert _parse(next_url="?page=2").cursor == f"{URL}?page=2"


def test_a_feed_that_has_ended_says_so() -> None:
    assert "ended" in _parse(expired=True).notes[0]


def test_a_feed_without_version_is_read_with_a_note() -> None:
    page = parse("jsonfeed", '{"items": [{"id": "a"}]}')

    assert [post.key for post in page.posts] == ["a"]
    assert page.notes


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("[]", "not_a_feed"),
        ('{"error": "no"}', "not_a_feed"),
        (f'{{"version": "{VERSION}"}}', "no_items"),
        (f'{{"version": "{VERSION}", "items": null}}', "no_items"),
        ('{"items": [tru]}', "bad_json"),
        ('{"items": []} <b>Warning</b>', "bad_json"),
        ('{"items": ' + "[" * 200_000, "too_deep"),
        ('{"items": [{"id": "a"}, {"id"', "truncated"),
        ('{"items": [{"id": "a"}', "truncated"),
        ('{"items": [{"id": "caf\xe9'.encode()[:-1], "truncated"),
        (b'{"items": [{"id": "\xff"}]}', "bad_json"),
    ],
)
def test_a_body_that_can_not_be_read_is_refused_by_its_fault(
    body: bytes | str, reason: str
) -> None:
    assert _reason(body) == reason


def test_a_number_of_thousands_of_digits_costs_no_item() -> None:
    page = parse("jsonfeed", '{"items": [{"id": ' + "9" * 5000 + '}, {"id": "b"}]}')

    assert [post.key for post in page.posts] == ["9" * 5000, "b"]


def test_utf_16_is_read() -> None:
    page = parse("jsonfeed", '{"items": [{"id": "水"}]}'.encode("utf-16"))

    assert [post.key for post in page.posts] == ["水"]
