"""Weibo's pictures and live photos, one trait at a time."""

from __future__ import annotations

import pytest

from core.model.post import MediaKind
from tests.support.weibo import (
    ajax,
    info,
    keys_of,
    media_of,
    mobile,
    only,
    pic,
    timeline,
)

LIVE = "https://livephoto.weibovid.test/000live.mov"
WRAPPER = "https://video.weibosite.test/media/play?livephoto=https%3A%2F%2Fl.weibovid.test%2F0.mov"


@pytest.mark.parametrize(
    "pics", [[pic("a"), pic("b")], {"0": pic("a"), "1": pic("b")}], ids=["list", "object"]
)
def test_pictures_come_as_a_list_or_as_an_object(pics: object) -> None:
    assert keys_of(mobile({"id": "1", "pics": pics})) == ["a", "b"]


def test_the_order_of_pictures_is_that_of_their_ids() -> None:
    page = ajax({"id": 1, "pic_ids": ["b", "a"], "pic_infos": {"a": info("a"), "b": info("b")}})

    assert keys_of(page) == ["b", "a"]


def test_pictures_without_an_order_are_all_taken() -> None:
    assert keys_of(ajax({"id": 1, "pic_infos": {"a": info("a"), "b": info("b")}})) == ["a", "b"]


def test_row_31_a_moving_picture_stays_one_whatever_its_small_sizes_are() -> None:
    still = {"url": "https://wx1.weiboimg.test/thumb150/a.jpg"}
    moving = {"url": "https://wx1.weiboimg.test/bmiddle/a.gif"}
    told = {"mw2000": still, "bmiddle": moving, "type": "gif"}

    (media,) = media_of(ajax({"id": 1, "pic_ids": ["a"], "pic_infos": {"a": told}}))

    assert media.kind is MediaKind.IMAGE
    assert media.renditions[0].url.endswith("/bmiddle/a.gif")


def test_row_31_the_open_apis_thumbnail_of_a_moving_picture_may_be_a_still() -> None:
    page = timeline(
        {
            "idstr": "1",
            "pic_urls": [{"thumbnail_pic": "http://ww1.weiboimg.test/thumb150/X.jpg"}],
            "original_pic": "http://ww1.weiboimg.test/large/X.gif",
        }
    )

    (media,) = media_of(page)
    assert media.renditions[0].url == "https://ww1.weiboimg.test/large/X.gif"


def test_a_picture_without_its_largest_size_has_the_next() -> None:
    told = {"url": "https://wx1.weiboimg.test/orj360/a.jpg", "pid": "a", "large": None}

    (media,) = media_of(mobile({"id": "1", "pics": [told]}))

    assert [one.url for one in media.renditions] == ["https://wx1.weiboimg.test/orj360/a.jpg"]


def test_a_picture_in_the_text_is_a_picture_of_the_post() -> None:
    link = "https://weibo.cn/sinaurl?u=https%3A%2F%2Fwx1.weiboimg.test%2Flarge%2Fa.jpg"
    text = (
        f'see <a data-x="1" href="{link}">查看图片</a> &amp; <a href="https://x.test/b.jpg">b</a>'
    )

    page = mobile({"id": "1", "text": text})

    assert keys_of(page) == ["a"]
    assert only(page).text == "see 查看图片 & b"


def test_an_articles_cover_is_a_picture() -> None:
    card = {"type": "article", "page_pic": {"url": "https://wx1.weiboimg.test/large/cover.jpg"}}

    assert keys_of(mobile({"id": "1", "page_info": card})) == ["cover"]


def test_the_same_picture_twice_is_one_and_nothing_is_missing() -> None:
    page = mobile({"id": "1", "pic_num": 2, "pics": [pic("a"), pic("a")]})

    assert keys_of(page) == ["a"]
    assert only(page).announced == 1


@pytest.mark.parametrize("large", [{"url": 5}, {"url": "ftp://x/y"}, {"url": "https://["}, 7, []])
def test_a_picture_without_an_address_is_named(large: object) -> None:
    page = mobile({"id": "1", "pics": [{"pid": "a", "large": large}, pic("b")]})

    assert keys_of(page) == ["b"]
    assert [one.model_dump() for one in page.skipped] == [
        {"where": "1, picture a", "reason": "no_address"}
    ]


def test_sizes_may_be_texts_or_numbers() -> None:
    large = {"url": "https://wx1.weiboimg.test/large/a.jpg", "geo": {"width": "9", "height": 8}}

    (media,) = media_of(mobile({"id": "1", "pics": [pic("a", large=large)]}))

    assert (media.renditions[0].width, media.renditions[0].height) == (9, 8)


# --- live photos ---


@pytest.mark.parametrize("film", [LIVE, WRAPPER])
def test_row_13_a_live_photo_is_a_still_and_the_film_of_it(film: str) -> None:
    told = pic("a", type="livephoto", videoSrc=film)

    still, motion = media_of(
        mobile({"id": "1", "pic_num": 1, "pics": [told], "live_photo": [film]})
    )

    assert (still.kind, motion.kind) == (MediaKind.IMAGE, MediaKind.VIDEO)
    assert motion.motion_of == still.key == "a"
    assert motion.key == "a:live"
    assert motion.renditions[0].url == film


def test_row_13_the_desktops_live_photo_too() -> None:
    told = info("a", type="livephoto", video=LIVE)
    page = ajax({"id": 1, "pic_num": 1, "pic_ids": ["a"], "pic_infos": {"a": told}})

    still, motion = media_of(page)

    assert motion.motion_of == still.key
    assert only(page).announced == 1


def test_row_13_an_older_list_of_films_goes_by_the_order_of_live_photos() -> None:
    pics = [pic("a"), pic("b", type="livephoto"), pic("c", type="livephoto")]

    page = mobile({"id": "1", "pics": pics, "live_photo": [LIVE, WRAPPER]})

    links = {
        media.motion_of: media.renditions[0].url for media in media_of(page) if media.motion_of
    }
    assert links == {"b": LIVE, "c": WRAPPER}


def test_row_13_films_without_a_place_are_kept_on_their_own() -> None:
    page = mobile({"id": "1", "pics": [pic("a"), pic("b")], "live_photo": [LIVE, 5]})

    assert [media.motion_of for media in media_of(page)] == [None, None, None]
    assert media_of(page)[2].renditions[0].url == LIVE


def test_row_13_a_live_photo_without_its_film_says_so() -> None:
    told = info("a", type="livephoto")
    page = ajax({"id": 1, "pic_ids": ["a"], "pic_infos": {"a": told}})

    assert keys_of(page) == ["a"]
    assert page.skipped[0].where == "1, picture a, its film"
