"""Whatever Weibo says: a page whose posts hold, or a typed error."""

from __future__ import annotations

import copy
import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import HeadraceError, Malformed, SignedOut
from core.model.post import FeedPage, Post
from tests.support.pages import DATA
from tests.support.weibo import ADAPTER, ADDRESSES, INDEX, always, answer

FILES = sorted(
    f"{folder}/{path.name}"
    for folder in ADDRESSES
    for path in (DATA / folder).glob("*.json")
    if path.name not in ("expected.json", "responses.json")
)
BODIES = {name: json.loads((DATA / name).read_text("utf-8")) for name in FILES}
SHOW = (DATA / "weibo_mobile" / "show_292.json").read_bytes()
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.builds(list),
    st.builds(dict),
    st.builds(lambda: [None, "x", {"id": 1}, {"type": "video"}]),
    st.builds(lambda: {"0": {"url": "x"}, "media_info": {"playback_list": [5]}}),
    st.integers(10**4000, 10**4000 + 5),
    st.sampled_from(
        [
            "https://a.example.com/x.jpg",
            "https://[",
            "\ud800",
            "http://a/" + "x" * 9999,
            "昨天 25:61",
        ]
    ),
)


def _places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a body."""
    inside: Any = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    return [path, *(place for key, one in inside for place in _places(one, (*path, key)))]


PLACES = {name: _places(body)[1:] for name, body in BODIES.items()}


@st.composite
def _damaged(draw: st.DrawFn) -> tuple[str, object]:
    """A recorded body with wrong values in up to three places."""
    name = draw(st.sampled_from(FILES))
    body = copy.deepcopy(BODIES[name])
    for place in draw(st.lists(st.sampled_from(PLACES[name]), min_size=1, max_size=3)):
        _put(body, place, draw(WRONG))
    return name, body


def _put(body: Any, place: tuple[Any, ...], value: object) -> None:
    *parents, last = place
    try:
        for key in parents:
            body = body[key]
        body[last] = value
    except (TypeError, KeyError, IndexError):
        return  # an earlier damage took it away


def _url(name: str) -> str:
    return INDEX if "index" in name else ADDRESSES[name.partition("/")[0]]


def _read(name: str, body: object, **told: Any) -> FeedPage | None:
    try:
        return ADAPTER.complete(ADAPTER.parse(answer(body, _url(name), **told)), always(SHOW))
    except HeadraceError:
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
@given(_damaged(), st.sampled_from([200, 200, 400, 403, 432]))
def test_wrong_values_anywhere_give_a_page_or_a_typed_error(
    damaged: tuple[str, object], status: int
) -> None:
    page = _read(*damaged, status=status)

    for post in page.posts if page else ():
        _check(post)
    if page is not None and page.cursor is not None:
        assert ADAPTER.request(_url(damaged[0]), page.cursor)


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
