from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from core.errors import StorageDown
from core.model.post import Post
from core.model.walk import WalkState
from core.store.posts import Seen
from tests.support.store import FEED, SOURCE, open_store, post, walk_end


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "s")
    yield opened
    opened.close()


def put(store, what, walk, feed=FEED):
    return store.posts.put(what, source=SOURCE, feed=feed, walk=walk)


def close(store, walk, state=WalkState.COMPLETE, feed=FEED):
    store.walks.close(walk_end(walk, state, feed))


def ident(what):
    return what.id(SOURCE)


def test_a_post_never_seen_is_new_and_is_kept(store):
    assert put(store, post(), "w1") is Seen.NEW

    kept = store.posts.newest(ident(post()))
    assert kept.post == post()
    assert (kept.source, kept.feed, kept.first_seen_in) == (SOURCE, FEED, "w1")
    assert kept.media == (post().media[0].id(SOURCE),)


def test_a_post_of_a_completed_walk_is_known(store):
    put(store, post(), "w1")
    close(store, "w1")

    assert put(store, post(), "w2") is Seen.KNOWN


def test_a_post_of_this_very_walk_is_not_known(store):
    put(store, post(), "w1")

    assert put(store, post(), "w1") is Seen.NEW


def test_a_post_of_this_walk_stays_new_after_the_walk_is_closed(store):
    put(store, post(), "w1")
    close(store, "w1")

    assert put(store, post(), "w1") is Seen.NEW


@pytest.mark.parametrize("state", [None, WalkState.BROKEN])
def test_row_4_a_post_of_a_walk_that_did_not_complete_is_new(store, state):
    put(store, post(), "w1")
    if state:
        close(store, "w1", state)

    assert put(store, post(), "w2") is Seen.NEW


def test_row_4_a_post_first_seen_in_a_broken_walk_is_known_once_a_later_one_completes(store):
    put(store, post(), "w1")
    close(store, "w1", WalkState.BROKEN)
    put(store, post(), "w2")
    close(store, "w2")

    assert put(store, post(), "w3") is Seen.KNOWN


def test_another_feeds_completed_walk_proves_nothing(store):
    put(store, post(), "w1", feed="other")
    close(store, "w1", feed="other")

    assert put(store, post(), "w1") is Seen.NEW
    assert put(store, post(), "w2") is Seen.NEW


def test_a_post_of_another_feed_is_stored_once(store):
    put(store, post(), "w1", feed="other")
    put(store, post(), "w2")

    assert len(store.posts.versions(ident(post()))) == 1


def test_changed_content_is_a_new_version(store):
    put(store, post(text="water"), "w1")
    close(store, "w1")

    assert put(store, post(text="more water"), "w2") is Seen.CHANGED
    texts = [version.post.text for version in store.posts.versions(ident(post()))]
    assert texts == ["water", "more water"]


def test_a_changed_post_stays_changed_when_its_page_is_read_again(store):
    put(store, post(text="water"), "w1")
    close(store, "w1")
    put(store, post(text="more water"), "w2")

    assert put(store, post(text="more water"), "w2") is Seen.CHANGED


def test_a_changed_post_is_known_after_its_walk_completed(store):
    put(store, post(text="water"), "w1")
    close(store, "w1")
    put(store, post(text="more water"), "w2")
    close(store, "w2")

    assert put(store, post(text="more water"), "w3") is Seen.KNOWN


def test_content_that_changes_back_is_a_version_again(store):
    for walk, text in (("w1", "a"), ("w2", "b"), ("w3", "a")):
        put(store, post(text=text), walk)
        close(store, walk)

    assert [version.post.text for version in store.posts.versions(ident(post()))] == ["a", "b", "a"]
    assert put(store, post(text="a"), "w4") is Seen.KNOWN


def test_two_feeds_that_tell_a_post_differently_settle(store):
    for walk in ("w1", "w2", "w3"):
        for feed in ("left", "right"):
            last = put(store, post(text=feed), walk, feed=feed)
            close(store, walk, feed=feed)

    assert last is Seen.KNOWN
    assert len(store.posts.versions(ident(post()))) == 2


def test_unchanged_content_writes_nothing(store, tmp_path):
    put(store, post(), "w1")
    close(store, "w1")
    before = sorted((tmp_path / "s" / "posts").rglob("*"))
    put(store, post(), "w2")

    assert sorted((tmp_path / "s" / "posts").rglob("*")) == before


def test_a_signature_that_changes_is_no_change(store):
    put(store, post(url="http://mill.example/1.jpg?w=9&sig=abc"), "w1")
    close(store, "w1")

    assert put(store, post(url="http://mill.example/1.jpg?w=9&sig=xyz"), "w2") is Seen.KNOWN


def test_no_signature_is_in_a_stored_post(store, tmp_path):
    signed = post(url="http://user:pass@mill.example/1.jpg?sig=abcdef").model_copy(
        update={"link": "http://mill.example/p?token=abcdef"}
    )
    put(store, signed, "w1")
    (path,) = (tmp_path / "s" / "posts").rglob("*.1.json")

    assert "abcdef" not in path.read_text()
    assert "pass@" not in path.read_text()


def test_an_adapters_notes_are_no_change(store):
    put(store, post(), "w1")
    close(store, "w1")

    assert put(store, post().model_copy(update={"notes": ("bad date",)}), "w2") is Seen.KNOWN


def test_a_post_that_was_put_on_top_is_no_change(store):
    put(store, post(), "w1")
    close(store, "w1")

    assert put(store, post().model_copy(update={"pinned": True}), "w2") is Seen.KNOWN


def test_a_time_told_by_the_readers_clock_is_no_change(store):
    def told(minute: int) -> Post:
        moment = datetime(2026, 6, 20, 7, minute, tzinfo=UTC)
        return post().model_copy(update={"created_at": moment, "within_s": 3600.0})

    put(store, told(0), "w1")
    close(store, "w1")

    assert put(store, told(40), "w2") is Seen.KNOWN


def test_a_page_answers_for_each_post_in_order(store):
    put(store, post("known"), "w1")
    put(store, post("changed"), "w1")
    close(store, "w1")
    page = [post("new"), post("known"), post("changed", text="!"), post("new")]

    seen = store.posts.put_page(page, source=SOURCE, feed=FEED, walk="w2")
    assert seen == [Seen.NEW, Seen.KNOWN, Seen.CHANGED, Seen.NEW]


def test_a_torn_mark_does_not_count(store, tmp_path):
    put(store, post(), "w1")
    close(store, "w1", WalkState.BROKEN)
    put(store, post(), "w2")
    close(store, "w2")
    (mark,) = (tmp_path / "s" / "posts").rglob("*.seen.*")
    mark.write_bytes(b"")

    assert put(store, post(), "w3") is Seen.NEW


def test_a_version_that_another_walk_took_first_is_no_loss(store, monkeypatch):
    put(store, post(text="one"), "w1")
    newest = store.posts._newest
    answers = iter([0])  # the other walk's version was not there when we looked
    monkeypatch.setattr(
        store.posts, "_newest", lambda who: newest(who) if next(answers, None) is None else 0
    )
    put(store, post(text="two"), "w1", feed="other")

    texts = [version.post.text for version in store.posts.versions(ident(post()))]
    assert texts == ["one", "two"]


def test_a_damaged_version_is_told(store, tmp_path):
    put(store, post(), "w1")
    (path,) = (tmp_path / "s" / "posts").rglob("*.1.json")
    path.write_bytes(b"{")
    with pytest.raises(StorageDown, match="damaged"):
        put(store, post(), "w2")


def test_a_page_of_a_hundred_posts_costs_two_syncs(store, monkeypatch):
    synced = []
    before = store._disk.before
    monkeypatch.setattr(
        store._disk, "before", lambda what, path: (what == "sync" and synced.append(path)) or before
    )
    posts = [post(str(index)) for index in range(100)]
    store.posts.put_page(posts, source=SOURCE, feed=FEED, walk="w1")

    assert len(synced) <= 2


def test_a_page_of_known_posts_costs_no_sync(store, monkeypatch):
    posts = [post(str(index)) for index in range(20)]
    store.posts.put_page(posts, source=SOURCE, feed=FEED, walk="w1")
    close(store, "w1")
    synced = []
    monkeypatch.setattr(
        store._disk, "before", lambda what, path: what == "sync" and synced.append(path)
    )
    store.posts.put_page(posts, source=SOURCE, feed=FEED, walk="w2")

    assert synced == []


def test_the_newest_of_a_thousand_versions_is_found_in_a_few_looks(store, monkeypatch):
    put(store, post(), "w")
    (first,) = (store.root / "posts").glob("*/*.1.json")
    for number in range(2, 1001):
        os.link(first, first.with_name(f"{ident(post())}.{number}.json"))
    looked = []
    stat = store._disk.stat
    monkeypatch.setattr(store._disk, "stat", lambda path: looked.append(path) or stat(path))

    assert store.posts._newest(ident(post())) == 1000
    assert len(looked) <= 21


@pytest.mark.parametrize("versions", range(9))
def test_the_newest_version_is_found_whatever_its_number(store, versions):
    folder = store.root / "posts" / ident(post())[:2]
    folder.mkdir(exist_ok=True)
    for number in range(1, versions + 1):
        (folder / f"{ident(post())}.{number}.json").touch()

    assert store.posts._newest(ident(post())) == versions
