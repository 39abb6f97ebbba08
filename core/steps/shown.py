"""The media that a page's posts show: what their tasks need, and which had them published by an
earlier walk. Publishes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

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


def due_of(
    store: Store,
    media: Iterable[ImagePayload | ManifestPayload],
    on_their_way: Collection[str] = (),
) -> dict[str, int]:
    """Which media are still to be got, and in which generation; those that are on their way only if
    a person opened them again: once more at each reading, they would fill their source with
    copies."""
    due: dict[str, int] = {}
    for found in media:
        generation = store.media.open_generation(found.media)
        if generation is not None and not (generation == 1 and found.media in on_their_way):
            due[found.media] = generation
    return due


def held_by(source: str, posts: Sequence[Post], seen: Sequence[Seen]) -> set[str]:
    """The media ids that a page has to hold: of posts that no completed walk's page holds as they
    are."""
    news = (post for post, one in zip(posts, seen, strict=True) if one is not Seen.KNOWN)
    return {record.id(source) for post in news for record in post.media}


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
            media = {record.id(source) for record in post.media}
            yield from _shown_before(store, post.id(source), feed, media)


def _shown_before(store: Store, post: str, feed: str, media: set[str]) -> Iterator[str]:
    """Those of `media` that are in a post's earlier versions, as far as this feed's completed walks
    showed them. Of a thousand versions the last one mostly tells."""
    for version in store.posts.newest_first(post):
        if not media:
            return
        if version.feed == feed and store.walks.completed(feed, version.first_seen_in):
            yield from media.intersection(version.media)
            media.difference_update(version.media)
