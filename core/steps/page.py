"""What a page's record says: where the walk ends, which rendition is got. Pure."""

from __future__ import annotations

from core.model.addresses import without_parameters
from core.model.post import FeedPage, MediaRecord, Post, Rendition
from core.model.source import SourceTerms
from core.model.task import DiscoverPayload, ImagePayload
from core.model.walk import WalkPage

CURSOR_REPEATS = "cursor_repeats"


def ending_of(page: WalkPage, payload: DiscoverPayload) -> str | None:
    """Why this page is the walk's last, if it is."""
    if page.next_cursor is None:
        return "last_page"
    if page.next_cursor in (page.cursor or payload.address, page.checkpoint):
        return CURSOR_REPEATS
    if page.newest_first and page.posts and page.new_posts == 0:
        return "nothing_new"
    return None


def image_payload(source: str, feed: str, post: Post, record: MediaRecord) -> ImagePayload:
    """What an image task needs of a media that a post shows."""
    chosen = _choose(record)
    return ImagePayload(
        media=record.id(source),
        media_kind=record.kind,
        url=chosen.url,
        rendition=chosen,
        post=post.id(source),
        feed=feed,
        position=record.position,
        title=record.title or post.title,
        author=post.author.name if post.author else None,
        created_at=post.created_at.isoformat() if post.created_at else None,
        referer=record.referer,
        hashes=record.hashes if len(record.renditions) == 1 else {},
    )


def _choose(record: MediaRecord) -> Rendition:
    """The best plain file; a manifest only where nothing else is offered."""
    plain = (rendition for rendition in record.renditions if rendition.manifest is None)
    return next(plain, record.renditions[0])


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
