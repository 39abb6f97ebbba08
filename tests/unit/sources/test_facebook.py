"""The Graph API's recorded pages, and what stands in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from core.errors import HeadraceError, Malformed
from core.model.post import FeedPage, MediaKind, MediaRecord, Post
from core.sources.facebook import FacebookAdapter
from core.sources.facebook_ref import read_ref
from core.sources.facebook_usage import rest_s
from tests.support.graph import API, PAGE, answer, photo, post, read, sizes
from tests.support.pages import DATA

ADAPTER = FacebookAdapter()
FOLDER = DATA / "facebook"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))["pages"]
TOLD = {told["file"]: told for told in json.loads((FOLDER / "responses.json").read_text("utf-8"))}
PAGES = [pytest.param(page, id=page["file"]) for page in EXPECTED if page["signal"] == "ok"]
REFUSALS = [pytest.param(page, id=page["file"]) for page in EXPECTED if page["signal"] != "ok"]
# Signal of the recorded expectations -> our error's class and reason.
MEANINGS = {
    "rate_limited": ("Throttled", "throttled"),
    "auth": ("SignedOut", "signed_out"),
    "permission": ("Forbidden", "permission"),
    "gone_or_forbidden": ("Gone", "gone_or_forbidden"),
    "transient": ("ServerTrouble", "server_trouble"),
}


def _recorded(file: str) -> FeedPage:
    told = TOLD[file]
    url = f"{API}/{PAGE}/{told['edge']}?limit=5"
    body = (FOLDER / file).read_bytes()
    return ADAPTER.parse(answer(body, url=url, status=told["status"], headers=told["headers"]))


def _record(post: Post, media: MediaRecord) -> dict[str, Any]:
    """In the words of the recorded expectations."""
    expires_at = ADAPTER.expires_at(media.renditions[0].url)
    return {
        "post_id": post.key,
        "media_index": media.position,
        "kind": str(media.kind),
        "url": media.renditions[0].url,
        "variants": [(r.url, r.width, r.height, r.mime) for r in media.renditions],
        "referer": media.referer,
        "created_at": f"{post.created_at:%Y-%m-%dT%H:%M:%SZ}",
        "author": post.author and post.author.model_dump(),
        "duration_s": media.duration_s,
        "poster": media.poster,
        "parent": post.origin,
        "expires_at": f"{datetime.fromtimestamp(expires_at or 0, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "key": media.key,
        "maybe_more": read_ref(media.ref or "").album is not None,
        "thumbnail_only": "only a thumbnail of the picture is named" in post.notes,
    }


def _told(record: dict[str, Any]) -> dict[str, Any]:
    extra = record["extra"]
    same = ("post_id", "media_index", "kind", "url", "referer", "created_at", "author")
    fields = ("url", "width", "height", "mime")
    return {name: record[name] for name in same} | {
        "variants": [tuple(v.get(name) for name in fields) for v in record["variants"]],
        "duration_s": record["duration_s"],
        "poster": extra.get("poster"),
        "parent": extra.get("parent_post_id"),
        "expires_at": extra["expires_at"],
        "key": extra.get("target_id", record["post_id"]),
        "maybe_more": extra.get("album_maybe_truncated", False),
        "thumbnail_only": extra.get("thumbnail_only", False),
    }


@pytest.mark.parametrize("expected", PAGES)
def test_recorded_pages_give_the_expected_media(expected: dict[str, Any]) -> None:
    page = _recorded(expected["file"])

    found = [_record(post, media) for post in page.posts for media in post.media]
    assert found == [_told(record) for record in expected["records"]]


@pytest.mark.parametrize("expected", PAGES)
def test_recorded_pages_say_what_was_skipped(expected: dict[str, Any]) -> None:
    page = _recorded(expected["file"])

    found = [(one.where.partition(",")[0], one.reason) for one in page.skipped]
    assert found == [(one["post_id"], one["reason"]) for one in expected["skipped"]]


@pytest.mark.parametrize("expected", PAGES)
def test_recorded_pages_lead_to_the_next_without_the_token(expected: dict[str, Any]) -> None:
    cursor = _recorded(expected["file"]).cursor
    following = expected["next"]

    if following is None:
        assert cursor is None
    else:
        parts = urlsplit(cursor or "")
        assert (parts.path, dict(parse_qsl(parts.query))) == (
            following["path"],
            following["params"],
        )


@pytest.mark.parametrize("expected", PAGES)
def test_recorded_pages_ask_for_a_rest_from_80_percent_on(expected: dict[str, Any]) -> None:
    page = _recorded(expected["file"])

    assert (page.rest_s is not None) == (expected["usage_pct_max"] >= 80)


@pytest.mark.parametrize("expected", [p for p in REFUSALS if "reduce" not in str(p.id)])
def test_recorded_refusals_mean_what_their_codes_say(expected: dict[str, Any]) -> None:
    with pytest.raises(HeadraceError) as caught:
        _recorded(expected["file"])

    error = caught.value
    assert (type(error).__name__, error.reason) == MEANINGS[expected["signal"]]
    if "retry_after_s" in expected:
        assert getattr(error, "delay_s", None) == expected["retry_after_s"]


def test_a_page_that_was_too_much_is_asked_for_with_half_its_posts() -> None:
    page = _recorded("error_reduce_data_1.json")

    assert page.posts == ()
    assert page.cursor == f"{API}/{PAGE}/published_posts?limit=2"
    assert "half" in page.notes[0]


@pytest.mark.parametrize("file", [file for file in TOLD if not file.startswith("error")])
def test_a_page_cut_anywhere_never_passes_for_a_whole_one(file: str) -> None:
    whole = (FOLDER / file).read_bytes().rstrip()

    for length in range(0, len(whole), 3):
        with pytest.raises(Malformed):
            ADAPTER.parse(answer(whole[:length]))


# --- posts ---


def test_an_empty_page_with_a_next_one_is_not_the_last() -> None:
    page = read(following=f"{API}/{PAGE}/published_posts?access_token=T&after=x")

    assert page.cursor == f"{API}/{PAGE}/published_posts?after=x"


def test_the_next_page_is_on_the_host_that_this_one_came_from() -> None:
    page = read(following="https://elsewhere.test/v27.0/1/posts?after=x&appsecret_proof=p")

    assert page.cursor == "https://graph.example.com/v27.0/1/posts?after=x"


def test_a_next_page_that_is_no_address_is_told() -> None:
    page = read(post("1"), following=["?"])

    assert page.cursor is None
    assert ("next page", "no_address") in [(one.where, one.reason) for one in page.skipped]


def test_an_album_gives_its_children_and_not_its_own_picture() -> None:
    children = {"data": [photo("810001"), photo("810002")]}
    album = photo("999999", attached="album", subattachments=children)
    (found,) = read(post("1", album)).posts

    assert [(m.key, m.position) for m in found.media] == [("810001", 0), ("810002", 1)]


def test_a_picture_that_stands_twice_in_a_post_is_one() -> None:
    (found,) = read(post("1", photo("810001"), photo("810002"), photo("810001"))).posts

    assert [m.key for m in found.media] == ["810001", "810002"]


@pytest.mark.parametrize(
    ("attachment", "reason"),
    [
        ({"type": "video_inline"}, "video_without_source"),
        ({"type": "animated_image_video", "media": {}}, "video_without_source"),
        ({"type": "share", "media": {"image": {"src": "https://a.test/p.jpg"}}}, "link_preview"),
        (photo("1", attached="animated_image_share"), "link_preview"),
        (photo("1", attached="anything", media_type="link"), "link_preview"),
        (
            {"type": "video_share_youtube", "media": {"source": "https://v.test/embed/1"}},
            "link_preview",
        ),
        ({"type": "unavailable"}, "unavailable"),
        ({"type": "option"}, "no_media"),
    ],
)
def test_what_gives_no_media_is_named(attachment: object, reason: str) -> None:
    page = read(post("1", attachment))

    assert [one.reason for one in page.skipped] == [reason]
    assert page.skipped[0].where == f"{PAGE}_1, attachment 1"
    assert len(page.posts) == 1


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"is_hidden": True}, "hidden"),
        ({"timeline_visibility": "hidden"}, "hidden"),
        ({"is_published": False}, "unpublished"),
        ({"is_expired": True}, "expired"),
    ],
)
def test_a_post_that_is_not_for_everybody_is_not_kept(field: dict[str, Any], reason: str) -> None:
    page = read(post("1", photo("810001"), **field), post("2", photo("810002")))

    assert [one.key for one in page.posts] == [f"{PAGE}_2"]
    assert [one.reason for one in page.skipped] == [reason]


def test_a_kind_of_attachment_that_nobody_knew_is_a_picture_all_the_same() -> None:
    (found,) = read(post("1", photo("810001", attached="hologram"))).posts

    assert [m.kind for m in found.media] == [MediaKind.IMAGE]


def test_a_picture_without_an_id_is_known_by_its_file() -> None:
    (found,) = read(post("1", photo("81000123", target=None))).posts

    assert found.media[0].key == "81000123_n"
    assert found.media[0].ref is None


def test_a_share_keeps_its_own_key_and_names_its_origin() -> None:
    (found,) = read(post("1", photo("810001"), parent_id="77_8")).posts

    assert (found.key, found.origin) == (f"{PAGE}_1", "77_8")


def test_a_page_by_date_is_newest_first_whatever_stands_on_top() -> None:
    days = [3, 9, 8, 8]
    nodes = [post(f"{n}", created_time=f"2026-02-0{d}T00:00:00+0000") for n, d in enumerate(days)]

    assert read(*nodes).newest_first
    assert not read(*nodes, post("9", created_time="2026-02-09T00:00:00+0000")).newest_first


def test_one_bad_item_never_drops_its_page() -> None:
    page = read("text", None, post("1", created_time="yesterday"), {"attachments": 7}, post("2"))

    assert len(page.posts) == 3
    assert page.posts[0].notes == ("created_time: not a date: 'yesterday'",)
    assert [one.where for one in page.skipped][:2] == ["item 1", "item 2"]


def test_no_list_of_posts_is_no_page() -> None:
    with pytest.raises(Malformed) as caught:
        ADAPTER.parse(answer({"id": "1"}))

    assert caught.value.reason == "not_a_feed"


# --- photos and videos ---


def test_a_photos_images_stand_largest_first() -> None:
    page = read(sizes("81", 720, 2048, 130), url=f"{API}/{PAGE}/photos")

    assert [r.width for r in page.posts[0].media[0].renditions] == [2048, 720, 130]


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"live_status": "LIVE"}, "live_now"),
        ({"live_status": "SCHEDULED_UNPUBLISHED"}, "not_ready"),
        ({"status": {"video_status": "processing"}}, "not_ready"),
        ({"published": False}, "unpublished"),
    ],
)
@pytest.mark.parametrize("edge", ["videos", "video_reels"])
def test_a_video_that_is_not_final_is_news_later(
    edge: str, field: dict[str, Any], reason: str
) -> None:
    node = {"id": "83", "source": "https://video.fbvid.test/83.mp4"} | field
    page = read(node, url=f"{API}/{PAGE}/{edge}")

    assert page.posts == ()
    assert [one.reason for one in page.skipped] == [reason]


# --- usage ---


def _business(**usage: object) -> dict[str, str]:
    return {"X-Business-Use-Case-Usage": json.dumps({"1": [{"call_count": 1}, usage]})}


def test_the_rest_grows_with_what_is_used() -> None:
    percents = [79, 80, 90, 97, 100]
    rests = [rest_s({"x-app-usage": json.dumps({"call_count": p})}) or 0.0 for p in percents]

    assert rests[0] == 0.0
    assert rests == sorted(set(rests))
    assert rests[-1] < 3600


def test_the_told_minutes_win_over_the_percentage() -> None:
    assert rest_s(_business(total_time=100, estimated_time_to_regain_access=19)) == 19 * 60


@pytest.mark.parametrize(
    "value", ["", "{", "[]", "7", '{"call_count": null}', '{"1": 5}', "[" * 9999, '{"1": [NaN]}']
)
def test_usage_that_cannot_be_read_says_nothing(value: str) -> None:
    assert rest_s({"X-App-Usage": value, "X-Business-Use-Case-Usage": value}) is None
