from __future__ import annotations

import io

import pytest

from core.errors import Refused
from core.model.walk import FeedRecord
from tests.support.store import FEED, open_store


@pytest.fixture
def feeds(tmp_path):
    store = open_store(tmp_path / "s")
    yield store.feeds
    store.close()


def record(feed=FEED, address="http://mill.example/feed"):
    return FeedRecord(feed=feed, source="mill", adapter="rss", address=address)


def test_a_feed_comes_back_as_it_was_put(feeds):
    feeds.put(record())

    assert feeds.get(FEED) == record()


def test_an_unknown_feed_is_none(feeds):
    assert feeds.get(FEED) is None


def test_a_feed_may_be_put_anew(feeds):
    feeds.put(record())
    feeds.put(record(address="http://mill.example/moved"))

    assert feeds.get(FEED).address == "http://mill.example/moved"


def test_the_same_feed_again_writes_nothing(feeds, tmp_path):
    feeds.put(record())
    path = tmp_path / "s" / "feeds" / f"{FEED}.json"
    inode = path.stat().st_ino
    feeds.put(record())

    assert path.stat().st_ino == inode


def test_all_feeds_stand_in_order(feeds):
    for feed in ("b", "a", "c"):
        feeds.put(record(feed))
    feeds.keep_body("a", io.BytesIO(b"list"))

    assert [found.feed for found in feeds.all()] == ["a", "b", "c"]


def test_the_same_body_again_writes_nothing(feeds):
    path = feeds.keep_body(FEED, io.BytesIO(b"list"))
    inode = path.stat().st_ino
    feeds.keep_body(FEED, io.BytesIO(b"list"))

    assert path.stat().st_ino == inode


def test_a_new_body_takes_the_old_ones_place(feeds):
    feeds.keep_body(FEED, io.BytesIO(b"list"))
    path = feeds.keep_body(FEED, io.BytesIO(b"longer list"))

    assert path.read_bytes() == b"longer list"


def test_an_id_that_is_a_path_is_refused(feeds):
    with pytest.raises(Refused):
        feeds.put(record(feed="../x"))
