"""Whatever the Graph API says: a page whose posts hold, or a typed error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import (
    HeadraceError,
    Malformed,
    Permanent,
    ServerTrouble,
    SignedOut,
    Throttled,
    Transient,
)
from core.model.post import FeedPage, Post
from core.sources.facebook import FacebookAdapter
from core.sources.facebook_usage import LONGEST_REST_S, rest_s
from tests.support.damage import Place, damaged_bodies, wrong_values
from tests.support.graph import API, PAGE, Graph, answer, photo, post, read, refused, sizes
from tests.support.pages import DATA
from tests.support.second_answers import HTML, OF_ONE, OF_THE_SOURCE

ADAPTER = FacebookAdapter()
FILES = sorted(path.name for path in (DATA / "facebook").glob("*_*.json"))
BODIES = {name: json.loads((DATA / "facebook" / name).read_text("utf-8")) for name in FILES}
WRONG = wrong_values(
    st.builds(lambda: [None, "x", {"id": 1}]),
    st.builds(lambda: {"data": [{"data": None}]}),
)


def _left_alone(name: str, places: list[Place]) -> set[str] | None:
    """The keys of the posts that were not damaged; None where more than nodes was."""
    if any(place[:1] != ("data",) or len(place) < 3 for place in places):
        return None
    hit = {place[1] for place in places}
    page = ADAPTER.parse(answer(BODIES[name], url=_url(name)))
    nodes = enumerate(BODIES[name]["data"])
    kept = {str(node["id"]) for number, node in nodes if number not in hit}
    return kept & {post.key for post in page.posts}


def _url(name: str) -> str:
    return f"{API}/{PAGE}/{name.partition('_')[0]}?limit=5"


def _read(name: str, body: object, status: int) -> FeedPage | None:
    """None for what the whole page may be refused with."""
    try:
        page = ADAPTER.parse(answer(body, url=_url(name), status=status))
    except (Malformed, SignedOut, Throttled, ServerTrouble, Permanent):
        return None
    return ADAPTER.complete(page, Graph())


def _check(post: Post) -> None:
    """What everybody further on relies on."""
    assert post.key
    assert [media.position for media in post.media] == list(range(len(post.media)))
    for media in post.media:
        assert all(one.url.startswith(("http://", "https://")) for one in media.renditions)
        assert media.renditions
    assert Post.model_validate_json(post.model_dump_json()) == post


@settings(max_examples=300, deadline=None)
@given(damaged_bodies(BODIES, WRONG), st.sampled_from([200, 200, 400, 403, 500]))
def test_wrong_values_anywhere_give_a_page_or_a_typed_error(
    damaged: tuple[str, object, list[Place]], status: int
) -> None:
    name, body, places = damaged
    page = _read(name, body, status)

    for one in page.posts if page else ():
        _check(one)
    kept = _left_alone(name, places)
    if kept is not None and status == 200:
        assert page is not None
        assert kept <= {one.key for one in page.posts}
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


# --- one photo asked for by itself ---

LIMITS = [4, 17, 32, 341, 613, *range(80000, 80015)]
PASSING = [1, 2]
TOKENS = [102, 190, 368]
OF_THE_PHOTO = st.one_of(
    st.sampled_from([error for error in OF_ONE if isinstance(error, Permanent)]),
    st.integers(3, 100_000).filter(lambda code: code not in (*LIMITS, *TOKENS)).map(refused),
    st.just(refused(100, 33)),
    WRONG,
    st.text(max_size=20).map(lambda words: {"error": words or "x"}),
    st.just(HTML.encode()),
)
OF_FACEBOOK = st.one_of(
    st.sampled_from(OF_THE_SOURCE),
    st.sampled_from([*LIMITS, *TOKENS]).map(refused),
)
# Not one photo's: a page whose pictures would stay small is read again.
READ_AGAIN = st.one_of(
    st.sampled_from([error for error in OF_ONE if not isinstance(error, Permanent)]),
    st.sampled_from(PASSING).map(refused),
    st.just(b'{"8100'),
)


def _completed(said: object) -> FeedPage:
    """A page of four photos; whoever asks for one of them, alone or with others, is told what is
    `said`."""
    whole = {f"81000{n}": sizes(f"81000{n}", 2048) for n in range(4)}

    class Told(Graph):
        def _nodes(self, query: str) -> object:
            if "810002" not in query:
                return super()._nodes(query)
            is_node = not isinstance(said, bytes | HeadraceError) and not (
                isinstance(said, dict) and "error" in said
            )
            return {**super()._nodes(""), **whole, "810002": said} if is_node else said

    posts = [post(ident, photo(ident)) for ident in whole]
    return ADAPTER.complete(read(*posts), Told(**whole, **{"0": {}}))


@settings(max_examples=300, deadline=None)
@given(OF_THE_PHOTO)
def test_whatever_is_said_of_one_photo_the_others_are_whole(said: object) -> None:
    page = _completed(said)

    assert [one.key[-1] for one in page.posts] == ["0", "1", "2", "3"]
    others = [one for one in page.posts if not one.key.endswith("2")]
    assert [one.media[0].renditions[0].width for one in others] == [2048] * 3
    assert len(page.posts[2].media[0].renditions) > 1 or page.posts[2].notes


@given(OF_FACEBOOK)
def test_what_is_said_of_the_source_is_never_a_photos_note(said: object) -> None:
    with pytest.raises(HeadraceError) as caught:
        _completed(said)
    assert not isinstance(caught.value, Permanent)


@given(READ_AGAIN)
def test_trouble_that_passes_never_leaves_pictures_small(said: object) -> None:
    with pytest.raises(Transient):
        _completed(said)


@given(st.integers() | st.floats() | st.text(max_size=9), st.integers() | st.floats())
def test_a_rest_is_none_or_within_a_day(percent: object, minutes: object) -> None:
    usage = {"call_count": percent, "estimated_time_to_regain_access": minutes}
    found = rest_s({"X-Business-Use-Case-Usage": json.dumps({"1": [usage]})})

    assert found is None or 0 < found <= LONGEST_REST_S
