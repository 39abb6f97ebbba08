"""Whatever Weibo says: a page whose posts hold, or a typed error."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import HeadraceError, Malformed, Permanent, ServerTrouble, SignedOut, Throttled
from core.model.post import FeedPage, Post
from core.model.request import Request
from core.sources.weibo_post import key_of
from tests.support.damage import Place, damaged_bodies, places, wrong_values
from tests.support.pages import DATA
from tests.support.second_answers import HTML, OF_ONE, OF_THE_SOURCE
from tests.support.weibo import ADAPTER, ADDRESSES, INDEX, Site, always, answer, mobile, pic

FILES = sorted(
    f"{folder}/{path.name}"
    for folder in ADDRESSES
    for path in (DATA / folder).glob("*.json")
    if path.name not in ("expected.json", "responses.json")
)
BODIES = {name: json.loads((DATA / name).read_text("utf-8")) for name in FILES}
SHOW = (DATA / "weibo_mobile" / "show_292.json").read_bytes()
WRONG = wrong_values(
    st.builds(lambda: [None, "x", {"id": 1}, {"type": "video"}]),
    st.builds(lambda: {"0": {"url": "x"}, "media_info": {"playback_list": [5]}}),
    st.integers(10**4000, 10**4000 + 5),
    texts=["昨天 25:61"],
)


def _is_post(place: Place) -> bool:
    """Whether an entry of a list lies there."""
    listed = place[:1] == ("statuses",) and len(place) == 2
    return listed or (place[:2] == ("data", "list") and len(place) == 3) or place[-1:] == ("mblog",)


POSTS = {name: [one for one in places(body)[1:] if _is_post(one)] for name, body in BODIES.items()}


def _at(body: Any, place: Place) -> Any:
    for key in place:
        body = body[key]
    return body


def _left_alone(name: str, hit_places: list[Place]) -> set[str | None] | None:
    """The keys of the posts that were not damaged; None where more than posts was."""
    hit = {post for post in POSTS[name] for place in hit_places if place[: len(post)] == post}
    if any(not any(place[: len(post)] == post for post in hit) for place in hit_places):
        return None
    alone = (_at(BODIES[name], post) for post in POSTS[name] if post not in hit)
    return {key_of(status) for status in alone if isinstance(status, dict)}


def _url(name: str) -> str:
    return INDEX if "index" in name else ADDRESSES[name.partition("/")[0]]


def _parsed(name: str, body: object, **told: Any) -> FeedPage:
    return ADAPTER.complete(ADAPTER.parse(answer(body, _url(name), **told)), always(SHOW))


def _read(name: str, body: object, **told: Any) -> FeedPage | None:
    """None for what the whole page may be refused with."""
    try:
        return _parsed(name, body, **told)
    except (Malformed, SignedOut, Throttled, ServerTrouble, Permanent):
        return None


def _check(post: Post) -> None:
    """What everybody further on relies on."""
    assert post.key
    assert [media.position for media in post.media] == list(range(len(post.media)))
    for media in post.media:
        assert media.renditions
        assert media.key
        for rendition in media.renditions:
            assert urlsplit(rendition.url).scheme in ("http", "https")
            ADAPTER.expires_at(rendition.url)
    assert Post.model_validate_json(post.model_dump_json()) == post


@settings(max_examples=400, deadline=None)
@given(damaged_bodies(BODIES, WRONG), st.sampled_from([200, 200, 400, 403, 432]))
def test_wrong_values_anywhere_give_a_page_or_a_typed_error(
    damaged: tuple[str, object, list[tuple[Any, ...]]], status: int
) -> None:
    name, body, places = damaged
    page = _read(name, body, status=status)

    for post in page.posts if page else ():
        _check(post)
    kept = _left_alone(name, places)
    if kept is not None and status == 200:
        assert page is not None
        assert kept - _skipped_before(name) <= {post.key for post in page.posts}
    if page is not None and page.cursor is not None:
        assert ADAPTER.request(_url(damaged[0]), page.cursor)


def _skipped_before(name: str) -> set[str]:
    """What is no post of the member's, damaged or not."""
    return {one.where for one in _parsed(name, BODIES[name]).skipped}


# --- one post asked for by itself ---

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20).filter(
    lambda text: not any(sign in text for sign in "频过太繁稍歇")
)
SHOWN = "https://m.weibosite.test/statuses/show?id=b2"
OF_THE_POST = st.one_of(
    st.sampled_from(OF_ONE),
    st.builds(lambda words: {"ok": 0, "msg": words}, WORDS),
    st.builds(lambda ok, words: {"ok": ok, "msg": words}, st.sampled_from([-1, -2, -99]), WORDS),
    st.sampled_from(["不存在", "已删除", "权限", "无法访问", "注销", "违规", "客户端查看"]).map(
        lambda words: {"ok": 0, "msg": words}
    ),
    st.builds(lambda words: HTML.format(words).encode(), WORDS),
    st.builds(
        lambda status, body: answer(body, SHOWN, status=status),
        st.sampled_from([400, 403, 404]),
        st.sampled_from([b"", HTML.encode(), {}, {"ok": 0, "msg": "x"}]),
    ),
    st.sampled_from(["https://m.weibosite.test/", "https://weibosite.test/sorry?x"]).map(
        lambda url: answer(HTML.encode(), url)
    ),
    st.dictionaries(st.sampled_from(["ok", "data", "id"]), WRONG).filter(
        lambda body: "100" not in str(body.get("ok"))
    ),
    st.binary(max_size=40),
)
OF_WEIBO = st.one_of(
    st.sampled_from(OF_THE_SOURCE),
    st.sampled_from(["频繁", "过快", "系统繁忙"]).map(lambda words: {"ok": 0, "msg": words}),
    st.sampled_from([-100, "-100"]).map(lambda ok: {"ok": ok}),
    st.sampled_from([418, 432]).map(lambda status: answer(b"", SHOWN, status=status)),
    st.just(answer(b"", "https://passport.weibo.com/visitor/visitor")),
)


def _completed(said: object) -> FeedPage:
    """A page of four, of which the second look at one ends in what is `said`."""
    listed = [
        {"id": f"{n}", "bid": f"b{n}", "pic_num": 2, "pics": [pic(f"{n}a")]} for n in range(4)
    ]

    def reply(_number: int, request: Request) -> object:
        ident = request.url[-1]
        if request.url != SHOWN:
            pics = [pic(f"{ident}a"), pic(f"{ident}b")]
            return {"ok": 1, "data": {"id": ident, "pic_num": 2, "pics": pics}}
        if not isinstance(said, bytes | dict | Exception):
            said.stream.seek(0)  # type: ignore[attr-defined]
        return said

    return ADAPTER.complete(mobile(*listed), Site(reply))


@settings(max_examples=300, deadline=None)
@given(OF_THE_POST)
def test_whatever_is_said_of_one_post_the_others_are_whole(said: object) -> None:
    page = _completed(said)

    assert [post.key for post in page.posts] == ["0", "1", "2", "3"]
    assert [len(post.media) for post in page.posts if post.key != "2"] == [2, 2, 2]
    assert len(page.posts[2].media) == 2 or page.posts[2].notes


@given(OF_WEIBO)
def test_what_is_said_of_the_source_is_never_a_posts_note(said: object) -> None:
    with pytest.raises(HeadraceError) as caught:
        _completed(said)
    assert not isinstance(caught.value, Permanent)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["statuses", "cards", "list"]),
    st.lists(
        st.dictionaries(
            st.sampled_from(["id", "pics", "pic_num", "page_info", "created_at", "user", "x"]),
            WRONG,
        )
    ),
)
def test_every_object_of_a_page_is_a_post_or_told(what: str, posts: list[object]) -> None:
    folder = {"statuses": "open", "cards": "mobile", "list": "ajax"}[what]
    cards = [{"card_type": 9, "mblog": post} for post in posts] if what == "cards" else posts
    body = {"statuses": posts} if what == "statuses" else {"ok": 1, "data": {what: cards}}
    page = _read(f"weibo_{folder}/", body)

    assert page is not None
    told = sum(one.reason in ("duplicate", "unreadable_item") for one in page.skipped)
    assert len(page.posts) + told == len(posts)


@pytest.mark.parametrize("name", [name for name in FILES if "page" in name and "end" not in name])
def test_an_answer_cut_anywhere_never_passes_for_a_whole_one(name: str) -> None:
    whole = (DATA / name).read_bytes().rstrip()
    step = max(1, len(whole) // 500)

    for length in [*range(0, len(whole), step), len(whole) - 1]:
        with pytest.raises(Malformed):
            ADAPTER.parse(answer(whole[:length], _url(name)))


@given(st.sampled_from(sorted(ADDRESSES.values())), st.binary(max_size=200))
def test_any_bytes_give_a_page_or_a_typed_error(url: str, body: bytes) -> None:
    try:
        ADAPTER.parse(answer(body, url))
    except (Malformed, SignedOut):
        return


@given(st.text(max_size=80))
def test_any_address_is_asked_for_or_refused(address: str) -> None:
    try:
        request = ADAPTER.request(address, None)
    except HeadraceError:
        assert not ADAPTER.reads(address)
        return
    assert request is not None
    assert ADAPTER.reads(address)
