"""What a page's record says: where the walk ends, which rendition is got. Pure."""

from __future__ import annotations

from core.model.addresses import without_parameters
from core.model.post import FeedPage, MediaRecord, Post, Rendition
from core.model.source import SourceTerms
from core.model.task import DiscoverPayload, ImagePayload, ManifestPayload
from core.model.walk import WalkPage

CURSOR_REPEATS = "cursor_repeats"
_READABLE = (None, "hls", "dash")  # a plain file, and the manifests of core/manifests


def ending_of(page: WalkPage, payload: DiscoverPayload) -> str | None:
    """Why this page is the walk's last, if it is."""
    if page.next_cursor is None:
        return "last_page"
    if page.next_cursor in (page.cursor or payload.address, page.checkpoint):
        return CURSOR_REPEATS
    if page.newest_first and page.posts and page.new_posts == 0:
        return "nothing_new"
    return None


def media_payload(
    source: str, feed: str, post: Post, record: MediaRecord
) -> ImagePayload | ManifestPayload:
    """What the task needs that gets a media which a post shows."""
    chosen = _choose(record)
    fields = {
        "media": record.id(source),
        "media_kind": record.kind,
        "url": chosen.url,
        "rendition": chosen,
        "post": post.id(source),
        "feed": feed,
        "position": record.position,
        "title": record.title or post.title,
        "author": post.author.name if post.author else None,
        "created_at": post.created_at.isoformat() if post.created_at else None,
        "referer": record.referer,
    }
    if chosen.manifest is not None:
        return ManifestPayload.model_validate(fields)
    hashes = record.hashes if len(record.renditions) == 1 else {}
    return ImagePayload.model_validate(fields | {"hashes": hashes})


def _choose(record: MediaRecord) -> Rendition:
    """The best of those that we can read; where there is none, the best, to be refused by name."""
    readable = (found for found in record.renditions if found.manifest in _READABLE)
    return next(readable, record.renditions[0])


def without_secrets(page: FeedPage, terms: SourceTerms) -> FeedPage:
    """Secret parameters leave the addresses that go into messages and records; the fetcher adds
    them again where they belong."""
    if not terms.secret_query:
        return page
    names = tuple(terms.secret_query)
    cursor = page.cursor and without_parameters(page.cursor, names)
    posts = tuple(_post_without(post, names) for post in page.posts)
    return page.model_copy(update={"cursor": cursor, "posts": posts})


def _post_without(post: Post, names: tuple[str, ...]) -> Post:
    media = tuple(
        record.model_copy(
            update={
                "renditions": tuple(
                    rendition.model_copy(update={"url": without_parameters(rendition.url, names)})
                    for rendition in record.renditions
                )
            }
        )
        for record in post.media
    )
    return post.model_copy(update={"media": media})
