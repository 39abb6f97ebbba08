"""Weibo's videos, one trait at a time."""

from __future__ import annotations

import pytest

from tests.support.weibo import (
    FILM,
    SIGNED,
    ajax,
    info,
    keys_of,
    media_of,
    mobile,
    only,
    pic,
    played,
    reasons_of,
    video,
)


def test_a_sheet_of_stills_is_no_film() -> None:
    sheet = played(mime="image/jpeg", url="https://wx1.weiboimg.test/large/scrub.jpg")

    (media,) = media_of(ajax({"id": 1, "page_info": video(sheet, played())}))

    assert [one.url for one in media.renditions] == [SIGNED]


@pytest.mark.parametrize("listed", [None, [], [played(mime="image/jpeg")], "x", [None, 5]])
def test_without_a_list_of_films_the_single_addresses_serve(listed: object) -> None:
    card = {"media_info": {"playback_list": listed, "stream_url": SIGNED, "mp4_720p_mp4": ""}}

    (media,) = media_of(ajax({"id": 1, "page_info": card}))

    assert [(one.url, one.width) for one in media.renditions] == [(SIGNED, 852)]


def test_halves_of_a_stream_go_behind_whole_files() -> None:
    dash = played(url="https://f.weibovid.test/dash.mp4", protocol="dash", width=9000, height=9000)

    (media,) = media_of(ajax({"id": 1, "page_info": video(dash, played())}))

    assert media.renditions[0].url == SIGNED


def test_a_replay_may_be_a_manifest() -> None:
    card = {"media_info": {"live_status": 3, "replay_hd": "https://live.weibovid.test/x.m3u8"}}

    (media,) = media_of(ajax({"id": 1, "page_info": card}))

    assert media.renditions[0].manifest == "hls"


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        (video(played(), live_status=1), "live_now"),
        (video(played()) | {"type": "5"}, "movie_card"),
        (video(played()) | {"type": 5}, "movie_card"),
        (video(), "no_address"),
    ],
)
@pytest.mark.parametrize("of", [ajax, mobile])
def test_what_is_no_film_of_the_members_is_skipped_by_name(
    of: object, card: object, reason: str
) -> None:
    page = of({"id": 1, "page_info": card})  # type: ignore[operator]

    assert media_of(page) == ()
    assert reasons_of(page) == [reason]


def test_a_video_is_known_by_its_object_under_both_web_interfaces() -> None:
    assert keys_of(ajax({"id": 1, "page_info": video(played())})) == ["1034:5"]
    assert keys_of(mobile({"id": "1", "page_info": FILM})) == ["1034:5"]


def test_a_mixed_post_has_everything_once_and_in_its_order() -> None:
    film = {"type": "video", "id": "1034:5", "data": video(played())}
    items = [film, {"type": "pic", "id": "b", "data": info("b")}, {"type": "new", "id": "z"}]
    page = ajax(
        {
            "id": 1,
            "pic_num": 3,
            "pic_ids": ["b"],
            "pic_infos": {"b": info("b")},
            "mix_media_info": {"items": items},
            "page_info": video(played()),
        }
    )

    assert keys_of(page) == ["1034:5", "b"]
    assert reasons_of(page) == ["unsupported_type"]
    assert only(page).announced == 2


def test_a_video_among_pictures_is_the_one_below_the_text() -> None:
    told = pic("a", type="video", videoSrc=SIGNED, duration=8)
    page = mobile({"id": "1", "pics": [told, pic("b")], "page_info": FILM})

    assert keys_of(page) == ["a:video", "b"]
    assert media_of(page)[0].poster == "https://wx1.weiboimg.test/large/a.jpg"


def test_a_film_tells_its_codecs_and_the_name_of_its_quality() -> None:
    entry = played(video_codecs="hvc1.1", audio_codecs="mp4a.40.2", label="mp4_hd")
    entry["meta"] = {"quality_label": "480p"}

    (media,) = media_of(ajax({"id": 1, "page_info": video(entry)}))

    assert media.renditions[0].codecs == "hvc1.1,mp4a.40.2"
    assert media.renditions[0].quality == "480p"


@pytest.mark.parametrize(
    ("told", "quality", "codecs"),
    [
        ({"mp4_hd_mp4": SIGNED}, "mp4_hd", None),  # as the address says
        ({"hevc_mp4_hd": "https://f.test/a.mp4"}, "hevc_mp4_hd", "hvc1"),
        ({"mp4_720p_mp4": "https://f.test/a.mp4"}, "mp4_720p_mp4", None),
    ],
)
def test_a_single_address_tells_what_it_can(
    told: dict[str, str], quality: str, codecs: str | None
) -> None:
    card = {"type": "video", "urls": told}

    (media,) = media_of(mobile({"id": "1", "page_info": card}))

    assert (media.renditions[0].quality, media.renditions[0].codecs) == (quality, codecs)


def test_a_picture_tells_the_names_of_its_sizes() -> None:
    told = {"pic_ids": ["a"], "pic_infos": {"a": info("a", mw2000={"url": "https://w.test/m.jpg"})}}

    (media,) = media_of(ajax({"id": 1} | told))

    assert [one.quality for one in media.renditions] == ["largest", "mw2000"]
