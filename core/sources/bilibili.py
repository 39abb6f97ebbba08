"""Bilibili with the reader's own cookie: a member's dynamics (pictures, and through them the
member's videos), one post, or one video. What asks for a challenge stops the source.

Read otherwise than the recorded fixture: an article's covers are media, and it is also skipped by
name, since its text is not in the feed."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.errors import Gone, Misconfigured, Unsupported
from core.manifests.playurl_offer import PartFile, Stream, read_offer
from core.model.addresses import strike
from core.model.post import FeedPage, Post, Rendition, Skipped
from core.model.request import Request
from core.sources.adapter import Ask, PageInput, Secrets
from core.sources.bilibili_address import (
    API_HOST,
    api_request,
    expires_at,
    first_address,
    following_address,
    reference_of,
)
from core.sources.bilibili_answer import data_in, refuse
from core.sources.bilibili_dynamic import read_item
from core.sources.bilibili_video import VideoLooks, video_page
from core.sources.body import MAX_ITEMS, leads_back, malformed, too_large
from core.sources.json_page import Item, child
from core.sources.values import text_of


class BilibiliAdapter:
    """The cursor is the feed's own `offset`: the id of the last post of the page before."""

    name = "bilibili"
    many_hosts = False
    stop_after_known = 20
    repeats = 10  # unrelated posts with the same bytes: a picture that stands for removed ones
    about = "Bilibili: a member's dynamics, one post, one video"
    example = "https://space.bilibili.com/NUMBER/dynamic"
    needs = (
        "cookie: of your own session at bilibili.com (SESSDATA=...); without one, pictures, and "
        "videos of at most 480 lines. rate = 0.3 or less: the site refuses who asks faster"
    )

    def reads(self, address: str) -> bool:
        try:
            return bool(first_address(address))
        except (Unsupported, ValueError):
            return False

    def request(self, address: str, cursor: str | None) -> Request | None:
        if address.startswith("file:"):
            return None
        if cursor is None:
            return api_request(first_address(address))
        return api_request(following_address(address, cursor))

    def parse(self, page: PageInput) -> FeedPage:
        data = data_in(page)
        if isinstance(data.get("item"), dict):
            return _Reading(page).read([data["item"]], None)
        if isinstance(data.get("pages"), list) or data.get("bvid"):
            return video_page(data, page)
        items = data.get("items")
        if items is None and _is_end(data):
            items = []
        if not isinstance(items, list):
            raise malformed(page, "no_items", "neither posts nor a video in the answer")
        if len(items) > MAX_ITEMS:
            raise too_large(page, f"{MAX_ITEMS} items")
        return _Reading(page).read(items, _offset(data, items, page))

    def complete(self, page: FeedPage, ask: Ask) -> FeedPage:
        """Ask for the parts of each video that the page names."""
        looks = VideoLooks(ask)
        posts = tuple(looks.completed(post) for post in page.posts)
        looks.raise_trouble()
        skipped = (*page.skipped, *looks.skipped)
        return page.model_copy(update={"posts": posts, "skipped": skipped})

    def expires_at(self, url: str) -> float | None:
        return expires_at(url)

    def renew(self, ref: str, ask: Ask) -> tuple[Rendition, ...]:
        url, pick = reference_of(ref)
        page = ask(api_request(url))
        refuse(page)
        file = read_offer(page.stream.read(), page.url).file(pick)
        if file is None:
            raise Gone(f"{strike(url)}: {pick} is offered no more", reason="gone_at_source")
        return (_rendition(file),)

    def secrets(self, *, token: str | None, cookie: str | None) -> Secrets:
        if token:
            raise Misconfigured("bilibili uses no token: set `cookie`, from your own session")
        if not cookie:
            return Secrets()
        if "=" not in cookie or not cookie.isascii() or not cookie.isprintable():
            raise Misconfigured(
                "bilibili's cookie is the whole Cookie header of your session: SESSDATA=...; ..."
            )
        return Secrets(headers={"Cookie": cookie}, hosts=(API_HOST,))


def _rendition(file: Stream | PartFile) -> Rendition:
    first, *others = file.addresses
    if isinstance(file, PartFile):
        return Rendition(url=first, size_bytes=file.size_bytes, backups=tuple(others))
    return Rendition(
        url=first,
        width=file.width,
        height=file.height,
        bitrate=file.bandwidth or None,
        size_bytes=file.size_bytes,
        codecs=file.codecs,
        quality=file.label,
        backups=tuple(others),
    )


# --- a page of posts ---


def _offset(data: Item, items: list[object], page: PageInput) -> str | None:
    """Where the next page begins. Without a word on it the last post tells, as the site means it;
    an end that nobody told would lose the rest."""
    if _is_end(data):
        return None
    last = items[-1] if items else None
    offset = text_of(data.get("offset")) or text_of(child(last, "id_str"))
    if offset is None:
        raise malformed(page, "truncated", "nothing tells where more posts are, or that none are")
    if offset == page.cursor:
        raise leads_back(page)
    return offset


def _is_end(data: Item) -> bool:
    """Only where it says so: a field that lacks, or is null, says nothing."""
    return data.get("has_more") in (False, "0", "false")


@dataclass(slots=True)
class _Reading:
    """Posts of one page, each by itself."""

    page: PageInput
    posts: dict[str, Post] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    def read(self, items: list[object], cursor: str | None) -> FeedPage:
        for number, item in enumerate(items, 1):
            self._add(item, f"item {number}")
        return FeedPage(
            posts=tuple(self.posts.values()),
            cursor=cursor,
            skipped=tuple(self.skipped),
            newest_first=True,
        )

    def _add(self, item: object, where: str) -> None:
        if not isinstance(item, dict):
            self._skip(where, "not_an_object")
            return
        try:
            post, found = read_item(item, self.page.url)
        except (ValueError, RecursionError):  # a value that no record can hold
            self._skip(where, "unreadable_item")
            return
        if post.key in self.posts:  # a pinned post may also stand in its own place
            self._skip(where, "duplicate")
            return
        self.posts[post.key] = post
        reasons = found.reasons or ([] if post.media else ["no_media"])
        for reason in reasons:
            self._skip(f"post {post.key[:100]}", reason)

    def _skip(self, where: str, reason: str) -> None:
        self.skipped.append(Skipped(where=where, reason=reason))
