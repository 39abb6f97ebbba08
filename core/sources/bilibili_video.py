"""Bilibili's videos: one as a feed of its own, and those that posts show, each asked for by itself.
One that can't be had costs no post but its own; what concerns the source is raised."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.errors import HeadraceError, Permanent
from core.manifests.playurl_signals import UNKNOWN_CODE
from core.model.post import FeedPage, MediaRecord, Post, Skipped
from core.sources.adapter import Ask, PageInput
from core.sources.bilibili_address import api_request
from core.sources.bilibili_answer import data_in
from core.sources.bilibili_dynamic import author_of, moment_of
from core.sources.bilibili_media import parts_of, place_of, renumbered
from core.sources.json_page import Item, item_of
from core.sources.second_look import ENOUGH_IN_TROUBLE, PASSING, asked_twice
from core.sources.values import count_of, line_of, text_of

_OF_THE_VIDEO = (Permanent, *PASSING)  # what a note can stand for

_Seen = tuple[Item, str] | HeadraceError  # what tells a video's parts, and from where


def video_page(view: Item, page: PageInput) -> FeedPage:
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
class VideoLooks:
    """Asks for each video once, however many posts of the page show it."""

    ask: Ask
    skipped: list[Skipped] = field(default_factory=list)
    _views: dict[str, _Seen] = field(default_factory=dict)

    def completed(self, post: Post) -> Post:
        """The post with the parts of its video, or with a note why they can't be had."""
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

    def raise_trouble(self) -> None:
        """Raise what every look of several met: it is no video's own, and the page is read again.
        A code that nobody knows is not told from a video's own."""
        troubles = [
            seen
            for seen in self._views.values()
            if isinstance(seen, PASSING) and seen.reason != UNKNOWN_CODE
        ]
        if len(troubles) == len(self._views) >= ENOUGH_IN_TROUBLE:
            raise troubles[-1]

    def _look(self, url: str) -> _Seen:
        try:
            return asked_twice(lambda: self._view(url))
        except _OF_THE_VIDEO as error:
            return error

    def _view(self, url: str) -> tuple[Item, str]:
        page = self.ask(api_request(url))
        return data_in(page), page.url


def _parts(seen: _Seen) -> tuple[tuple[MediaRecord, ...], int | None, list[str], list[str]]:
    """Media, how many there should be, reasons for what is skipped, notes."""
    if isinstance(seen, HeadraceError):
        return (), None, [seen.reason], [f"its video: {seen}"]
    view, url = seen
    parts = parts_of(view, url)
    reasons, notes = _oddities(view, len(parts))
    if _leads_elsewhere(view):
        return (), None, reasons, notes
    return parts, count_of(view.get("videos")), reasons, notes
