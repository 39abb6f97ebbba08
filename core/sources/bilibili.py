"""Bilibili with the reader's own cookie: a member's dynamics (pictures, and through them the
member's videos), one post, or one video. What asks for a challenge stops the source.

Read otherwise than the recorded fixture: an article's covers are media, and it is also skipped by
name, since its text is not in the feed."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.errors import Gone, Malformed, Misconfigured, Permanent, Truncated
from core.manifests.playurl_offer import read_offer
from core.manifests.playurl_signals import REFUSING, address_refused, data_of, refuse_risk_page
from core.model.addresses import strike
from core.model.post import FeedPage, MediaRecord, Post, Rendition, Skipped
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
from core.sources.bilibili_dynamic import author_of, moment_of, read_item
from core.sources.bilibili_media import parts_of, place_of, renumbered
from core.sources.body import MAX_ITEMS, head, malformed, too_large
from core.sources.json_page import Item, child, item_of, load_json
from core.sources.values import count_of, line_of, text_of

_PASSING = frozenset(["empty", "truncated"])  # another answer may be whole


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
        except (Misconfigured, ValueError):
            return False

    def request(self, address: str, cursor: str | None) -> Request | None:
        if address.startswith("file:"):
            return None
        if cursor is None:
            return api_request(first_address(address))
        return api_request(following_address(address, cursor))

    def parse(self, page: PageInput) -> FeedPage:
        data = _data(page)
        if isinstance(data.get("item"), dict):
            return _Reading(page).read([data["item"]], None)
        if isinstance(data.get("pages"), list) or data.get("bvid"):
            return _video_page(data, page)
        items = data.get("items")
        if items is None and data.get("has_more") in (False, 0):
            items = []
        if not isinstance(items, list):
            raise malformed(page, "no_items", "neither posts nor a video in the answer")
        if len(items) > MAX_ITEMS:
            raise too_large(page, f"{MAX_ITEMS} items")
        return _Reading(page).read(items, _offset(data, items, page))

    def complete(self, page: FeedPage, ask: Ask) -> FeedPage:
        """Ask for the parts of each video that the page names."""
        looks = _Looks(ask)
        posts = tuple(looks.completed(post) for post in page.posts)
        skipped = (*page.skipped, *looks.skipped)
        return page.model_copy(update={"posts": posts, "skipped": skipped})

    def expires_at(self, url: str) -> float | None:
        return expires_at(url)

    def renew(self, ref: str, ask: Ask) -> tuple[Rendition, ...]:
        url, pick = reference_of(ref)
        page = ask(api_request(url))
        _refuse(page)
        first, *others = read_offer(page.stream.read(), page.url).addresses_of(pick) or (None,)
        if first is None:
            raise Gone(f"{strike(url)}: {pick} is offered no more", reason="gone_at_source")
        return (Rendition(url=first, backups=tuple(map(str, others))),)

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


def _data(page: PageInput) -> Item:
    _refuse(page)
    return data_of(load_json(page, "an answer of Bilibili's API"), page.url)


def _refuse(page: PageInput) -> None:
    if page.status in REFUSING:
        raise address_refused(page.url)
    refuse_risk_page(head(page), page.url)


# --- a page of posts ---


def _offset(data: Item, items: list[object], page: PageInput) -> str | None:
    """Where the next page begins. Without a word on it the last post tells, as the site means it;
    an end that nobody told would lose the rest."""
    if data.get("has_more") in (False, 0, None):
        return None
    last = items[-1] if items else None
    offset = text_of(data.get("offset")) or text_of(child(last, "id_str"))
    if offset is None:
        raise malformed(page, "no_offset", "there are more posts, and nothing tells where")
    return offset


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


# --- videos ---


def _video_page(view: Item, page: PageInput) -> FeedPage:
    """One video as a feed of one post."""
    media = parts_of(view, page.url)
    reasons, notes = _oddities(view, len(media))
    key = line_of(view.get("bvid")) or f"av{text_of(view.get('aid'))}"
    post = Post(
        key=key,
        title=line_of(view.get("title")),
        text=text_of(view.get("desc")),
        link=f"https://www.bilibili.com/video/{key}",
        author=author_of(item_of(view.get("owner"))),
        created_at=moment_of(view.get("pubdate")),
        media=() if _leads_elsewhere(view) else media,
        announced=count_of(view.get("videos")),
        notes=tuple(notes),
    )
    skipped = tuple(Skipped(where=f"post {key[:100]}", reason=reason) for reason in reasons)
    return FeedPage(posts=(post,), skipped=skipped)


def _leads_elsewhere(view: Item) -> str | None:
    """The reason why its parts are not its own."""
    if "/bangumi/" in (line_of(view.get("redirect_url")) or ""):
        return "unsupported:bangumi"
    return "merged_into_another" if view.get("forward") else None


def _oddities(view: Item, parts: int) -> tuple[list[str], list[str]]:
    """Reasons for what is skipped, and notes."""
    if (elsewhere := _leads_elsewhere(view)) is not None:
        return [elsewhere], [f"the video: {elsewhere}"]
    reasons: list[str] = []
    notes: list[str] = []
    announced = count_of(view.get("videos")) or 0
    if parts < max(announced, 1):
        reasons.append(f"incomplete: {parts} of {max(announced, 1)}")
        notes.append(reasons[-1])
    if item_of(view.get("rights")).get("is_stein_gate") in (1, True):
        notes.append("an interactive video: only the part that begins it")
    return reasons, notes


@dataclass(slots=True)
class _Looks:
    """Asks for each video once, however many posts of the page show it."""

    ask: Ask
    skipped: list[Skipped] = field(default_factory=list)
    _views: dict[str, tuple[Item, str] | Permanent] = field(default_factory=dict)

    def completed(self, post: Post) -> Post:
        place = place_of(post)
        if place is None:
            return post
        number, url = place
        if url not in self._views:
            self._views[url] = self._look(url)
        parts, announced, reasons, notes = _parts(self._views[url])
        for reason in reasons:
            self.skipped.append(Skipped(where=f"post {post.key[:100]}", reason=reason))
        media = (*post.media[:number], *parts, *post.media[number + 1 :])
        return post.model_copy(
            update={
                "media": renumbered(media),
                "announced": announced and announced + len(media) - len(parts),
                "notes": (*post.notes, *notes),
            }
        )

    def _look(self, url: str) -> tuple[Item, str] | Permanent:
        """What tells its parts, or why it can't be had. What may pass is raised: the page is read
        again, for a video that is left out now would not be looked for later."""
        try:
            page = self.ask(api_request(url))
            return _data(page), page.url
        except Malformed as error:
            if error.reason in _PASSING:
                raise Truncated(str(error), reason=error.reason) from error
            return error
        except Permanent as error:
            if error.http_status is not None:
                raise  # the API says what a video is in its body: a status is about us
            return error


def _parts(
    seen: tuple[Item, str] | Permanent,
) -> tuple[tuple[MediaRecord, ...], int | None, list[str], list[str]]:
    """Media, how many there should be, reasons for what is skipped, notes."""
    if isinstance(seen, Permanent):
        return (), None, [seen.reason], [f"its video: {seen}"]
    view, url = seen
    parts = parts_of(view, url)
    reasons, notes = _oddities(view, len(parts))
    if _leads_elsewhere(view):
        return (), None, reasons, notes
    return parts, count_of(view.get("videos")), reasons, notes
