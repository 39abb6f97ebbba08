"""Walks that end early and lose nothing: pinned posts, posts out of order, runs over pages, first
runs that were interrupted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.end import Failure
from core.model.post import FeedPage, MediaKind, MediaRecord, Post, Rendition, Skipped
from core.model.request import Request
from core.model.walk import WalkPage
from core.sources.adapter import PageInput
from core.steps import discover
from core.steps.ends import dead_end, write_end
from tests.support.reading import ADDRESS, Killed, Reading


class Told:
    """An adapter whose pages are records already."""

    name = "told"
    many_hosts = False
    stop_after_known = 1

    def request(self, address: str, cursor: str | None) -> Request:
        return Request(cursor or address)

    def parse(self, page: PageInput) -> FeedPage:
        return FeedPage.model_validate_json(page.stream.read())


@dataclass
class Timeline:
    """A feed of such pages. A key that begins with «*» is a pinned post's."""

    reading: Reading
    page_size: int = 4

    def shows(self, *keys: str, **fields: object) -> None:
        """From now on it has these posts, newest first."""
        pages = [keys[at : at + self.page_size] for at in range(0, len(keys), self.page_size)]
        for number, shown in enumerate(pages, 1):
            following = address(number + 1) if number < len(pages) else None
            posts = tuple(map(a_post, shown))
            page = FeedPage(posts=posts, cursor=following, newest_first=True)
            page = page.model_copy(update=fields)
            self.reading.site[address(number)] = page.model_dump_json().encode()

    def crawl(self) -> int:
        """How many pages that took."""
        return len(self.reading.crawl())

    def pages(self) -> list[WalkPage]:
        """Of the newest walk."""
        walks = self.reading.store.walks
        newest = walks.newest(self.reading.feed().feed)
        assert newest is not None
        return list(walks.pages(newest.feed, newest.walk))


def address(number: int) -> str:
    return ADDRESS if number == 1 else f"{ADDRESS}?page={number}"


def a_post(key: str, **fields: object) -> Post:
    plain = key.removeprefix("*")
    media = a_picture(plain)
    return Post.model_validate({"key": plain, "pinned": key != plain, "media": (media,)} | fields)


def a_picture(key: str) -> MediaRecord:
    rendition = Rendition(url=f"https://pictures.example/{key}.jpg")
    return MediaRecord(kind=MediaKind.IMAGE, renditions=(rendition,), key=key)


def numbers(start: int, end: int) -> list[str]:
    """Keys from the newer to the older."""
    return [f"{number:03}" for number in range(start, end - 1, -1)]


@pytest.fixture
def timeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(discover, "adapter", lambda _name: Told())
    reading = Reading(tmp_path)
    yield Timeline(reading)
    reading.store.close()


# --- pinned posts ---


def test_row_30_a_known_pinned_post_on_top_does_not_keep_new_ones_from_being_found(timeline):
    timeline.shows("*p", *numbers(8, 1))
    timeline.crawl()
    timeline.shows("*p", "new1", *numbers(8, 1))

    pages = timeline.crawl()

    assert "new1" in timeline.reading.got()
    assert pages == 2  # the one with news, and one without


@pytest.mark.parametrize("pinned", [["*p1"], ["*p1", "*p2", "*p3", "*p4"]])
def test_row_30_even_where_the_whole_first_page_is_pinned(timeline, pinned):
    timeline.shows(*pinned, *numbers(8, 1))
    timeline.crawl()
    timeline.shows(*pinned, "new1", *numbers(8, 1))
    timeline.crawl()

    assert "new1" in timeline.reading.got()


def test_a_page_of_pinned_posts_alone_says_nothing_of_news(timeline):
    timeline.shows("*p1", "*p2", "*p3", "*p4", *numbers(8, 1))
    timeline.crawl()

    assert timeline.crawl() == 2
    assert [page.nothing_new for page in timeline.pages()] == [False, True]


def test_an_old_post_that_is_pinned_later_is_got_and_does_not_prolong_the_walk(timeline):
    timeline.shows(*numbers(12, 1))
    timeline.crawl()
    timeline.shows("*003", *numbers(12, 1))

    assert timeline.crawl() == 1


def test_a_new_post_that_is_pinned_is_got(timeline):
    timeline.shows(*numbers(8, 1))
    timeline.crawl()
    timeline.shows("*new1", *numbers(8, 1))
    timeline.crawl()

    assert "new1" in timeline.reading.got()


# --- posts out of order, and runs ---


def test_a_new_post_among_known_ones_is_got(timeline):
    timeline.shows(*numbers(8, 1))
    timeline.crawl()
    timeline.shows("008", "007", "new1", "006", *numbers(5, 1))
    timeline.crawl()

    assert "new1" in timeline.reading.got()


def test_a_new_post_behind_a_short_run_of_known_ones_is_got(timeline):
    timeline.reading.stop_after_known = 6
    timeline.shows(*numbers(40, 1))
    timeline.crawl()
    timeline.shows(*numbers(40, 36), "new1", *numbers(35, 1))

    pages = timeline.crawl()

    assert "new1" in timeline.reading.got()
    assert pages == 3  # 4 known; 1 known, the new one, 2 known; 4 known, which makes 6 in a row


def test_a_run_goes_on_over_pages(timeline):
    timeline.reading.stop_after_known = 10
    timeline.shows(*numbers(40, 1))
    timeline.crawl()

    pages = timeline.crawl()

    assert pages == 3
    assert [page.known_run for page in timeline.pages()] == [4, 8, 12]
    assert [page.nothing_new for page in timeline.pages()] == [False, False, True]


def test_a_run_goes_on_over_pages_that_different_workers_read(timeline):
    timeline.reading.stop_after_known = 10
    timeline.shows(*numbers(40, 1))
    timeline.crawl()
    timeline.reading.trigger()
    timeline.reading.work(tasks=2)
    timeline.reading.step = replace(timeline.reading.step)
    timeline.reading.work()

    assert [page.known_run for page in timeline.pages()] == [4, 8, 12]


def test_news_breaks_a_run(timeline):
    timeline.reading.stop_after_known = 6
    timeline.shows(*numbers(40, 1))
    timeline.crawl()
    timeline.shows("040", "039", "038", "new1", *numbers(37, 1))
    timeline.crawl()

    assert [page.known_run for page in timeline.pages()] == [0, 4, 8]


def test_an_edited_post_is_a_new_version_and_breaks_a_run(timeline):
    timeline.shows(*numbers(8, 1))
    timeline.crawl()
    edited = a_post("007", text="with a word more")
    posts = (a_post("008"), edited, a_post("006"), a_post("005"))
    timeline.shows(*numbers(8, 1), posts=posts)
    timeline.crawl()

    versions = timeline.reading.store.posts.versions(edited.id("feed"))
    assert [version.post.text for version in versions] == [None, "with a word more"]
    assert timeline.pages()[0].known_run == 2


def test_a_feed_in_no_order_is_read_to_its_end(timeline):
    timeline.shows(*numbers(12, 1), newest_first=False)
    timeline.crawl()

    assert timeline.crawl() == 3


# --- only what a completed walk showed is known ---


@pytest.mark.parametrize("read", [1, 2])
def test_an_interrupted_first_run_goes_on_where_it_stopped(timeline, read):
    timeline.shows(*numbers(12, 1))
    timeline.reading.trigger()
    timeline.reading.work(tasks=read)
    timeline.reading.trigger()
    timeline.reading.work()

    assert timeline.reading.got() == set(numbers(12, 1))


@pytest.mark.parametrize("pages", [1, 2])
def test_posts_of_a_first_run_that_broke_are_not_known(timeline, pages):
    timeline.shows(*numbers(12, 1))
    timeline.reading.trigger()
    for _ in range(pages):
        discovering = next(t for t in timeline.reading.queue if t.kind == "discover")
        timeline.reading.queue.clear()
        timeline.reading.perform(discovering)
    last = next(task for task in timeline.reading.queue if task.kind == "discover")
    gone = Failure(reason="gone", message="404", passing=False)
    write_end(timeline.reading.store, dead_end(last, gone, timeline.reading.clock, ()))
    timeline.reading.queue.clear()

    requests = timeline.crawl()

    assert timeline.reading.got() == set(numbers(12, 1))
    assert requests == 3
    assert [page.known_run for page in timeline.pages()] == [0, 0, 0]


def test_a_page_that_is_read_again_counts_no_post_of_its_own_first_reading(timeline):
    timeline.shows(*numbers(12, 1))
    task = timeline.reading.trigger()
    timeline.reading.queue.clear()
    with pytest.raises(Killed):
        timeline.reading.perform(task, actions=1)  # posts written, page not recorded
    timeline.reading.queue.append(task)
    timeline.reading.work()

    assert timeline.reading.got() == set(numbers(12, 1))
    assert [page.known_run for page in timeline.pages()] == [0, 0, 0]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_whatever_order_and_pins_nothing_within_the_run_is_lost(tmp_path_factory, data):
    """News anywhere among the first posts, with fewer known ones before it than end a walk."""
    before = numbers(12, 1)
    shown = list(before)
    run = data.draw(st.integers(1, 6), label="run")
    for number in range(data.draw(st.integers(1, 3), label="news")):
        shown.insert(data.draw(st.integers(0, run - 1), label="place"), f"new{number}")
    pins = data.draw(st.lists(st.sampled_from(before), unique=True, max_size=3), label="pins")
    size = data.draw(st.integers(1, 5), label="page size")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discover, "adapter", lambda _name: Told())
        reading = Reading(tmp_path_factory.mktemp("order"))
        reading.stop_after_known = run
        timeline = Timeline(reading, size)
        timeline.shows(*before)
        timeline.crawl()
        timeline.shows(*(f"*{pin}" for pin in pins), *shown)
        timeline.crawl()
        got = reading.got()
        reading.store.close()

    assert got == set(shown)


# --- what is missing, and what is gone ---


def test_a_post_that_announces_more_than_it_lists_is_told(timeline):
    posts = (a_post("1", announced=18), a_post("2", announced=1), a_post("3"))
    timeline.shows("1", posts=posts)
    timeline.crawl()

    (page,) = timeline.pages()
    assert page.skipped == (Skipped(where="post 1", reason="incomplete: 1 of 18"),)


def test_what_an_adapter_said_of_a_post_itself_is_not_said_twice(timeline):
    said = Skipped(where="item 1", reason="incomplete: 1 of 18")
    post = a_post("1", announced=18, notes=("incomplete: 1 of 18 (its page is gone)",))
    timeline.shows("1", posts=(post,), skipped=(said,))
    timeline.crawl()

    assert timeline.pages()[0].skipped == (said,)


def test_the_moving_half_of_a_live_photo_is_not_counted(timeline):
    film = a_picture("film").model_copy(update={"motion_of": "1"})
    posts = (a_post("1", announced=2, media=(a_picture("1"), film)),)
    timeline.shows("1", posts=posts)
    timeline.crawl()

    assert [one.reason for one in timeline.pages()[0].skipped] == ["incomplete: 1 of 2"]


def test_media_that_vanished_from_a_post_are_counted_once_and_stay(timeline):
    whole = a_post("1", media=tuple(map(a_picture, "abc")))
    timeline.shows("1", posts=(whole,))
    timeline.crawl()
    timeline.shows("1", posts=(whole.model_copy(update={"media": whole.media[:1]}),))
    told = []
    for _ in range(2):
        timeline.crawl()
        told.append(timeline.pages()[0].gone_at_source)

    assert told == [2, 0]
    assert timeline.reading.got() == {"a", "b", "c"}


def test_a_key_without_end_is_cut_where_it_is_told(timeline):
    timeline.shows("1", posts=(a_post("k" * 3000, announced=18),))
    timeline.crawl()

    assert timeline.pages()[0].skipped[0].where == "post " + "k" * 100
