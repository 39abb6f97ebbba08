"""A reading does not publish once more what is on its way since an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.model.end import Failure
from core.model.post import FeedPage
from core.model.task import DiscoverPayload, Task
from core.steps import discover
from core.steps.ends import dead_end, write_end
from core.steps.trigger import find_feed
from tests.support.reading import ADDRESS, Killed, Reading, ending, read
from tests.unit.steps.test_incremental import Told, a_picture, a_post

LIST = "https://feeds.example/list.txt"
GONE = Failure(reason="gone", message="404", passing=False)


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    reading = Reading(tmp_path)
    yield reading
    reading.store.close()


def keys(tasks: list[Task]) -> list[str]:
    return [task.payload.url.rpartition("/")[2].removesuffix(".jpg") for task in tasks]


def test_a_list_that_is_read_again_and_again_publishes_each_open_media_once(reading: Reading):
    lines = (f"https://pictures.example/{number}.jpg" for number in range(120))
    reading.site[LIST] = "\n".join(lines).encode()

    readings = [len(read(reading, LIST)) for _ in range(4)]

    assert readings == [120, 0, 0, 0]


def test_what_is_new_is_published_beside_what_is_open(reading: Reading):
    reading.serve_pages([["b", "a"]])
    read(reading)
    reading.serve_pages([["c", "b", "a"]])

    assert keys(read(reading)) == ["c"]


def test_with_nothing_open_whatever_has_no_end_was_lost_and_is_published(reading: Reading):
    reading.serve_pages([["b", "a"]])
    first, _ = read(reading)
    reading.store.media.end(ending(first))
    reading.open_tasks = 0

    assert keys(read(reading)) == ["a"]


def test_what_was_lost_is_published_from_every_page_of_the_walk(reading: Reading):
    """What its first page publishes is open by the time of the second."""
    reading.stop_after_known = 100
    reading.serve_pages([["c"], ["b"], ["a"]])
    read(reading)
    reading.open_tasks = 0

    assert keys(read(reading)) == ["c", "b", "a"]
    assert keys(read(reading)) == []


def test_what_two_feeds_of_a_source_lost_is_published_by_either(reading: Reading):
    """What the one publishes is open by the time the other is read."""
    other = "https://feeds.example/other.json"
    reading.serve_pages([["a"]])
    reading.serve(["b"], address=other)
    read(reading)
    read(reading, other)
    reading.open_tasks = 0

    assert keys(read(reading)) == ["a"]
    assert keys(read(reading, other)) == ["b"]
    assert keys(read(reading)) == keys(read(reading, other)) == []


def test_what_a_broken_walk_showed_is_published(reading: Reading):
    reading.serve_pages([["b"], ["a"]])
    reading.perform(reading.trigger())
    write_end(reading.store, dead_end(reading.queue[-1], GONE, reading.clock, ()))
    reading.queue.clear()
    reading.open_tasks = 5

    assert keys(read(reading)) == ["b", "a"]


@pytest.mark.parametrize("died_before", [0, 1])
def test_a_page_whose_worker_died_publishes_what_is_new_on_it_again(
    reading: Reading, died_before: int
):
    reading.serve_pages([["b"]])
    read(reading)
    reading.serve_pages([["c", "b"]])
    with pytest.raises(Killed):
        reading.perform(reading.trigger(), actions=died_before)
    reading.queue.clear()

    assert keys(read(reading)) == ["c"]


def test_another_feed_of_the_source_publishes_what_it_shows_once(reading: Reading):
    other = "https://feeds.example/other.json"
    reading.serve_pages([["a"]])
    reading.serve(["a", "b"], address=other)
    read(reading)

    assert keys(read(reading, other)) == ["a", "b"]  # no walk of this one proves anything
    assert keys(read(reading, other)) == keys(read(reading)) == []


def test_a_generation_that_a_person_reopened_is_published(reading: Reading):
    reading.serve_pages([["a"]])
    [task] = read(reading)
    write_end(reading.store, dead_end(task, GONE, reading.clock, ()))
    reading.store.media.reopen(task.payload.media, 1)

    assert [again.generation for again in read(reading)] == [2]


def test_of_a_changed_post_only_new_media_are_published(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(discover, "adapter", lambda _name: Told())
    readings = []
    for text, shown in (("one", "ab"), ("two", "abc"), ("three", "abc"), ("four", "ad")):
        post = a_post("1", text=text, media=tuple(map(a_picture, shown)))
        reading.site[ADDRESS] = FeedPage(posts=(post,)).model_dump_json().encode()
        readings.append(keys(read(reading)))

    assert readings == [["a", "b"], ["c"], [], ["d"]]


def test_of_a_post_that_changed_since_a_broken_walk_all_media_are_published(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(discover, "adapter", lambda _name: Told())
    for cursor, text in ((f"{ADDRESS}?page=2", "one"), (None, "two")):
        page = FeedPage(posts=(a_post("1", text=text),), cursor=cursor)
        reading.site[ADDRESS] = page.model_dump_json().encode()
        if cursor:
            reading.perform(reading.trigger())
            write_end(reading.store, dead_end(reading.queue[-1], GONE, reading.clock, ()))
            reading.queue.clear()
            reading.open_tasks = 5

    assert keys(read(reading)) == ["1"]


# --- what the pages of later readings hold ---


def held(reading: Reading, named: str = ADDRESS) -> list[list[str]]:
    """By walk, the media that its pages hold."""
    walks, feed = reading.store.walks, find_feed(reading.settings, named).record.feed
    return [
        [one.url for page in walks.pages(feed, walk.walk) for one in page.media]
        for walk in walks.all(feed)
    ]


def test_a_list_that_is_read_each_night_is_held_once(reading: Reading):
    lines = (f"https://pictures.example/{number}.jpg" for number in range(600))
    reading.site[LIST] = "\n".join(lines).encode()
    for _ in range(8):
        read(reading, LIST)

    by_walk = held(reading, LIST)
    assert [len(media) for media in by_walk][:2] == [600, 0]
    assert sum(map(len, by_walk)) == 600
    assert len(by_walk) <= 4


def test_a_page_of_known_posts_tells_how_many_media_they_show(reading: Reading):
    reading.serve_pages([["b", "a"]])
    read(reading)
    reading.serve_pages([["c", "b", "a"]])
    read(reading)
    newest = reading.store.walks.newest(reading.feed().feed)
    assert newest is not None
    page = reading.store.walks.page(newest.feed, newest.walk, 1)
    assert page is not None

    assert (len(page.media), page.known_media, page.new_posts, page.new_so_far) == (1, 2, 1, 1)


def test_what_was_lost_is_held_by_the_page_that_publishes_it_again(reading: Reading):
    reading.serve_pages([["b", "a"]])
    first, _ = read(reading)
    reading.store.media.end(ending(first))
    reading.open_tasks = 0
    read(reading)

    assert [len(media) for media in held(reading)] == [2, 1]


def test_a_late_task_of_a_forgotten_walk_does_nothing(reading: Reading):
    reading.serve_pages([["a"]])
    read(reading)
    late = reading.trigger()
    reading.perform(reading.queue.popleft())
    for _ in range(4):
        read(reading)
    assert isinstance(late.payload, DiscoverPayload)
    forgotten = reading.store.walks.get(late.payload.feed, late.payload.walk)
    asked = len(reading.asked)
    reading.perform(late)

    assert forgotten is None
    assert (len(reading.asked), list(reading.queue)) == (asked, [])
