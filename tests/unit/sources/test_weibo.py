"""Weibo's recorded pages, and what stands in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from core.errors import HeadraceError
from core.model.post import FeedPage, MediaRecord, Post
from core.sources.weibo_address import Shape, read_cursor
from core.sources.weibo_look import read_shown
from tests.support.pages import DATA
from tests.support.weibo import ADAPTER, ADDRESSES, INDEX, always, answer

# Signal of the recorded expectations -> our error's class and reason.
MEANINGS = {
    "rate_limited": ("Throttled", "throttled"),
    "rate_limited_or_error": ("Throttled", "throttled"),
    "blocked_or_rate_limited": ("Throttled", "throttled"),
    "auth": ("SignedOut", "signed_out"),
    "permission": ("Forbidden", "permission"),
    "challenge_stop": ("SignedOut", "challenge"),
}
SHOW = "https://m.weibosite.test/statuses/show?id=Lm5b92e05"


def _told(folder: str) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = json.loads((DATA / folder / "expected.json").read_text("utf-8"))[
        "pages"
    ]
    return [page | {"folder": folder} for page in pages]


ALL = [page for folder in ADDRESSES for page in _told(folder)]
PAGES = [
    pytest.param(page, id=f"{page['folder']}-{page['file']}") for page in ALL if "records" in page
]
REFUSALS = [
    pytest.param(page, id=f"{page['folder']}-{page['file'] or page['status']}")
    for page in ALL
    if page["signal"] in MEANINGS
]


def _recorded(page: dict[str, Any]) -> FeedPage:
    """As a walk reads it: page after page, then the second look."""
    cursor = None
    if page["folder"] == "weibo_open" and page["file"] == "page2_last.json":
        cursor = "max_id=5320000000000048&told=1"
    if page["folder"] == "weibo_ajax" and page["file"] == "page2_last.json":
        cursor = "page=2&since_id=5299999999999990kp2"
    body = (DATA / page["folder"] / page["file"]).read_bytes()
    found = ADAPTER.parse(answer(body, ADDRESSES[page["folder"]], cursor=cursor))
    if page["folder"] != "weibo_mobile":
        return found
    show = (DATA / "weibo_mobile" / "show_292.json").read_bytes()
    return ADAPTER.complete(found, always(show))


def _record(post: Post, media: MediaRecord) -> dict[str, Any]:
    """In the words of the recorded expectations."""
    best = media.renditions[0]
    expires_at = ADAPTER.expires_at(best.url)
    stamp = datetime.fromtimestamp(expires_at, UTC) if expires_at else None
    return {
        "post_id": post.key,
        "media_index": media.position,
        "kind": str(media.kind),
        "url": best.url,
        "variants": [(r.url, r.width, r.height, r.bitrate, r.mime) for r in media.renditions],
        "referer": media.referer,
        "created_at": post.created_at and f"{post.created_at:%Y-%m-%dT%H:%M:%SZ}",
        "author": post.author and post.author.model_dump(),
        "expected_size": best.size_bytes,
        "duration_s": media.duration_s,
        "poster": media.poster,
        "expires_at": stamp and f"{stamp:%Y-%m-%dT%H:%M:%SZ}",
        "live_photo_of": media.motion_of,
        "pinned": post.pinned,
        "within_s": post.within_s,
    }


def _expected(record: dict[str, Any]) -> dict[str, Any]:
    fields = ("url", "width", "height", "bitrate", "mime")
    extra = record["extra"]
    precision = {"minute": 60.0, "hour": 3600.0, "day": 86_400.0, None: None}
    same = ("post_id", "media_index", "kind", "url", "referer", "created_at", "expected_size")
    return {name: record[name] for name in (*same, "author", "duration_s")} | {
        "variants": [tuple(v.get(name) for name in fields) for v in record["variants"]],
        "poster": extra.get("poster"),
        "expires_at": extra.get("expires_at"),
        "live_photo_of": extra.get("live_photo_of"),
        "pinned": extra.get("pinned", False),
        "within_s": precision[extra.get("created_at_precision")],
    }


@pytest.mark.parametrize("page", PAGES)
def test_recorded_pages_give_the_expected_media(page: dict[str, Any]) -> None:
    found = _recorded(page)
    records = [_record(post, media) for post in found.posts for media in post.media]

    assert records == [_expected(record) for record in page["records"]]


@pytest.mark.parametrize("page", PAGES)
def test_recorded_pages_name_the_pictures_by_their_ids(page: dict[str, Any]) -> None:
    found = _recorded(page)
    keys = [media.key for post in found.posts for media in post.media]

    for key, record in zip(keys, page["records"], strict=True):
        if "pic_id" in record["extra"]:
            assert key == record["extra"]["pic_id"]


@pytest.mark.parametrize("page", PAGES)
def test_recorded_reposts_keep_their_own_key_and_name_the_origin(page: dict[str, Any]) -> None:
    origins = {post.key: post.origin for post in _recorded(page).posts}

    for told in (*page["records"], *page["skipped"]):
        origin = told.get("origin_post_id") or told.get("extra", {}).get("origin_post_id")
        if origin and told.get("reason") != "quick_repost":
            assert origins[told["post_id"]] == origin


@pytest.mark.parametrize("page", PAGES)
def test_recorded_pages_say_what_was_skipped(page: dict[str, Any]) -> None:
    found = [(one.where.partition(", ")[0], one.reason) for one in _recorded(page).skipped]

    assert sorted(found) == sorted((one["post_id"], one["reason"]) for one in page["skipped"])


@pytest.mark.parametrize("page", PAGES)
def test_recorded_pages_lead_to_the_next(page: dict[str, Any]) -> None:
    cursor = _recorded(page).cursor

    if page["next"] is None:
        assert cursor is None
    else:
        assert cursor is not None
        told = {name: str(value) for name, value in page["next"].items()}
        assert told.items() <= read_cursor(cursor).items()


def test_the_recorded_index_leads_to_the_posts() -> None:
    body = (DATA / "weibo_mobile" / "index.json").read_bytes()
    page = ADAPTER.parse(answer(body, INDEX))

    assert page.posts == ()
    assert page.cursor == "containerid=1076037600100200"


def test_the_recorded_end_is_an_end() -> None:
    body = (DATA / "weibo_mobile" / "page3_end_ok0.json").read_bytes()
    page = ADAPTER.parse(answer(body, ADDRESSES["weibo_mobile"], cursor="since_id=5"))

    assert page.posts == ()
    assert page.cursor is None


def test_the_recorded_post_of_its_own_has_all_its_pictures() -> None:
    body = (DATA / "weibo_mobile" / "show_292.json").read_bytes()
    post = read_shown(answer(body, SHOW), Shape.MOBILE)

    assert len(post.media) == post.announced == 12


@pytest.mark.parametrize("page", REFUSALS)
def test_recorded_refusals_are_what_they_mean(page: dict[str, Any]) -> None:
    body = (DATA / page["folder"] / page["file"]).read_bytes() if page["file"] else b""
    url = ADDRESSES[page["folder"]]
    final = "https://passport.weibosite.test/visitor" if "detail" in page else url

    with pytest.raises(HeadraceError) as caught:
        ADAPTER.parse(answer(body, final, feed=url, status=page.get("status", 200)))
    assert (type(caught.value).__name__, caught.value.reason) == MEANINGS[page["signal"]]
