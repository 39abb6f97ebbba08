"""The media that a page's posts show: what their tasks need, and which had them published by an
earlier walk. Publishes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from core.model.post import Post
from core.model.task import ImagePayload, ManifestPayload
from core.steps.page import media_payload
from core.steps.wish import Wish
from core.store.posts import Seen
from core.store.store import Store


def shown(
    source: str, feed: str, posts: Iterable[Post], wish: Wish
) -> tuple[ImagePayload | ManifestPayload, ...]:
    """What the tasks need that get a page's media, each once, in the page's order."""
    media: dict[str, ImagePayload | ManifestPayload] = {}
    for post in posts:
        for record in post.media:
            found = media_payload(source, feed, post, record, wish)
            media.setdefault(found.media, found)
    return tuple(media.values())


def tasked(
    store: Store, source: str, feed: str, posts: Sequence[Post], seen: Sequence[Seen]
) -> frozenset[str]:
    """The media ids that a completed walk of this feed showed: each of its pages is recorded, and
    that is after the confirms of what it published. A walk that broke proves nothing."""
    return frozenset(_tasked(store, source, feed, zip(posts, seen, strict=True)))


def _tasked(
    store: Store, source: str, feed: str, found: Iterable[tuple[Post, Seen]]
) -> Iterator[str]:
    for post, one in found:
        if one is Seen.KNOWN:
            yield from (record.id(source) for record in post.media)
        elif one is Seen.CHANGED:
            yield from _shown_before(store, post.id(source), feed)


def _shown_before(store: Store, post: str, feed: str) -> Iterator[str]:
    """The media of a post's earlier versions, as far as this feed's completed walks showed them."""
    for version in store.posts.versions(post):
        if version.feed == feed and store.walks.completed(feed, version.first_seen_in):
            yield from version.media
