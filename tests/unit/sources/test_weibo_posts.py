"""Whose post it is, and what its record says."""

from __future__ import annotations

import pytest

from core.model.post import FeedPage
from core.sources.weibo_ref import read_ref
from tests.support.weibo import (
    FILM,
    MOBILE,
    ajax,
    info,
    keys_of,
    media_of,
    mobile,
    only,
    pic,
    played,
    read,
    reasons_of,
    timeline,
    video,
)


def test_row_30_a_pinned_post_is_marked_and_the_others_are_newest_first() -> None:
    page = ajax({"id": 9, "isTop": 1}, {"id": 8}, {"id": 7, "title": {"text": "置顶"}})

    assert [post.pinned for post in page.posts] == [True, False, True]
    assert page.newest_first


@pytest.mark.parametrize(
    "card",
    [
        {"card_type": 9, "mblog": {"id": "1", "mblogtype": 2}},
        {"card_type": "9", "mblog": {"id": "1"}, "profile_type_id": "proweibotop_"},
        {"card_type": 11, "card_group": [{"card_type": 9, "mblog": {"id": "1", "isTop": True}}]},
    ],
)
def test_row_30_the_mobile_site_marks_pinned_posts_in_three_ways(card: object) -> None:
    page = read({"ok": 1, "data": {"cards": [card]}}, MOBILE)

    assert only(page).pinned


def test_a_pinned_post_that_stands_in_its_own_place_too_is_one() -> None:
    page = ajax({"id": 9, "isTop": 1}, {"id": 9})

    assert only(page).pinned
    assert reasons_of(page) == ["no_media", "duplicate"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"title": {"text": "他 06-15赞过"}}, "liked_not_posted"),
        ({"ori_mid": "5"}, "quick_repost"),
        ({"deleted": "1", "user": None}, "deleted"),
        ({"deleted": 1}, "deleted"),
    ],
)
@pytest.mark.parametrize("of", [ajax, mobile])
def test_what_the_member_did_not_post_is_skipped_by_name(
    of: object, status: dict[str, object], reason: str
) -> None:
    page = of({"id": "7", "pics": [pic("a")]} | status)  # type: ignore[operator]

    assert page.posts == ()
    assert [one.model_dump() for one in page.skipped] == [{"where": "7", "reason": reason}]


@pytest.mark.parametrize(
    "shared", [{}, {"id": 5, "user": None, "text": "x"}, {"deleted": "1"}, [], "x"]
)
@pytest.mark.parametrize("of", [ajax, mobile, timeline])
def test_row_21_a_repost_of_what_is_gone_keeps_what_it_has(of: object, shared: object) -> None:
    page = of({"id": "7", "text": "said", "retweeted_status": shared}, {"id": "6"})  # type: ignore[operator]

    assert [post.key for post in page.posts] == ["7", "6"]
    assert page.posts[0].text == "said"
    assert page.skipped[0].reason == "repost_of_deleted"
    assert "deleted" in page.posts[0].notes[0]


@pytest.mark.parametrize("of", [ajax, mobile, timeline])
def test_row_21_a_post_that_shares_nothing_says_so_by_null(of: object) -> None:
    page = of({"id": "7", "text": "said", "retweeted_status": None, "user": None})  # type: ignore[operator]

    assert only(page).text == "said"
    assert only(page).author is None
    assert reasons_of(page) == ["no_media"]


def test_a_restricted_origin_without_its_user_still_gives_its_pictures() -> None:
    page = mobile({"id": "7", "retweeted_status": {"id": "5", "pics": [pic("a")]}})

    assert keys_of(page) == ["a"]
    assert only(page).origin == "5"


def test_a_repost_has_its_own_author_and_time_and_the_origins_media() -> None:
    shared = {"id": 5, "user": {"id": 2}, "pic_ids": ["a"], "pic_infos": {"a": info("a")}}
    own = {"id": 7, "user": {"id": 1, "screen_name": "n"}, "retweeted_status": shared}
    page = ajax(own | {"page_info": video(played())})

    assert keys_of(page) == ["a", "1034:5"]
    assert only(page).author is not None
    assert only(page).author.id == "1"  # type: ignore[union-attr]
    assert only(page).origin == "5"


# --- the record ---


@pytest.mark.parametrize(
    ("status", "key"),
    [
        ({"id": 5300000000000119}, "5300000000000119"),
        ({"id": 5.0e15, "idstr": "5300000000000119"}, "5300000000000119"),
        ({"mid": "4"}, "4"),
    ],
)
def test_an_id_is_text(status: object, key: str) -> None:
    assert only(ajax(status)).key == key


def test_a_post_without_an_id_is_known_by_its_content() -> None:
    first, second = ajax({"text_raw": "a"}, {"text_raw": "b"}).posts

    assert first.key != second.key


@pytest.mark.parametrize("entry", [None, 5, "x", []])
def test_an_entry_that_is_no_post_costs_no_other(entry: object) -> None:
    page = ajax(entry, {"id": 2})

    assert [post.key for post in page.posts] == ["2"]
    assert page.skipped[0].model_dump() == {"where": "item 1", "reason": "not_an_object"}


def test_a_post_that_not_everybody_sees_is_noted() -> None:
    page = ajax({"id": 1, "visible": {"type": 10}})

    assert "visible.type 10" in only(page).notes[0]


def test_a_text_that_is_cut_off_is_noted() -> None:
    assert "cut off" in only(mobile({"id": "1", "isLongText": True, "text": "x"})).notes[0]


def test_a_bid_that_only_the_card_tells_is_the_links() -> None:
    card = {
        "card_type": 9,
        "scheme": "https://m.weibosite.test/status/Lm5?mblogid=Lm5",
        "mblog": {"id": "1", "bid": ""},
    }
    page = read({"ok": 1, "data": {"cards": [card]}}, MOBILE)

    assert only(page).link == "https://m.weibosite.test/status/Lm5"


@pytest.mark.parametrize(
    ("of", "referer"),
    [
        (mobile({"id": "1", "pics": [pic("a")]}), "https://m.weibo.cn/"),
        (ajax({"id": 1, "pic_infos": {"a": info("a")}}), "https://weibo.com/"),
        (timeline({"id": 1, "original_pic": "http://w.test/large/a.jpg"}), "https://weibo.com/"),
    ],
    ids=["mobile", "ajax", "open"],
)
def test_row_1_each_interfaces_media_are_asked_for_with_its_referer(
    of: FeedPage, referer: str
) -> None:
    assert [media.referer for media in media_of(of)] == [referer]


def test_a_video_can_be_asked_for_anew_and_a_picture_needs_not_to() -> None:
    page = mobile({"id": "1", "bid": "Lm5", "pics": [pic("a")], "page_info": FILM})

    picture, film = media_of(page)

    assert picture.ref is None
    assert film.ref is not None
    assert read_ref(film.ref).post == "https://m.weibosite.test/statuses/show?id=Lm5"
    assert read_ref(film.ref).key == film.key


# --- http and https ---


@pytest.mark.parametrize(
    ("page_url", "scheme"),
    [
        ("https://weibo.com", "https"),
        ("http://weibo.com", "https"),
        ("https://site.example.com", "https"),
        ("http://127.0.0.1:8123", "http"),
    ],
)
def test_http_becomes_https_but_for_another_site_that_speaks_http(
    page_url: str, scheme: str
) -> None:
    status = {"id": 1, "pic_infos": {"a": {"largest": {"url": "http://wx1.test/large/a.jpg"}}}}
    url = f"{page_url}/ajax/statuses/mymblog?uid=5"

    page = read({"ok": 1, "data": {"list": [status]}}, url)

    assert media_of(page)[0].renditions[0].url == f"{scheme}://wx1.test/large/a.jpg"
