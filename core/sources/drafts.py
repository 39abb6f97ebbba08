"""A post's media and a page's posts while an adapter gathers them: renditions put in order, the
same object kept once, what gave nothing noted with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from core.model.post import Author, FeedPage, MediaKind, MediaRecord, Post, Rendition, Skipped
from core.sources.resolve import Unusable, resolve
from core.sources.values import digest_of


@dataclass(frozen=True, slots=True)
class Offer:
    """One address that an item offers, with what it says about the whole media."""

    where: str  # "item 3, enclosure 1"
    kind: MediaKind
    rendition: Rendition
    title: str | None = None
    poster: str | None = None
    duration_s: float | None = None
    hashes: dict[str, str] = field(default_factory=dict)
    sample: bool = False  # a teaser, not the thing
    guessed: bool = False  # nothing told the kind


def best_first(offers: Iterable[Offer]) -> list[Offer]:
    """Plain files before manifests, then the feed's default, the larger area, the higher bitrate;
    the feed's own order where these agree."""
    return sorted(offers, key=_worth, reverse=True)


def _worth(offer: Offer) -> tuple[bool, bool, int, int]:
    rendition = offer.rendition
    area = (rendition.width or 0) * (rendition.height or 0)
    return rendition.manifest is None, rendition.is_default, area, rendition.bitrate or 0


class MediaDraft:
    """The media of one item. An address counts once: an enclosure that repeats a group's is the
    same object, so groups are offered first."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.media: list[MediaRecord] = []
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self._seen: set[str] = set()

    def place(self, what: str) -> str:
        """Where something of this item stands."""
        return f"{self.where}, {what}"

    def skip(self, where: str, reason: str) -> None:
        """Something that gives no media."""
        self.skipped.append(Skipped(where=where, reason=reason))

    def offer(self, offers: Iterable[Offer]) -> None:
        """Renditions of one object. Different kinds can't be one: each makes a media of its own."""
        kinds: dict[MediaKind, list[Offer]] = {}
        for offer in offers:
            if self._takes(offer):
                kinds.setdefault(offer.kind, []).append(offer)
        for renditions in kinds.values():
            self._keep(best_first(renditions))

    def drop_hashes(self, hashes: dict[str, str]) -> None:
        """Forget hashes that stand on the whole item, which do not say which file they are of:
        checked against another, they would condemn good bytes."""
        if hashes:
            self.notes.append("a hash of the item does not say which of its media it is of")
        self.media = [
            media.model_copy(update={"hashes": {}}) if media.hashes == hashes else media
            for media in self.media
        ]

    def _takes(self, offer: Offer) -> bool:
        if offer.rendition.url in self._seen:
            return False
        self._seen.add(offer.rendition.url)
        if offer.sample:
            self.skip(offer.where, "sample")
        return not offer.sample

    def _keep(self, offers: Sequence[Offer]) -> None:
        best = offers[0]
        if best.guessed:
            self.notes.append("nothing tells the type of a media; taken for an image")
        self.media.append(
            MediaRecord(
                kind=best.kind,
                renditions=tuple(offer.rendition for offer in offers),
                position=len(self.media),
                title=best.title,
                poster=best.poster,
                duration_s=next((o.duration_s for o in offers if o.duration_s), None),
                hashes=best.hashes,
            )
        )


class PageDraft:
    """The posts of one page."""

    def __init__(self) -> None:
        self.posts: dict[str, Post] = {}
        self._contents: dict[str, str] = {}
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []

    def skip(self, where: str, reason: str) -> None:
        """Something of the page that gives no media."""
        self.skipped.append(Skipped(where=where, reason=reason))

    def add_each(
        self, items: Iterable[object], read: Callable[[Mapping[str, object], MediaDraft], Post]
    ) -> None:
        """Items of a JSON page, each by itself: what is wrong with it costs no other."""
        for number, item in enumerate(items, 1):
            media = MediaDraft(f"item {number}")
            if not isinstance(item, dict):
                self.skip(media.where, "not_an_object")
                continue
            try:
                post = read(item, media)
            except (ValueError, RecursionError):  # a value that no record can hold
                self.skip(media.where, "unreadable_item")
                continue
            self.add(media.where, post, media.skipped)

    def add(self, where: str, post: Post, skipped: Sequence[Skipped]) -> None:
        """One item. A key that repeats with other content is told apart: some feeds give every item
        the same id, and all but one would be lost."""
        content = post.model_dump_json(exclude={"notes"})  # a note may hold the item's number
        if post.key in self._contents:
            note = f"{where}: its id {post.key[:100]!r} is also another item's"
            key = f"{post.key}#{digest_of([content])}"
            if content == self._contents[post.key] or key in self.posts:
                self.skip(where, "duplicate")
                return
            post = post.model_copy(update={"key": key, "notes": (*post.notes, note)})
        self.posts[post.key] = post
        self._contents[post.key] = content
        self.skipped += skipped
        if not post.media and not skipped:
            self.skip(where, "no_media")

    def next_page(self, raw: object, base: str | None) -> str | None:
        """The next page's absolute address as a cursor; one that can't be used is told."""
        if raw is None:
            return None
        match resolve(raw, base):
            case Unusable(reason=reason):
                self.skip("next page", reason)
                return None
            case address:
                return address

    def finish(self, cursor: str | None, author: Author | None = None) -> FeedPage:
        """The page of a feed, whose newest posts stand first; `author` is who posted where an item
        does not say."""
        posts = self.posts.values()
        return FeedPage(
            posts=tuple(p if p.author else p.model_copy(update={"author": author}) for p in posts),
            cursor=cursor,
            skipped=tuple(self.skipped),
            notes=tuple(self.notes),
            newest_first=True,
        )
