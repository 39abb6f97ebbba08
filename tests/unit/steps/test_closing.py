"""Walks that lead nowhere end as broken: what lies behind was never seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.model.walk import WalkState
from core.steps import page
from tests.support.reading import ADDRESS, Reading


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    reading = Reading(tmp_path)
    yield reading
    reading.store.close()


def test_what_a_walk_saw_whose_cursor_repeats_does_not_end_the_next_one(
    reading: Reading, caplog: pytest.LogCaptureFixture
):
    """What lies behind is older and was never seen."""
    reading.serve(["c"], following=f"{ADDRESS}?page=2")
    reading.serve(["b"], address=f"{ADDRESS}?page=2", following=ADDRESS)
    reading.crawl()
    reading.serve_pages([["c"], ["b"], ["a"]])  # the source was mended

    reading.crawl()

    walks = reading.store.walks
    ends = [walks.end_of(walk.feed, walk.walk) for walk in walks.all(reading.feed().feed)]
    assert reading.got() == {"a", "b", "c"}
    assert [end.state for end in ends] == [WalkState.BROKEN, WalkState.COMPLETE]
    assert ends[0].message == "page 3: the next page's address repeats an earlier one"
    assert "the next page's address repeats an earlier one; the walk ends" in caplog.text


def empty_pages(reading: Reading, *numbers: int, last: int) -> None:
    """Pages without a post at these numbers, with one at the others."""
    reading.serve_pages([[] if page in numbers else [f"k{page}"] for page in range(1, last + 1)])


def test_a_chain_of_pages_without_posts_has_an_end(
    reading: Reading, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(page, "MOST_EMPTY_PAGES", 3)
    empty_pages(reading, 2, 3, 4, 5, last=6)

    requests = reading.crawl()

    walks = reading.store.walks
    [walk] = walks.all(reading.feed().feed)
    end = walks.end_of(walk.feed, walk.walk)
    assert len(requests) == 4
    assert (end.state, end.reason) == (WalkState.BROKEN, "no_posts")
    assert "in a row had no post" in caplog.text


def test_fewer_pages_without_posts_are_walked_on_from(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(page, "MOST_EMPTY_PAGES", 3)
    empty_pages(reading, 2, 3, 5, 6, last=7)

    reading.crawl()

    assert reading.got() == {"k1", "k4", "k7"}
    assert reading.endings() == ["last_page"]


def test_an_empty_page_that_is_the_last_ends_a_walk_in_good_order(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(page, "MOST_EMPTY_PAGES", 1)
    empty_pages(reading, 1, last=1)

    reading.crawl()

    assert reading.endings() == ["last_page"]


def test_a_last_page_that_leads_to_itself_completes_the_walk(reading: Reading):
    reading.serve(["b"], following=f"{ADDRESS}?page=2")
    reading.serve(["a"], address=f"{ADDRESS}?page=2", following=f"{ADDRESS}?page=2")

    reading.crawl()

    walks = reading.store.walks
    [walk] = walks.all(reading.feed().feed)
    end = walks.end_of(walk.feed, walk.walk)
    assert (end.state, end.reason) == (WalkState.COMPLETE, "leads_to_itself")
