"""Whatever Bilibili's answers hold, what comes of them is typed and can be used."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import HeadraceError, Malformed, Permanent, ServerTrouble, SignedOut, Throttled
from core.manifests import Origin, SelectionPolicy, build_plan, choose, parse, read_wanted
from core.model.plan import parse_plan
from core.model.post import FeedPage, Post
from core.sources import PageInput
from core.sources.bilibili import BilibiliAdapter
from tests.support.damage import damaged_at, places
from tests.support.manifests import no_span
from tests.support.pages import DATA
from tests.support.second_answers import HTML, OF_ONE, OF_THE_SOURCE

READER = BilibiliAdapter()
FEED = "https://api.bilibili.com/x/polymer/web-dynamic/v1/feed/space?host_mid=1"
PLAYURL = "https://api.bilibili.com/x/player/playurl?bvid=B&cid=1"


def _recorded(folder: str, *names: str) -> list[Any]:
    return [json.loads((DATA / folder / name).read_text("utf-8")) for name in names]


PAGES = _recorded("bilibili_dynamic", "page1.json", "page2_last.json")
VIEWS = _recorded("bilibili_video", "view_multi.json")
OFFERS = _recorded(
    "bilibili_video",
    "playurl_dash_88001.json",
    "playurl_durl_parts_flv.json",
    "playurl_durl_single.json",
)
WRONG = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["http://[", "//x/y@1.webp", "MAJOR_TYPE_NONE", 10**400, -1, "\ud800", "1e9"]
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


def _page(body: object) -> FeedPage | None:
    """None for what the whole page may be refused with."""
    try:
        return READER.parse(PageInput(BytesIO(json.dumps(body).encode()), FEED))
    except (Malformed, SignedOut, Throttled, ServerTrouble, Permanent):
        return None


def _check(post: Post) -> None:
    assert post.key
    assert [media.position for media in post.media] == list(range(len(post.media)))
    for media in post.media:
        for rendition in media.renditions:
            assert urlsplit(rendition.url).scheme in ("http", "https")
            assert urlsplit(rendition.url).hostname
    assert Post.model_validate_json(post.model_dump_json()) == post


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_anything_anywhere_in_a_page_costs_no_other_post(data):
    whole = data.draw(st.sampled_from(PAGES))
    path = data.draw(st.sampled_from(places(whole)))
    page = _page(damaged_at(whole, path, data.draw(WRONG)))

    for post in page.posts if page else ():
        _check(post)
    if path[:2] == ("data", "items") and len(path) > 3:
        assert page is not None
        assert len(page.posts) >= len(whole["data"]["items"]) - 1


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_anything_anywhere_in_a_view_gives_parts_or_a_typed_error(data):
    (whole,) = VIEWS
    path = data.draw(st.sampled_from(places(whole)))
    damaged = json.dumps(damaged_at(whole, path, data.draw(WRONG))).encode()
    page = READER.parse(PageInput(BytesIO(json.dumps(PAGES[0]).encode()), FEED))
    try:
        done = READER.complete(page, lambda r: PageInput(BytesIO(damaged), r.url))
    except (Throttled, SignedOut):
        assert path[:1] == ("code",)  # nothing else in it is about the source
        return

    assert len(done.posts) == len(page.posts)
    for post in done.posts:
        _check(post)


# --- one video asked for by itself ---

VIEWED = "https://api.bilibili.com/x/web-interface/view?bvid=BV2"
OF_BILIBILI = frozenset([-101, -401, -509, -799, -412, -352])
CODES = st.integers(-20_000, 90_000) | st.sampled_from([-404, -403, -500, -503, 62002, 62004])
OF_THE_VIDEO = st.one_of(
    st.sampled_from(OF_ONE),
    CODES.filter(lambda code: code not in OF_BILIBILI).map(lambda code: {"code": code}),
    st.dictionaries(st.sampled_from(["code", "data", "result"]), WRONG).filter(
        lambda body: str(body.get("code")) not in map(str, OF_BILIBILI)
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20).map(
        lambda words: HTML.format(words).encode()
    ),
    st.binary(max_size=40),
)
OF_THE_SITE = st.one_of(
    st.sampled_from(OF_THE_SOURCE),
    st.sampled_from(sorted(OF_BILIBILI)).map(lambda code: {"code": code}),
    st.just({"code": 0, "data": {"v_voucher": "x"}}),
    st.just(b"<!DOCTYPE html><script>window._riskdata_ = {}</script>"),
)


def _completed(said: object) -> FeedPage:
    """A page of four videos, of which the view of one ends in what is `said`."""
    items = [
        {
            "id_str": str(n),
            "modules": {
                "module_dynamic": {
                    "major": {"type": "MAJOR_TYPE_ARCHIVE", "archive": {"bvid": f"BV{n}"}}
                }
            },
        }
        for n in range(4)
    ]
    body = {"code": 0, "data": {"items": items, "has_more": False}}

    def ask(request):
        found = said if request.url == VIEWED else VIEWS[0]
        if isinstance(found, Exception):
            raise found
        raw = found if isinstance(found, bytes) else json.dumps(found).encode()
        return PageInput(BytesIO(raw), request.url)

    return READER.complete(READER.parse(PageInput(BytesIO(json.dumps(body).encode()), FEED)), ask)


@settings(max_examples=300, deadline=None)
@given(OF_THE_VIDEO)
def test_whatever_is_said_of_one_video_the_others_are_whole(said):
    page = _completed(said)

    assert [post.key for post in page.posts] == ["0", "1", "2", "3"]
    assert [len(post.media) for post in page.posts if post.key != "2"] == [2, 2, 2]
    assert page.posts[2].media or page.posts[2].notes


@given(OF_THE_SITE)
def test_what_is_said_of_the_source_is_never_a_videos_note(said):
    with pytest.raises(HeadraceError) as caught:
        _completed(said)
    assert not isinstance(caught.value, Permanent)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_anything_anywhere_in_an_offer_gives_a_plan_or_a_typed_error(data):
    whole = data.draw(st.sampled_from(OFFERS))
    path = data.draw(st.sampled_from(places(whole)))
    body = json.dumps(damaged_at(whole, path, data.draw(WRONG))).encode()
    try:
        found = parse(body, PLAYURL)
        choice = choose(found, SelectionPolicy())
        playlists = read_wanted(found, choice, lambda url: (b"", url), no_span)
        plan = build_plan(Origin("m", "s", PLAYURL, PLAYURL, "0" * 64), choice, playlists)
    except HeadraceError:
        return

    assert parse_plan(plan.to_json()) == plan
    for piece in plan.pieces:
        assert urlsplit(piece.url).scheme in ("http", "https")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_give_a_plan_or_a_typed_error(body):
    for answer in (body, b'{"code":0,"data":' + body + b"}"):
        try:
            parse(answer, PLAYURL)
        except HeadraceError:
            continue
