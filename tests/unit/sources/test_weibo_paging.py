"""Where Weibo's lists go on, and where they end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.errors import Malformed
from tests.support.weibo import (
    AJAX,
    MOBILE,
    ajax,
    mobile,
    read,
    timeline,
)


@pytest.mark.parametrize(
    ("told", "cursor"),
    [
        ({"since_id": 77}, "containerid=1076037600100200&since_id=77"),
        ({"since_id": 0, "page": 3}, "containerid=1076037600100200&page=3"),
        ({"since_id": None, "page": None}, None),
        ({}, None),
        ({"containerid": "9", "since_id": "77"}, "containerid=9&since_id=77"),
    ],
)
def test_the_mobile_list_goes_on_by_id_or_by_page(
    told: dict[str, object], cursor: str | None
) -> None:
    assert mobile({"id": "1"}, info=told).cursor == cursor


@pytest.mark.parametrize(
    "read_again",
    [
        lambda: mobile({"id": "1"}, info={"since_id": 77}, cursor="since_id=77"),
        lambda: mobile({"id": "1"}, info={"page": 3}, cursor="page=3"),
        lambda: ajax({"id": 1}, since_id="7kp2", cursor="page=2&since_id=7kp2"),
        lambda: timeline({"id": 9}, {"id": 10}, cursor="max_id=9"),
        lambda: timeline({"id": 9}, {"id": 10}, next_cursor=9, cursor="max_id=9&told=1"),
    ],
    ids=["mobile by id", "mobile by page", "desktop", "open", "open by its word"],
)
def test_a_list_that_leads_back_to_itself_has_not_ended(read_again: Callable[[], object]) -> None:
    with pytest.raises(Malformed) as caught:
        read_again()

    assert caught.value.reason == "truncated"  # so it is asked for again


def test_a_mobile_list_whose_id_stands_still_goes_on_by_page() -> None:
    page = mobile({"id": "1"}, info={"since_id": 77, "page": 4}, cursor="since_id=77")

    assert page.cursor == "containerid=1076037600100200&page=4"


@pytest.mark.parametrize(
    ("tabs", "cursor"),
    [
        ([{"tab_type": "weibo", "containerid": "9"}], "containerid=9"),
        ({"1": {"tab_type": "x"}, "2": {"tab_type": "weibo", "containerid": 9}}, "containerid=9"),
        ([{"tab_type": "weibo"}], "containerid=1076035"),
        (None, "containerid=1076035"),
    ],
)
def test_an_index_leads_to_the_members_posts(tabs: object, cursor: str) -> None:
    url = MOBILE.partition("&value")[0] + "&value=5"

    assert read({"ok": 1, "data": {"tabsInfo": {"tabs": tabs}}}, url).cursor == cursor


def test_the_desktop_list_goes_on_by_page_and_id_together() -> None:
    assert ajax({"id": 1}, since_id="7kp2").cursor == "page=2&since_id=7kp2"
    assert ajax({"id": 1}, since_id="7kp3", cursor="page=4&since_id=7kp2").cursor == (
        "page=5&since_id=7kp3"
    )


@pytest.mark.parametrize(("posts", "since_id"), [([], "7kp2"), ([{"id": 1}], "")])
def test_the_desktop_list_ends_without_posts_or_without_an_id(
    posts: list[object], since_id: str
) -> None:
    assert ajax(*posts, since_id=since_id).cursor is None


@pytest.mark.parametrize(
    ("next_cursor", "asked", "cursor"),
    [
        (7, None, "max_id=7&told=1"),
        (5300000000000007, None, "max_id=7"),  # beyond what the page holds
        (0, None, "max_id=7"),  # never filled
        (None, "max_id=9", "max_id=7"),
        (0, "max_id=9&told=1", None),
        ("6", "max_id=9&told=1", "max_id=6&told=2"),  # one that is not listed yet
        (0, "max_id=9&told=2", None),
    ],
)
def test_the_open_list_goes_on_from_its_smallest_id(
    next_cursor: object, asked: str | None, cursor: str | None
) -> None:
    page = timeline({"id": 8}, {"id": 7}, next_cursor=next_cursor, cursor=asked)

    assert page.cursor == cursor


@pytest.mark.parametrize(("told", "shown"), [("1", []), ("2", ["9"])])
def test_the_first_of_a_page_is_dropped_only_where_the_page_before_listed_it(
    told: str, shown: list[str]
) -> None:
    page = timeline({"id": 9}, next_cursor=0, cursor=f"max_id=9&told={told}")

    assert [post.key for post in page.posts] == shown
    assert page.cursor is None


@pytest.mark.parametrize("posts", [[], [{"id": 9}]])
def test_the_open_list_has_ended_when_only_the_first_comes_back(posts: list[object]) -> None:
    page = timeline(*posts, next_cursor=0, cursor="max_id=9")

    assert page.posts == ()
    assert page.cursor is None


def test_a_page_of_posts_past_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.sources.weibo_page.MAX_ITEMS", 10)

    with pytest.raises(Exception, match="10 posts"):
        read({"ok": 1, "data": {"list": [{}] * 11}}, AJAX)
