"""Media that a post showed before and no longer does: marked, never removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.model.post import MediaKind, MediaRecord, Post, Rendition
from core.store.posts import PostVersion, Seen
from core.store.store import Store
from tests.support.store import FEED, SOURCE, open_store, walk_end


class Feed:
    """A feed that shows one post, a walk a reading."""

    def __init__(self, root: Path) -> None:
        self.store: Store = open_store(root)
        self._walks = 0

    def shows(self, *keys: str, feed: str = FEED, **fields: object) -> Seen:
        """The post with media of these keys."""
        self._walks += 1
        walk = f"w{self._walks}"
        seen = self.store.posts.put(a_post(*keys, **fields), source=SOURCE, feed=feed, walk=walk)
        self.store.walks.close(walk_end(walk, feed=feed))
        return seen

    def newest(self) -> PostVersion:
        found = self.store.posts.newest(a_post().id(SOURCE))
        assert found is not None
        return found

    def gone(self) -> tuple[str, ...]:
        """What vanished with the newest version."""
        return self.newest().gone_at_source


def a_post(*keys: str, media: tuple[MediaRecord, ...] | None = None, **fields: object) -> Post:
    shown = tuple(map(picture, keys)) if media is None else media
    return Post.model_validate({"key": "1", "text": "water", "media": shown} | fields)


def picture(key: str, url: str = "", **fields: object) -> MediaRecord:
    rendition = Rendition(url=url or f"https://cdn.mill.example/{key}.jpg")
    return MediaRecord(kind=MediaKind.IMAGE, renditions=(rendition,), key=key or None, **fields)


def media_of(*keys: str) -> tuple[str, ...]:
    return tuple(picture(key).id(SOURCE) for key in keys)


@pytest.fixture
def feed(tmp_path: Path):
    feed = Feed(tmp_path / "s")
    yield feed
    feed.store.close()


def test_a_media_that_vanished_is_marked_in_the_version_that_lacks_it(feed):
    feed.shows("a", "b", "c")

    assert feed.shows("b") is Seen.CHANGED
    assert feed.gone() == media_of("a", "c")
    assert feed.newest().media == media_of("b")


def test_the_versions_before_keep_what_they_showed(feed):
    feed.shows("a", "b")
    feed.shows("b")

    first, _ = feed.store.posts.versions(a_post().id(SOURCE))
    assert (first.media, first.gone_at_source) == (media_of("a", "b"), ())


def test_nothing_is_gone_from_a_post_that_only_gained(feed):
    feed.shows("a")
    feed.shows("b", "a")

    assert feed.gone() == ()


def test_what_is_gone_is_marked_once(feed):
    feed.shows("a", "b")
    feed.shows("b")
    feed.shows("b", text="more water")

    assert feed.gone() == ()


def test_what_came_back_and_went_again_is_marked_again(feed):
    for keys in (("a", "b"), ("b",), ("a", "b"), ("b",)):
        feed.shows(*keys)

    assert feed.gone() == media_of("a")


@pytest.mark.parametrize("doubt", [{"notes": ("its album can't be read",)}, {"announced": 2}])
def test_a_reading_that_lacks_something_proves_nothing(feed, doubt):
    feed.shows("a", "b")
    feed.shows("b", **doubt)

    assert feed.gone() == ()


def test_what_a_doubtful_reading_lacked_is_marked_by_the_next_whole_one(feed):
    feed.shows("a", "b")
    feed.shows("b", notes=("its album can't be read",))
    feed.shows("b", text="more water")

    assert feed.gone() == media_of("a")


def test_the_moving_half_of_a_picture_is_not_one_of_those_announced(feed):
    still, film = picture("a"), picture("a-film", motion_of="a")
    feed.shows(media=(still, film, picture("b")), announced=2)
    feed.shows(media=(still, film), announced=2)
    doubted = feed.gone()
    feed.shows(media=(still, film), announced=1)

    assert (doubted, feed.gone()) == ((), media_of("b"))


def test_another_feed_that_shows_less_of_a_post_proves_nothing(feed):
    feed.shows("a", "b")
    feed.shows("a", feed="other")

    assert feed.gone() == ()


def test_two_feeds_that_show_a_post_differently_mark_nothing(feed):
    for _ in range(2):
        feed.shows("a", "b")
        feed.shows("a", feed="other")
    feed.shows("a", "b", text="more water")

    assert feed.gone() == ()


def test_a_version_that_another_feed_stored_counts_for_a_feed_that_showed_the_same(feed):
    feed.shows("a", "b", feed="other")
    feed.shows("a", "b")
    feed.shows("a")

    assert feed.gone() == media_of("b")


def test_an_address_that_is_signed_anew_is_not_gone(feed):
    for signature, text in (("x", "water"), ("y", "more water")):
        url = f"https://cdn.mill.example/1.jpg?sig={signature}"
        feed.shows(media=(picture("", url),), text=text)

    assert feed.gone() == ()


def test_a_page_that_is_read_again_keeps_the_mark(feed):
    feed.shows("a", "b")
    for _ in range(2):  # a redelivery, in the same walk
        feed.store.posts.put(a_post("b"), source=SOURCE, feed=FEED, walk="w2")

    assert feed.gone() == media_of("a")


# --- what is no edit ---


def test_new_addresses_of_a_media_with_a_key_are_no_edit(feed):
    feed.shows(media=(picture("a", "https://cdn-1.mill.example/k1/a.jpg", ref="1", poster="p"),))

    again = picture("a", "https://cdn-2.mill.example/k2/a.jpg", ref="2", poster="q")
    assert feed.shows(media=(again,)) is Seen.KNOWN


def test_another_address_of_a_media_without_a_key_is_an_edit(feed):
    feed.shows(media=(picture("", "https://cdn.mill.example/1.jpg"),))

    assert feed.shows(media=(picture("", "https://cdn.mill.example/2.jpg"),)) is Seen.CHANGED


@pytest.mark.parametrize(
    "fields", [{"text": "more water"}, {"title": "The weir"}, {"link": "https://mill.example/1"}]
)
def test_an_edited_post_is_a_new_version_and_the_old_one_stays(feed, fields):
    feed.shows("a")
    feed.shows("a", **fields)

    versions = feed.store.posts.versions(a_post().id(SOURCE))
    assert [version.post for version in versions] == [a_post("a"), a_post("a", **fields)]
