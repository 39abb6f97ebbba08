"""What a page's record says: where the walk ends, which rendition is got, what is missing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from core.manifests import READABLE
from core.model.post import FeedPage, MediaRecord, Post, Rendition, Skipped
from core.model.secrecy import Secrecy
from core.model.source import SourceTerms
from core.model.task import DiscoverPayload, ImagePayload, ManifestPayload
from core.model.walk import WalkPage
from core.steps.elsewhere import MOST_ALTERNATIVES
from core.steps.wish import Wish
from core.store.posts import Seen

CURSOR_REPEATS = "cursor_repeats"
LEADS_TO_ITSELF = "leads_to_itself"  # how some feeds say that this page is the last
NO_POSTS = "no_posts"
MOST_EMPTY_PAGES = 1000  # in a row: some feeds filter after paging, but none so much
INCOMPLETE = "incomplete:"  # so begins the reason of a post that shows fewer media than it has
_READABLE = (None, *READABLE)  # a plain file, and the manifests that there are parsers for
_MOST_LETTERS = 2000  # of an address beside the chosen one
_ANY = Wish()
_MAY_TELL = ("key", "referer", "poster", "ref", "motion_of")  # of a media: texts with addresses


def ending_of(page: WalkPage, payload: DiscoverPayload) -> str | None:
    """Why this page is the walk's last, if it is."""
    if page.next_cursor is None:
        return "last_page"
    if page.next_cursor == (page.cursor or payload.address):
        return LEADS_TO_ITSELF
    if page.next_cursor == page.checkpoint:
        return CURSOR_REPEATS
    if page.empty_run >= MOST_EMPTY_PAGES:
        return NO_POSTS
    if page.newest_first and page.nothing_new:
        return "nothing_new"
    return None


def checkpoint(payload: DiscoverPayload, before: WalkPage | None) -> str | None:
    """The cursor of the last page whose number is a power of two: comparing the next cursor with it
    finds every loop, however long, without reading all earlier pages (Brent)."""
    if payload.page & (payload.page - 1) == 0:
        return payload.cursor or payload.address
    return before.checkpoint if before else None


def new_so_far(new_posts: int, before: WalkPage | None, page: int) -> int | None:
    """How many posts of the walk were news up to this page; None where nobody counted before."""
    if before is None:
        return new_posts if page == 1 else None
    return None if before.new_so_far is None else before.new_so_far + new_posts


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
    source: str, feed: str, post: Post, record: MediaRecord, wish: Wish = _ANY
) -> ImagePayload | ManifestPayload:
    """What the task needs that gets a media which a post shows, in the rendition that is wanted
    most; where it is a plain file, with those that may serve in its place."""
    chosen, *others = _ranked(record, wish)
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
    # A hash that stands on a media in several renditions does not say which one it is of.
    hashes = record.hashes if len(record.renditions) == 1 else {}
    more = {"hashes": hashes, "alternatives": tuple(_alternatives(others))}
    return ImagePayload.model_validate(fields | more)


def _ranked(record: MediaRecord, wish: Wish) -> list[Rendition]:
    """Those that we can read, the most wanted first; where there is none, the best, to be refused
    by name."""
    readable = [found for found in record.renditions if found.manifest in _READABLE]
    return wish.ranked(readable, record.kind) or [record.renditions[0]]


def _alternatives(others: Sequence[Rendition]) -> Iterator[Rendition]:
    """Other plain files that may be asked for in the chosen one's place, as a message can hold
    them."""
    plain = (one for one in others if one.manifest is None and len(one.url) <= _MOST_LETTERS)
    for one in islice(plain, MOST_ALTERNATIVES):
        yield one.model_copy(update={"backups": ()})


def without_secrets(page: FeedPage, terms: SourceTerms) -> FeedPage:
    """Secrets leave what goes into messages and records, be they known by the name of a parameter
    or by their value; the fetcher adds them again where they belong."""
    secrecy = Secrecy.of(terms)
    if not secrecy:
        return page
    return page.model_copy(
        update={
            "cursor": page.cursor and secrecy.text(page.cursor),
            "posts": tuple(_post_without(post, secrecy) for post in page.posts),
            "skipped": tuple(_skipped_without(one, secrecy) for one in page.skipped),
            "notes": tuple(map(secrecy.text, page.notes)),
        }
    )


def _skipped_without(one: Skipped, secrecy: Secrecy) -> Skipped:
    return Skipped(where=secrecy.text(one.where), reason=secrecy.text(one.reason))


def _post_without(post: Post, secrecy: Secrecy) -> Post:
    return post.model_copy(
        update={
            "key": secrecy.text(post.key),
            "link": post.link and secrecy.text(post.link),
            "origin": post.origin and secrecy.text(post.origin),
            "notes": tuple(map(secrecy.text, post.notes)),
            "media": tuple(_media_without(record, secrecy) for record in post.media),
        }
    )


def _media_without(record: MediaRecord, secrecy: Secrecy) -> MediaRecord:
    told = {name: getattr(record, name) for name in _MAY_TELL}
    update: dict[str, object] = {name: text and secrecy.text(text) for name, text in told.items()}
    update["renditions"] = tuple(_rendition_without(one, secrecy) for one in record.renditions)
    return record.model_copy(update=update)


def _rendition_without(rendition: Rendition, secrecy: Secrecy) -> Rendition:
    url, *backups = map(secrecy.address, (rendition.url, *rendition.backups))
    return rendition.model_copy(update={"url": url, "backups": tuple(backups)})
