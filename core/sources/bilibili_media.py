"""Bilibili's pictures and videos as media. What a post's page says of a video is its name only: its
parts, a media each, are told by the view endpoint, for which a place is held."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from core.model.post import MediaKind, MediaRecord, Post, Rendition
from core.sources.bilibili_address import (
    REFERER,
    VideoId,
    playurl_address,
    view_address,
)
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.resolve import Unusable, resolve
from core.sources.values import count_of, line_of, number_of, text_of

MAX_PARTS = 2000


@dataclass(slots=True)
class Found:
    """What one post shows, as it is read."""

    page_url: str
    media: list[MediaRecord] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)  # why something of it gives no media
    notes: list[str] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)

    def keep(self, media: MediaRecord) -> None:
        """One more media, each once, in its place."""
        if media.key not in self._keys:
            self._keys.add(media.key or "")
            self.media.append(media.model_copy(update={"position": len(self.media)}))

    def address(self, raw: object) -> str | None:
        """Absolute, as the original: `@...` asks for a smaller copy. The site's pages come by https
        and name their pictures by http. None for what can't be asked for, which is told."""
        match resolve(raw, self.page_url):
            case Unusable(reason=reason):
                self.reasons.append(reason)
                return None
            case url:
                return _original(url, secure=self.page_url.startswith("https:"))

    def picture(self, raw: object, item: Item) -> None:
        """A still, and its moving half where it has one. Its size is told in kilobytes: not
        exactly, so not at all."""
        still = self.address(raw)
        if still is None:
            return
        rendition = Rendition(
            url=still, width=count_of(item.get("width")), height=count_of(item.get("height"))
        )
        self.keep(_plain(MediaKind.IMAGE, rendition))
        if item.get("live_url") and (film := self.address(item["live_url"])) is not None:
            moving = _plain(MediaKind.VIDEO, Rendition(url=film))
            self.keep(moving.model_copy(update={"motion_of": _path(still)}))

    def video(self, archive: Item) -> None:
        """The place of a video's parts."""
        named = video_id(archive)
        if named is None:
            self.reasons.append("video_without_id")
            return
        url = view_address(self.page_url, named)
        self.keep(
            MediaRecord(
                kind=MediaKind.VIDEO,
                renditions=(Rendition(url=url, manifest="playurl"),),
                key=named.known,
                title=line_of(archive.get("title")),
                referer=REFERER,
                ref=json.dumps({"view": url}),
            )
        )


def video_id(item: Item) -> VideoId | None:
    """By which a video is asked for."""
    bvid, aid = line_of(item.get("bvid")), text_of(item.get("aid"))
    aid = aid if aid and aid.isascii() and aid.isdigit() else None
    bvid = bvid if bvid and bvid.isascii() and bvid.isalnum() else None
    return VideoId(bvid, aid) if bvid or aid else None


def place_of(post: Post) -> tuple[int, str] | None:
    """Where in `post.media` a video's parts belong, and the view that tells them."""
    for number, media in enumerate(post.media):
        if media.ref is not None and media.renditions[0].manifest is not None:
            url = child(json.loads(media.ref), "view")
            if isinstance(url, str):
                return number, url
    return None


def parts_of(view: Item, page_url: str) -> tuple[MediaRecord, ...]:
    """The parts of a video, in order; empty where the view names none."""
    named = video_id(view)
    if named is None:
        return ()
    pages = list(items_of(view.get("pages")))[:MAX_PARTS] or [view]
    found = (_part(page, view, named, page_url) for page in pages)
    return tuple(
        media.model_copy(update={"position": number})
        for number, media in enumerate(filter(None, found))
    )


def renumbered(media: Sequence[MediaRecord]) -> tuple[MediaRecord, ...]:
    """Each in its place."""
    return tuple(one.model_copy(update={"position": number}) for number, one in enumerate(media))


def _part(page: Item, view: Item, named: VideoId, page_url: str) -> MediaRecord | None:
    cid = text_of(page.get("cid"))
    if cid is None or not (cid.isascii() and cid.isdigit()):
        return None
    width, height = _displayed(item_of(page.get("dimension")))
    url = playurl_address(page_url, named, cid)
    return MediaRecord(
        kind=MediaKind.VIDEO,
        renditions=(Rendition(url=url, width=width, height=height, manifest="playurl"),),
        key=f"{named.known}:{cid}",
        title=line_of(page.get("part")) or line_of(view.get("title")),
        referer=REFERER,
        duration_s=number_of(page.get("duration")),
        poster=next(_poster(view, page_url), None),
    )


def _displayed(dimension: Item) -> tuple[int | None, int | None]:
    width, height = count_of(dimension.get("width")), count_of(dimension.get("height"))
    return (height, width) if dimension.get("rotate") in (1, "1") else (width, height)


def _poster(view: Item, page_url: str) -> Iterator[str]:
    if (url := Found(page_url).address(view.get("pic"))) is not None:
        yield url


def _plain(kind: MediaKind, rendition: Rendition) -> MediaRecord:
    """The same file lies on several hosts: its path is its name."""
    return MediaRecord(
        kind=kind, renditions=(rendition,), key=_path(rendition.url), referer=REFERER
    )


def _path(url: str) -> str:
    return urlsplit(url).path or url


def _original(url: str, *, secure: bool) -> str:
    parts = urlsplit(url)
    path, is_copy, _ = parts.path.partition("@")
    scheme = "https" if secure and parts.port is None else parts.scheme
    query = "" if is_copy else parts.query
    return urlunsplit((scheme, parts.netloc, path, query, ""))
