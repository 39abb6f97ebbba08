"""Whatever the Graph API says: a page whose posts hold, or a typed error."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import HeadraceError
from core.model.post import FeedPage, Post
from core.sources.facebook import FacebookAdapter
from core.sources.facebook_usage import LONGEST_REST_S, rest_s
from tests.support.graph import API, PAGE, Graph, answer
from tests.support.pages import DATA

ADAPTER = FacebookAdapter()
FILES = sorted(path.name for path in (DATA / "facebook").glob("*_*.json"))
BODIES = {name: json.loads((DATA / "facebook" / name).read_text("utf-8")) for name in FILES}
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.builds(list),
    st.builds(dict),
    st.builds(lambda: [None, "x", {"id": 1}]),
    st.builds(lambda: {"data": [{"data": None}]}),
    st.sampled_from(
        ["https://a.example.com/x.jpg", "https://[", "\ud800", "http://a/" + "x" * 9999]
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


def _read(name: str, body: object, status: int) -> FeedPage | None:
    edge = name.partition("_")[0]
    try:
        page = ADAPTER.parse(answer(body, url=f"{API}/{PAGE}/{edge}?limit=5", status=status))
        return ADAPTER.complete(page, Graph())
    except HeadraceError:
        return None


def _check(post: Post) -> None:
    """What everybody further on relies on."""
    assert post.key
    assert [media.position for media in post.media] == list(range(len(post.media)))
    for media in post.media:
        assert all(one.url.startswith(("http://", "https://")) for one in media.renditions)
        assert media.renditions
    assert Post.model_validate_json(post.model_dump_json()) == post


@settings(max_examples=300, deadline=None)
@given(_damaged(), st.sampled_from([200, 200, 400, 403, 500]))
def test_wrong_values_anywhere_give_a_page_or_a_typed_error(
    damaged: tuple[str, object], status: int
) -> None:
    page = _read(*damaged, status)

    for post in page.posts if page else ():
        _check(post)
    if page is not None and page.cursor is not None:
        assert "access_token" not in page.cursor
        assert ADAPTER.request("https://www.facebook.com/x", page.cursor)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["id", "attachments", "from", "x"]), WRONG)))
def test_every_object_of_a_page_is_a_post_or_told(nodes: list[object]) -> None:
    page = _read("posts", {"data": nodes}, 200)

    assert page is not None
    told = sum(one.reason in ("duplicate", "unreadable_item") for one in page.skipped)
    assert len(page.posts) + told == len(nodes)


@given(st.integers() | st.floats() | st.text(max_size=9), st.integers() | st.floats())
def test_a_rest_is_none_or_within_a_day(percent: object, minutes: object) -> None:
    usage = {"call_count": percent, "estimated_time_to_regain_access": minutes}
    found = rest_s({"X-Business-Use-Case-Usage": json.dumps({"1": [usage]})})

    assert found is None or 0 < found <= LONGEST_REST_S
