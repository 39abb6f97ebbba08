"""What a page's record says: where the walk ends, which rendition is got, what is missing. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.manifests import READABLE
from core.model.addresses import without_parameters
from core.model.post import FeedPage, MediaKind, MediaRecord, Post, Rendition, Skipped
from core.model.source import SourceTerms
from core.model.task import DiscoverPayload, ImagePayload, ManifestPayload
from core.model.walk import WalkPage
from core.store.posts import Seen

CURSOR_REPEATS = "cursor_repeats"
INCOMPLETE = "incomplete:"  # so begins the reason of a post that shows fewer media than it has
_READABLE = (None, *READABLE)  # a plain file, and the manifests that there are parsers for


def ending_of(page: WalkPage, payload: DiscoverPayload) -> str | None:
    """Why this page is the walk's last, if it is."""
    if page.next_cursor is None:
        return "last_page"
    if page.next_cursor in (page.cursor or payload.address, page.checkpoint):
        return CURSOR_REPEATS
    if page.newest_first and page.nothing_new:
        return "nothing_new"
    return None


def known_run(run: int, posts: Sequence[Post], seen: Sequence[Seen]) -> int:
    """How many posts in a row, up to a page's last, are known from an earlier completed walk; `run`
    were so up to the page before. Pinned ones stand where their age would not put them: they say
    nothing."""
    for post, one in zip(posts, seen, strict=True):
        if not post.pinned:
            run = run + 1 if one is Seen.KNOWN else 0
    return run


def only_known(posts: Sequence[Post], seen: Sequence[Seen]) -> bool:
    """Whether the page has posts in their order, and none of them is news: whatever the run, a page
    with news is followed by the next, since what is new may stand out of order."""
    told = [one for post, one in zip(posts, seen, strict=True) if not post.pinned]
    return bool(told) and all(one is Seen.KNOWN for one in told)


def with_missing_told(page: FeedPage) -> FeedPage:
    """The page with what its posts announce and do not list told as skipped, where its adapter did
    not say anything of it."""
    posts, skipped = [], [*page.skipped]
    for post in page.posts:
        listed = sum(media.motion_of is None for media in post.media)  # a live photo is one
        if post.announced is not None and post.announced > listed and not post.notes:
            reason = f"{INCOMPLETE} {listed} of {post.announced}"
            skipped.append(Skipped(where=f"post {post.key[:100]}", reason=reason))
            post = post.model_copy(update={"notes": (reason,)})  # noqa: PLW2901
        posts.append(post)
    return page.model_copy(update={"posts": tuple(posts), "skipped": tuple(skipped)})


def media_payload(
    source: str, feed: str, post: Post, record: MediaRecord, max_height: int | None = None
) -> ImagePayload | ManifestPayload:
    """What the task needs that gets a media which a post shows; a video of at most `max_height`
    lines, where there is one."""
    chosen = _choose(record, max_height)
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
        "ref": record.ref,
    }
    if chosen.manifest is not None:
        return ManifestPayload.model_validate(fields)
    hashes = record.hashes if len(record.renditions) == 1 else {}
    return ImagePayload.model_validate(fields | {"hashes": hashes})


def _choose(record: MediaRecord, max_height: int | None) -> Rendition:
    """The best of those that we can read; where there is none, the best, to be refused by name. A
    video that is nowhere small enough is got as small as there is; one that tells no height may
    be."""
    readable = [found for found in record.renditions if found.manifest in _READABLE]
    if record.kind is not MediaKind.VIDEO or max_height is None or not readable:
        return next(iter(readable), record.renditions[0])
    fitting = (found for found in readable if (found.height or 0) <= max_height)
    return next(fitting, min(readable, key=lambda found: found.height or 0))


def without_secrets(page: FeedPage, terms: SourceTerms) -> FeedPage:
    """Secret parameters leave the addresses that go into messages and records; the fetcher adds
    them again where they belong."""
    if not terms.secret_query:
        return page
    names = tuple(terms.secret_query)
    cursor = page.cursor and _cursor_without(page.cursor, names)
    posts = tuple(_post_without(post, names) for post in page.posts)
    return page.model_copy(update={"cursor": cursor, "posts": posts})


def _cursor_without(cursor: str, names: tuple[str, ...]) -> str:
    """A cursor is an address, or text of the adapter's that may hold some: they are not taken
    apart, and what else is in it stays as it is."""
    for name in names:
        told = rf'{re.escape(name)}=[^&#"\\\s]*'
        pair = re.compile(rf"(\?){told}&|[?&]{told}")
        before = ""
        while before != cursor:  # the same again, right behind
            before, cursor = cursor, pair.sub(r"\1", cursor)
    return cursor


def _post_without(post: Post, names: tuple[str, ...]) -> Post:
    media = tuple(
        record.model_copy(
            update={
                "renditions": tuple(_rendition_without(one, names) for one in record.renditions)
            }
        )
        for record in post.media
    )
    return post.model_copy(update={"media": media})


def _rendition_without(rendition: Rendition, names: tuple[str, ...]) -> Rendition:
    url, *backups = (without_parameters(u, names) for u in (rendition.url, *rendition.backups))
    return rendition.model_copy(update={"url": url, "backups": tuple(backups)})
