"""Bilibili: recorded answers end in the expected posts and media, refusals in what they mean."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from core import errors
from core.model.post import FeedPage, MediaRecord, Post
from core.model.request import Request
from core.sources import PageInput, adapter
from core.sources.adapter import Ask
from core.sources.bilibili import BilibiliAdapter
from tests.support.pages import DATA

DYNAMIC = DATA / "bilibili_dynamic"
VIDEO = DATA / "bilibili_video"
API = "https://api.bilibili.com"
FEED = f"{API}/x/polymer/web-dynamic/v1/feed/space?host_mid=700100200&features=itemOpusStyle"
VIEW = f"{API}/x/web-interface/view?bvid=BV1fakeAA001"
READER = BilibiliAdapter()


def page_of(body: object, *, url: str = FEED, cursor: str | None = None, status: int = 200):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return PageInput(BytesIO(raw), url, "application/json", cursor, status=status, feed=FEED)


def read(body: object, **more: Any) -> FeedPage:
    return READER.parse(page_of(body, **more))


def recorded(name: str) -> bytes:
    return (DYNAMIC / name).read_bytes()


def answering(answers: dict[str, object]) -> tuple[Ask, list[Request]]:
    """Answers by what an address ends with."""
    asked: list[Request] = []

    def ask(request: Request) -> PageInput:
        asked.append(request)
        found = next(body for end, body in answers.items() if request.url.endswith(end))
        if isinstance(found, Exception):
            raise found
        return page_of(found, url=request.url)

    return ask, asked


def dynamic(major: object, **more: object) -> dict[str, object]:
    """An item with this major part."""
    return {"id_str": "42", "modules": {"module_dynamic": {"major": major}}, **more}


def feed(*items: object, **data: object) -> dict[str, object]:
    return {"code": 0, "data": {"items": list(items), "has_more": False, **data}}


def archive(bvid: str = "BV1fakeAA001") -> dict[str, object]:
    return dynamic({"type": "MAJOR_TYPE_ARCHIVE", "archive": {"bvid": bvid}})


def view(**data: object) -> dict[str, object]:
    told = json.loads((VIDEO / "view_multi.json").read_text("utf-8"))
    return told | {"data": told["data"] | data}


# --- the recorded pages ---

PAGES = json.loads((DYNAMIC / "expected.json").read_text("utf-8"))["pages"]
GOOD = [page for page in PAGES if page["signal"] == "ok"]


def _record(post: Post, media: MediaRecord) -> dict[str, Any]:
    """In the words of the recorded expectations, but for sizes in kilobytes, which are not exact
    and so not told."""
    best = media.renditions[0]
    sizes = {"width": best.width, "height": best.height} if best.width else {}
    return {
        "post_id": post.key,
        "media_index": media.position,
        "kind": str(media.kind),
        "url": best.url,
        "manifest": best.manifest,
        "variants": [{"url": best.url, **sizes}],
        "referer": media.referer,
        "created_at": post.created_at and post.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "author": post.author and {"id": post.author.id, "name": post.author.name},
        "expected_size": best.size_bytes,
        "duration_s": media.duration_s,
        "pinned": post.pinned,
        "origin": post.origin,
        "motion_of": media.motion_of,
    }


def _told(record: dict[str, Any]) -> dict[str, Any]:
    extra = record["extra"]
    still = extra.get("live_photo_of")
    same = {name: record[name] for name in record if name not in ("extra", "source")}
    return same | {
        "pinned": extra.get("pinned", False),
        "origin": extra.get("origin_post_id"),
        "motion_of": still and still.removeprefix("https://i0.biliimg.test"),
    }


@pytest.mark.parametrize("expected", GOOD, ids=lambda page: page["file"])
def test_a_recorded_page_gives_the_expected_pictures(expected):
    page = read(recorded(expected["file"]))

    assert [
        _record(post, media)
        for post in page.posts
        for media in post.media
        if media.renditions[0].manifest is None
    ] == [_told(record) for record in expected["records"]]


@pytest.mark.parametrize("expected", GOOD, ids=lambda page: page["file"])
def test_a_recorded_page_names_the_videos_to_look_at(expected):
    page = read(recorded(expected["file"]))

    assert [
        (post.key, media.renditions[0].url, post.origin)
        for post in page.posts
        for media in post.media
        if media.renditions[0].manifest
    ] == [
        (
            look["post_id"],
            f"{API}/x/web-interface/view?bvid={look['bvid']}",
            look.get("origin_post_id"),
        )
        for look in expected["video_lookups"]
    ]


@pytest.mark.parametrize("expected", GOOD, ids=lambda page: page["file"])
def test_a_recorded_page_says_what_it_skips(expected):
    page = read(recorded(expected["file"]))
    covers_only = [("post 1100000000000000105", "article")] if "last" in expected["file"] else []

    assert sorted((one.where, one.reason) for one in page.skipped) == sorted(
        [(f"post {one['post_id']}", one["reason"]) for one in expected["skipped"]] + covers_only
    )


@pytest.mark.parametrize("expected", GOOD, ids=lambda page: page["file"])
def test_a_recorded_page_leads_to_the_next(expected):
    page = read(recorded(expected["file"]))

    assert page.cursor == (expected["next"] or {}).get("offset")
    assert page.newest_first


def test_every_item_of_a_page_is_a_post():
    page = read(recorded("page2_last.json"))

    assert [int(post.key[-3:]) for post in page.posts] == [110, 109, 108, 107, 106, 105, 104, 103]


def test_the_next_page_is_asked_for_where_the_feed_is():
    request = READER.request(
        "http://127.0.0.1:9/x/polymer/web-dynamic/v1/feed/space?host_mid=7", "55"
    )

    assert request is not None
    assert request.url == (
        "http://127.0.0.1:9/x/polymer/web-dynamic/v1/feed/space?host_mid=7&offset=55"
    )
    assert request.referer == "https://www.bilibili.com/"


# --- videos ---


def test_each_part_of_a_video_is_a_media():
    ask, asked = answering({"view?bvid=BV1fakeAA001": (VIDEO / "view_multi.json").read_bytes()})
    page = READER.complete(read(recorded("page1.json")), ask)
    post = next(post for post in page.posts if post.key == "1100000000000000118")

    assert [(media.key, media.title, media.position) for media in post.media] == [
        ("BV1fakeAA001:88001", "上", 0),
        ("BV1fakeAA001:88002", "下", 1),
    ]
    assert post.announced == 2
    assert [request.referer for request in asked] == ["https://www.bilibili.com/"]


def test_a_part_is_told_as_recorded():
    ask, _ = answering({"BV1fakeAA001": (VIDEO / "view_multi.json").read_bytes()})
    page = READER.complete(read(feed(archive())), ask)
    told = json.loads((VIDEO / "expected.json").read_text("utf-8"))["records"]
    second = told["playurl_dash_88002_silent_snake_only.json"][0]
    media = page.posts[0].media[1]

    assert media.duration_s == second["duration_s"]
    assert media.referer == second["referer"]
    assert (media.renditions[0].width, media.renditions[0].height) == (
        second["extra"]["display_width"],
        second["extra"]["display_height"],
    )


def test_a_part_is_got_by_an_address_that_does_not_die():
    ask, _ = answering({"BV1fakeAA001": view()})
    page = READER.complete(read(feed(archive())), ask)
    rendition = page.posts[0].media[0].renditions[0]

    assert rendition.manifest == "playurl"
    assert rendition.url == (
        f"{API}/x/player/playurl?bvid=BV1fakeAA001&cid=88001&qn=127&fnval=4048&fnver=0&fourk=1"
    )
    assert READER.expires_at(rendition.url) is None


def test_the_host_of_the_feed_tells_the_videos_too():
    here = "http://127.0.0.1:9/api/x/polymer/web-dynamic/v1/feed/space?host_mid=1"
    ask, asked = answering({"BV1fakeAA001": view()})
    page = READER.complete(read(feed(archive()), url=here), ask)

    assert asked[0].url == "http://127.0.0.1:9/api/x/web-interface/view?bvid=BV1fakeAA001"
    url = page.posts[0].media[0].renditions[0].url
    assert url.startswith("http://127.0.0.1:9/api/x/player/playurl?")


def test_a_video_that_two_posts_show_is_asked_for_once_and_is_one_media():
    ask, asked = answering({"BV1fakeAA001": view()})
    again = archive() | {"id_str": "43"}
    page = READER.complete(read(feed(archive(), again)), ask)

    assert len(asked) == 1
    assert [media.key for media in page.posts[0].media] == [
        media.key for media in page.posts[1].media
    ]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("view_gone_-404.json", "gone"),
        ("view_hidden_62002.json", "gone"),
        ("view_self_only_62012.json", "permission"),
        ("view_permission_-403.json", "permission"),
    ],
)
def test_a_video_that_can_not_be_had_costs_its_post_a_note(file, reason):
    ask, _ = answering({"BV1fakeAA001": (VIDEO / file).read_bytes()})
    page = READER.complete(read(feed(archive())), ask)

    assert [(one.where, one.reason) for one in page.skipped] == [("post 42", reason)]
    assert page.posts[0].media == ()
    assert "code" in page.posts[0].notes[0]


@pytest.mark.parametrize("file", ["playurl_voucher.json"])
def test_a_challenge_for_a_video_concerns_the_source(file):
    ask, _ = answering({"BV1fakeAA001": (VIDEO / file).read_bytes()})

    with pytest.raises(errors.SignedOut) as caught:
        READER.complete(read(feed(archive())), ask)
    assert caught.value.reason == "challenge"


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ({"code": 62003, "message": "话"}, "unknown_code"),
        ({"code": -500}, "server_trouble"),
        (errors.Forbidden("403", http_status=403), "forbidden"),
        (errors.Gone("404", http_status=404), "gone"),
        (errors.Gone("410", http_status=410), "gone"),
        (errors.ServerTrouble("502", http_status=502), "server_trouble"),
        (errors.EmptyBody("200"), "empty_body"),
        (b'{"code":0,', "truncated"),
        (b"<!DOCTYPE html><html>", "html_instead_of_feed"),
    ],
)
def test_one_video_that_can_not_be_had_costs_no_other_post(failure, reason):
    ask, _ = answering({"AA001": failure, "AA002": view()})
    other = archive("BV1fakeAA002") | {"id_str": "43"}
    page = READER.complete(read(feed(archive(), other)), ask)

    assert [(post.key, len(post.media)) for post in page.posts] == [("42", 0), ("43", 2)]
    assert [(one.where, one.reason) for one in page.skipped] == [("post 42", reason)]
    assert page.posts[0].notes[0].startswith("its video: ")


@pytest.mark.parametrize(
    "failure", [{"code": 62003}, errors.ServerTrouble("502"), b'{"code":0,'], ids=repr
)
def test_a_video_that_is_in_trouble_has_a_second_chance(failure):
    answers = iter([failure, view()])

    def ask(request):
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return page_of(found, url=request.url)

    page = READER.complete(read(feed(archive())), ask)

    assert len(page.posts[0].media) == 2
    assert page.skipped == ()


@pytest.mark.parametrize(
    "failure",
    [
        errors.Timeout("slow"),
        errors.Unreachable("reset"),
        errors.Throttled("429"),
        errors.SharedStateDown("redis"),
    ],
    ids=lambda error: error.reason,
)
def test_what_is_no_videos_own_goes_out(failure):
    ask, _ = answering({"BV1fakeAA001": failure})

    with pytest.raises(type(failure)):
        READER.complete(read(feed(archive())), ask)


@pytest.mark.parametrize(
    ("failure", "raises"),
    [(errors.ServerTrouble("502"), True), ({"code": -503}, True), ({"code": 62003}, False)],
)
def test_trouble_that_all_videos_of_several_meet_is_the_sources(failure, raises):
    items = [archive(f"BV{n}") | {"id_str": str(n)} for n in range(3)]
    ask, _ = answering({"BV": failure} | {f"BV{n}": failure for n in range(3)})
    page = read(feed(*items))

    if raises:
        with pytest.raises(errors.ServerTrouble):
            READER.complete(page, ask)
    else:
        assert len(READER.complete(page, ask).skipped) == 3


def test_fewer_parts_than_announced_are_told():
    ask, _ = answering({"BV1fakeAA001": view(videos=3)})
    page = READER.complete(read(feed(archive())), ask)

    assert [one.reason for one in page.skipped] == ["incomplete: 2 of 3"]
    assert page.posts[0].announced == 3
    assert "incomplete: 2 of 3" in page.posts[0].notes


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"redirect_url": "https://www.bilibili.com/bangumi/play/ep1"}, "unsupported:bangumi"),
        ({"forward": 170001}, "merged_into_another"),
    ],
)
def test_a_video_that_is_elsewhere_is_named(data, reason):
    ask, _ = answering({"BV1fakeAA001": view(**data)})
    page = READER.complete(read(feed(archive())), ask)

    assert [one.reason for one in page.skipped] == [reason]
    assert page.posts[0].media == ()


def test_an_interactive_video_says_that_it_is_only_its_beginning():
    ask, _ = answering({"BV1fakeAA001": view(rights={"is_stein_gate": 1})})
    page = READER.complete(read(feed(archive())), ask)

    assert "interactive" in page.posts[0].notes[0]
    assert len(page.posts[0].media) == 2


def test_a_video_known_by_its_number_alone_is_asked_for_by_it():
    item = dynamic({"type": "MAJOR_TYPE_UGC_SEASON", "ugc_season": {"aid": 111222333}})
    page = read(feed(item))

    assert page.posts[0].media[0].renditions[0].url.endswith("/view?aid=111222333")


def test_one_video_is_a_feed_of_one_post():
    page = READER.parse(page_of((VIDEO / "view_multi.json").read_bytes(), url=VIEW))
    told = json.loads((VIDEO / "expected.json").read_text("utf-8"))["records"]
    first = told["playurl_dash_88001.json"][0]
    (post,) = page.posts

    assert post.key == first["post_id"]
    assert post.author is not None
    assert {"id": post.author.id, "name": post.author.name} == first["author"]
    assert post.created_at.strftime("%Y-%m-%dT%H:%M:%SZ") == first["created_at"]
    assert [media.title for media in post.media] == ["上", "下"]
    assert page.cursor is None


def test_one_post_is_a_feed_of_one_post():
    item = json.loads(recorded("page1.json"))["data"]["items"][0]
    page = read({"code": 0, "data": {"item": item}})

    assert [post.key for post in page.posts] == ["1100000000000000900"]


# --- items ---


def test_a_pinned_post_that_also_stands_in_its_place_is_one():
    pinned = dynamic(None)
    pinned["modules"] |= {"module_tag": {"text": "置顶"}}
    page = read(feed(pinned, dynamic(None)))

    assert [post.pinned for post in page.posts] == [True]
    assert ("item 2", "duplicate") in [(one.where, one.reason) for one in page.skipped]


def test_a_picture_on_two_hosts_is_one_media():
    pics = [{"url": f"//i{n}.biliimg.test/bfs/a.jpg@1036w.webp?x=1"} for n in (0, 1)]
    page = read(feed(dynamic({"type": "MAJOR_TYPE_OPUS", "opus": {"pics": pics}})))

    assert [media.renditions[0].url for media in page.posts[0].media] == [
        "https://i0.biliimg.test/bfs/a.jpg"
    ]
    assert page.posts[0].media[0].key == "/bfs/a.jpg"


def test_a_site_spoken_by_http_has_its_pictures_by_http():
    pics = [{"url": "http://127.0.0.1:9/bfs/a.jpg"}]
    here = "http://127.0.0.1:9/x/polymer/web-dynamic/v1/feed/space?host_mid=1"
    item = dynamic({"type": "MAJOR_TYPE_OPUS", "opus": {"pics": pics}})
    page = read(feed(item), url=here)

    assert page.posts[0].media[0].renditions[0].url == "http://127.0.0.1:9/bfs/a.jpg"


def test_an_item_of_which_nothing_can_be_read_costs_no_other():
    page = read(feed(None, dynamic(None), 5, {"modules": []}))

    assert len(page.posts) == 2
    assert [one.reason for one in page.skipped].count("not_an_object") == 2


def test_a_repost_without_its_original_is_kept_with_the_reason():
    page = read(feed(dynamic(None, type="DYNAMIC_TYPE_FORWARD", orig=None)))

    assert [(one.where, one.reason) for one in page.skipped] == [("post 42", "repost_of_deleted")]
    assert [post.key for post in page.posts] == ["42"]


# --- refusals ---


@pytest.mark.parametrize(
    ("file", "kind", "reason"),
    [
        ("error_-352.json", errors.SignedOut, "challenge"),
        ("error_voucher_code0.json", errors.SignedOut, "challenge"),
        ("error_-101.json", errors.SignedOut, "signed_out"),
    ],
)
def test_a_recorded_refusal_is_what_it_means(file, kind, reason):
    with pytest.raises(kind) as caught:
        read(recorded(file))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (-412, errors.Throttled, "throttled"),
        (-799, errors.Throttled, "throttled"),
        ("-509", errors.Throttled, "throttled"),
        (-401, errors.SignedOut, "signed_out"),
        (-503, errors.ServerTrouble, "server_trouble"),
        (-404, errors.Gone, "gone"),
        (-403, errors.Forbidden, "permission"),
        (62004, errors.Forbidden, "under_review"),
        (12345, errors.ServerTrouble, "unknown_code"),
    ],
)
def test_a_code_is_what_it_means(code, kind, reason):
    with pytest.raises(kind) as caught:
        read({"code": code, "message": "话"})
    assert caught.value.reason == reason
    assert "host_mid" in str(caught.value)


def test_a_refused_address_waits_for_hours():
    with pytest.raises(errors.Throttled) as caught:
        read(b"<html>412</html>", status=412)
    assert caught.value.delay_s is not None
    assert caught.value.delay_s >= 3600


def test_a_risk_page_stops_the_source():
    with pytest.raises(errors.SignedOut) as caught:
        read(b"<!DOCTYPE html><script>window._riskdata_ = {}</script>")
    assert caught.value.reason == "challenge"


@pytest.mark.parametrize(
    "body",
    [
        {"code": 0, "data": {"has_more": True, "items": []}},
        {"code": 0, "data": {}},
        {"code": 0, "data": None},
        {"code": 0, "data": {"has_more": True}},
        {"code": 0, "data": {"items": []}},
        {"code": 0, "data": {"items": [], "has_more": None, "offset": ""}},
        {"items": []},
        {"code": True, "data": {"items": []}},
    ],
)
def test_what_is_no_page_never_passes_for_the_last_one(body):
    with pytest.raises(errors.Malformed):
        read(body)


def test_an_empty_feed_is_a_page():
    assert read({"code": 0, "data": {"items": None, "has_more": False}}).posts == ()


def test_without_an_offset_the_last_post_tells_where_to_go_on():
    assert read(feed(dynamic(None), has_more=True, offset="")).cursor == "42"


@pytest.mark.parametrize("told", [{}, {"has_more": None}, {"has_more": "x"}])
@pytest.mark.parametrize(("offset", "cursor"), [("55", "55"), ("", "42")])
def test_without_a_word_on_the_end_the_walk_goes_on(told, offset, cursor):
    body = {"code": 0, "data": {"items": [dynamic(None)], "offset": offset} | told}

    assert read(body).cursor == cursor


@pytest.mark.parametrize("told", [False, 0, "0", "false"], ids=repr)
def test_an_end_is_told(told):
    assert read(feed(dynamic(None), has_more=told, offset="55")).cursor is None


def test_a_page_that_is_followed_by_itself_is_no_end():
    with pytest.raises(errors.Malformed) as caught:
        read(feed(dynamic(None), has_more=True, offset="55"), cursor="55")
    assert caught.value.reason == "truncated"


# --- addresses ---


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        (
            "https://space.bilibili.com/123/dynamic?from=x",
            "/x/polymer/web-dynamic/v1/feed/space?host_mid=123&features=itemOpusStyle"
            "&timezone_offset=-480&platform=web",
        ),
        (
            "https://t.bilibili.com/456",
            "/x/polymer/web-dynamic/v1/detail?id=456&features=itemOpusStyle"
            "&timezone_offset=-480&platform=web",
        ),
        (
            "https://www.bilibili.com/video/BV1fakeAA001/?p=2",
            "/x/web-interface/view?bvid=BV1fakeAA001",
        ),
        ("https://www.bilibili.com/video/av170001", "/x/web-interface/view?aid=170001"),
    ],
)
def test_an_address_that_a_person_knows_leads_to_the_api(address, asked):
    request = READER.request(address, None)

    assert request is not None
    assert request.url == API + asked
    assert 412 in request.read_also


def test_the_apis_own_address_is_asked_as_it_is_on_any_host():
    url = "http://127.0.0.1:9/x/polymer/web-dynamic/v1/feed/space?host_mid=1"

    request = READER.request(url, None)

    assert request is not None
    assert request.url == url


def test_an_address_of_nothing_known_names_what_would_be():
    with pytest.raises(errors.Unsupported, match=r"space\.bilibili\.com"):
        READER.request("https://www.bilibili.com/read/cv1", None)


# --- addresses that die ---


def test_a_stream_address_tells_when_it_dies():
    url = "https://upos-a.bilivid.test/1.m4s?e=fake&deadline=1781927881&gen=playurlv2"

    assert READER.expires_at(url) == 1781927881
    assert READER.expires_at("https://upos-a.bilivid.test/1.m4s?expires=1781927881") == 1781927881
    assert READER.expires_at("https://upos-a.bilivid.test/1.m4s?deadline=soon") is None


def test_a_file_is_renewed_with_all_its_addresses():
    ref = json.dumps({"playurl": f"{API}/x/player/playurl?bvid=B&cid=1", "pick": "video/80/12"})
    ask, asked = answering({"cid=1": (VIDEO / "playurl_dash_88001.json").read_bytes()})

    (rendition,) = READER.renew(ref, ask)

    assert "88001-1-30077.m4s" in rendition.url
    assert [len(rendition.backups), len(asked)] == [2, 1]


def test_a_renewed_file_tells_what_it_is():
    ref = json.dumps({"playurl": f"{API}/x/player/playurl?bvid=B&cid=1", "pick": "video/80/12"})
    ask, _ = answering({"cid=1": (VIDEO / "playurl_dash_88001.json").read_bytes()})

    (rendition,) = READER.renew(ref, ask)

    assert (rendition.codecs or "").startswith("hev1")
    assert (rendition.quality, rendition.height) == ("1080P", 1080)


def test_a_file_that_is_offered_no_more_is_gone():
    ref = json.dumps({"playurl": f"{API}/x/player/playurl?bvid=B&cid=1", "pick": "video/120/7"})
    ask, _ = answering({"cid=1": (VIDEO / "playurl_dash_88001.json").read_bytes()})

    with pytest.raises(errors.Gone):
        READER.renew(ref, ask)


@pytest.mark.parametrize("ref", ["", "[]", "{}", '{"playurl": 1, "pick": "x"}', "[" * 100_000])
def test_a_reference_that_is_none_is_malformed(ref):
    ask, _ = answering({})

    with pytest.raises(errors.Malformed):
        READER.renew(ref, ask)


# --- secrets ---


def test_the_cookie_goes_to_the_api_alone():
    secrets = READER.secrets(token=None, cookie="SESSDATA=a%2Cb; buvid3=c")

    assert secrets.headers == {"Cookie": "SESSDATA=a%2Cb; buvid3=c"}
    assert secrets.hosts == ("api.bilibili.com",)


@pytest.mark.parametrize(
    "given",
    [
        {"token": "t", "cookie": None},
        {"token": None, "cookie": "justavalue"},
        {"token": None, "cookie": "SESSDATA=a\nb"},
    ],
)
def test_a_secret_that_can_not_be_used_is_refused(given):
    with pytest.raises(errors.Misconfigured):
        READER.secrets(**given)


def test_a_reader_without_a_cookie_is_served_too():
    assert READER.secrets(token=None, cookie=None).headers == {}


# --- damage ---


def test_an_answer_past_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr("core.sources.bilibili_answer.SOURCE_JSON_BYTES", 100)

    with pytest.raises(errors.Malformed) as caught:
        read(recorded("page1.json"))
    assert caught.value.reason == "page_too_large"


BODIES = [DYNAMIC / "page1.json", DYNAMIC / "page2_last.json", VIDEO / "view_multi.json"]


@pytest.mark.parametrize("path", BODIES, ids=lambda path: path.name)
def test_a_page_cut_anywhere_never_passes_for_a_whole_one(path):
    whole = json.dumps(json.loads(path.read_text("utf-8")), ensure_ascii=False).encode()

    for length in range(0, len(whole), 3):
        with pytest.raises(errors.Malformed):
            read(whole[:length])


@pytest.mark.parametrize("path", BODIES, ids=lambda path: path.name)
def test_a_damaged_byte_gives_a_page_or_a_typed_error(path):
    whole = path.read_bytes()

    for at in range(0, len(whole), 29):
        for value in (0x00, 0x22, 0x39, 0xFF):
            try:
                read(whole[:at] + bytes([value]) + whole[at + 1 :])
            except errors.HeadraceError:
                continue


def test_the_registry_has_it():
    assert adapter("bilibili").name == "bilibili"
