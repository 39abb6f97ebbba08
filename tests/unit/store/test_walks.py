from __future__ import annotations

import io
import threading

import pytest

from core.errors import StorageDown, TooLarge
from core.model.walk import WalkState
from tests.support.store import FEED, open_store, page, walk_end

NOW = 1_000_000.0


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "s")
    yield opened
    opened.close()


@pytest.fixture
def walks(store):
    return store.walks


def test_the_first_trigger_opens_a_walk(walks):
    walk, resumed = walks.open_or_resume(FEED, now=NOW)

    assert not resumed
    assert (walk.feed, walk.opened_at) == (FEED, NOW)
    assert walks.current(FEED) == walks.get(FEED, walk.walk) == walk


def test_an_open_walk_is_resumed(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)

    assert walks.open_or_resume(FEED, now=NOW + 60) == (walk, True)


@pytest.mark.parametrize("state", list(WalkState))
def test_a_closed_walk_is_followed_by_another(walks, state):
    first, _ = walks.open_or_resume(FEED, now=NOW)
    walks.close(walk_end(first.walk, state))
    second, resumed = walks.open_or_resume(FEED, now=NOW + 60)

    assert not resumed
    assert second.walk > first.walk


def test_ids_keep_the_order_of_opening_when_the_clock_goes_back(walks):
    opened = []
    for now in (NOW, NOW, NOW - 3600, NOW - 7200):
        walk, _ = walks.open_or_resume(FEED, now=now)
        walks.close(walk_end(walk.walk))
        opened.append(walk)

    assert list(walks.all(FEED)) == opened
    assert len({walk.walk for walk in opened}) == 4


def test_feeds_walk_apart(walks):
    walks.open_or_resume(FEED, now=NOW)
    _, resumed = walks.open_or_resume("other", now=NOW)

    assert not resumed


def test_threads_that_ask_at_once_get_the_same_walk(walks):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(walks.open_or_resume(FEED, now=NOW)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({walk.walk for walk, _ in found}) == 1
    assert [resumed for _, resumed in found].count(False) == 1


def test_a_folder_that_a_crash_left_empty_is_no_walk(walks, tmp_path):
    (tmp_path / "s" / "walks" / FEED / "20990101T000000000000").mkdir(parents=True)
    walk, resumed = walks.open_or_resume(FEED, now=NOW)

    assert not resumed
    assert walk.walk > "20990101T000000000000"


def test_pages_come_back_in_order(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    for number in (2, 10, 1):
        walks.end_page(page(walk.walk, number))

    assert [record.page for record in walks.pages(FEED, walk.walk)] == [1, 2, 10]


def test_the_last_page_is_the_one_with_the_highest_number(walks):
    walk, _ = walks.open_or_resume(FEED, now=1_000_000.0)
    before = walks.last_page(FEED, walk.walk)
    for number in (9, 10, 2):
        walks.end_page(page(walk.walk, number))

    assert before is None
    assert walks.last_page(FEED, walk.walk).page == 10


def test_the_first_record_of_a_page_stands(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    first = page(walk.walk)

    assert walks.end_page(first)
    assert not walks.end_page(first.model_copy(update={"new_posts": 7}))
    assert walks.page(FEED, walk.walk, 1) == first


def test_a_page_that_is_not_done_is_not_there(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)

    assert walks.page(FEED, walk.walk, 1) is None
    assert list(walks.pages(FEED, walk.walk)) == []


def test_the_first_end_of_a_walk_stands(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)

    assert walks.close(walk_end(walk.walk))
    assert not walks.close(walk_end(walk.walk, WalkState.BROKEN))
    assert walks.end_of(FEED, walk.walk).state is WalkState.COMPLETE
    assert walks.current(FEED) is None


def test_only_a_complete_walk_is_completed(walks):
    states = []
    for state in (None, WalkState.BROKEN, WalkState.COMPLETE):
        walk, _ = walks.open_or_resume(FEED, now=NOW)
        if state:
            walks.close(walk_end(walk.walk, state))
        states.append(walks.completed(FEED, walk.walk))

    assert states == [False, False, True]
    assert not walks.completed(FEED, "unknown")


def test_a_walk_that_was_open_when_asked_is_seen_to_complete(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    walks.completed(FEED, walk.walk)
    walks.close(walk_end(walk.walk))

    assert walks.completed(FEED, walk.walk)


def test_a_completed_walk_is_read_once(walks, tmp_path):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    walks.close(walk_end(walk.walk))
    walks.completed(FEED, walk.walk)
    (tmp_path / "s" / "walks" / FEED / walk.walk / "closed.json").unlink()

    assert walks.completed(FEED, walk.walk)


def test_a_trigger_that_came_meanwhile_is_remembered(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    before = walks.asked_again(walk)
    walks.ask_again(walk)
    walks.ask_again(walk)

    assert not before
    assert walks.asked_again(walk)


def test_the_first_body_is_kept(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    for content in (b"first", b"second"):
        path = walks.keep_body(FEED, walk.walk, io.BytesIO(content), max_bytes=100)

    assert path == walks.body(FEED, walk.walk)
    with walks.open_body(FEED, walk.walk) as body:
        assert body.read() == b"first"


def test_a_body_past_the_cap_is_refused_and_leaves_nothing(walks, tmp_path):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    with pytest.raises(TooLarge, match="10 bytes allowed"):
        walks.keep_body(FEED, walk.walk, io.BytesIO(b"x" * 11), max_bytes=10)

    assert not walks.body(FEED, walk.walk).exists()
    assert list((tmp_path / "s" / "staging" / "unnamed").iterdir()) == []


def test_a_body_that_is_not_kept_is_told(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    with pytest.raises(StorageDown, match="submit the feed again"):
        walks.open_body(FEED, walk.walk)


def test_a_walk_of_a_local_file_reads_what_the_file_held_when_it_opened(store):
    store.feeds.keep_body(FEED, io.BytesIO(b"one"))
    walk, _ = store.walks.open_or_resume(FEED, now=NOW)
    store.feeds.keep_body(FEED, io.BytesIO(b"two"))

    with store.walks.open_body(FEED, walk.walk) as body:
        assert body.read() == b"one"


def test_the_next_walk_of_a_local_file_reads_the_edited_one(store):
    store.feeds.keep_body(FEED, io.BytesIO(b"one"))
    walk, _ = store.walks.open_or_resume(FEED, now=NOW)
    store.walks.close(walk_end(walk.walk))
    store.feeds.keep_body(FEED, io.BytesIO(b"two"))
    following, _ = store.walks.open_or_resume(FEED, now=NOW)

    with store.walks.open_body(FEED, following.walk) as body:
        assert body.read() == b"two"


def test_a_damaged_page_is_told(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    walks.end_page(page(walk.walk))
    path = walks.body(FEED, walk.walk).with_name("000001.json")
    path.write_bytes(b"")
    with pytest.raises(StorageDown, match="damaged"):
        walks.page(FEED, walk.walk, 1)


# --- what got lost on its way ---


@pytest.mark.parametrize(("idle_at", "lost"), [(NOW + 9, False), (NOW + 11, True)])
def test_what_a_completed_walk_published_before_nothing_was_open_is_lost(walks, idle_at, lost):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    walks.close(walk_end(walk.walk).model_copy(update={"closed_at": NOW + 10}))
    walks.open_or_resume(FEED, now=NOW + 10.5)
    walks.found_idle("pictures", now=idle_at)

    assert walks.are_lost(FEED, "pictures") is lost
    assert not walks.are_lost(FEED, "press")


def test_a_walk_that_broke_does_not_stand_for_what_was_published(walks):
    for closed_at, state in ((NOW + 1, WalkState.COMPLETE), (NOW + 9, WalkState.BROKEN)):
        walk, _ = walks.open_or_resume(FEED, now=NOW)
        end = walk_end(walk.walk).model_copy(update={"closed_at": closed_at, "state": state})
        walks.close(end)
    walks.found_idle("pictures", now=NOW + 5)

    assert walks.are_lost(FEED, "pictures")


def test_a_feed_without_a_completed_walk_lost_nothing(walks):
    walks.open_or_resume(FEED, now=NOW)
    walks.found_idle("pictures", now=NOW + 5)

    assert not walks.are_lost(FEED, "pictures")


# --- walks that told nothing new ---


def a_closed_walk(walks, at, *, news=None, state=WalkState.COMPLETE):
    """One of one page with so many new posts; None: of no page."""
    walk, _ = walks.open_or_resume(FEED, now=NOW + at)
    if news is not None:
        walks.end_page(page(walk.walk).model_copy(update={"new_so_far": news}))
    walks.close(walk_end(walk.walk, state))
    return walk


def test_a_feed_that_is_asked_again_and_again_leaves_what_had_news(walks, store):
    told = a_closed_walk(walks, 0, news=3)
    for hour in range(1, 50):
        a_closed_walk(walks, hour, news=0)
    again = a_closed_walk(walks, 50, news=1)
    newest = a_closed_walk(walks, 51, news=0)

    left = list(walks.all(FEED))
    assert [left[0], *left[-2:]] == [told, again, newest]
    assert len(left) <= 4
    assert len(list((store.root / "walks" / FEED).iterdir())) == len(left) + 1  # the lock


def test_the_newest_complete_walk_stays_for_what_it_proves(walks):
    complete = a_closed_walk(walks, 0, news=0)
    for hour in range(1, 10):
        a_closed_walk(walks, hour, state=WalkState.BROKEN)
    walks.open_or_resume(FEED, now=NOW + 20)

    assert complete in list(walks.all(FEED))
    assert len(list(walks.all(FEED))) <= 3


@pytest.mark.parametrize("state", list(WalkState))
def test_a_walk_whose_news_nobody_counted_stays(walks, state):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    walks.end_page(page(walk.walk))
    walks.close(walk_end(walk.walk, state))
    for hour in range(1, 4):
        a_closed_walk(walks, hour, news=0)

    assert walk in list(walks.all(FEED))


def test_a_broken_walk_with_news_stays(walks):
    told = a_closed_walk(walks, 0, news=2, state=WalkState.BROKEN)
    for hour in range(1, 4):
        a_closed_walk(walks, hour, news=0)

    assert told in list(walks.all(FEED))


def test_what_a_crash_left_of_a_forgotten_walk_goes_the_next_time(walks, store):
    first = a_closed_walk(walks, 0, news=0)
    (store.root / "walks" / FEED / first.walk / "walk.json").unlink()
    for hour in (1, 2):
        a_closed_walk(walks, hour, news=0)

    assert not (store.root / "walks" / FEED / first.walk).exists()


def test_a_walk_is_superseded_by_a_later_one_only(walks):
    first = a_closed_walk(walks, 0, news=1)
    second = a_closed_walk(walks, 1, news=1)

    assert walks.is_superseded(FEED, first.walk)
    assert not walks.is_superseded(FEED, second.walk)
    assert not walks.is_superseded("other", first.walk)


def test_the_highest_page_is_told_without_reading_any(walks, store, monkeypatch):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    before = walks.last_number(FEED, walk.walk)
    for number in (1, 2, 11):
        walks.end_page(page(walk.walk, number))
    monkeypatch.setattr(store._disk, "read", lambda path: pytest.fail(f"{path} was read"))

    assert (before, walks.last_number(FEED, walk.walk)) == (0, 11)


def test_an_outline_tells_of_each_page_what_a_run_asks_of_all(walks):
    walk, _ = walks.open_or_resume(FEED, now=NOW)
    for number in (2, 1):
        walks.end_page(page(walk.walk, number).model_copy(update={"gone_at_source": number}))

    told = [(one.page, one.gone_at_source) for one in walks.outlines(FEED, walk.walk)]
    assert told == [(1, 1), (2, 2)]
