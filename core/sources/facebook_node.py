"""Nodes of the Graph API: what every kind of them tells alike, and the photos and videos of their
own edges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from core.model.post import Author, MediaKind, MediaRecord, Post, Rendition, Skipped
from core.sources.dates import read_date
from core.sources.facebook_ref import Ref
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.resolve import resolve
from core.sources.values import count_of, digest_of, line_of, number_of, text_of

SITE = "https://www.facebook.com/"  # `permalink_url` of a video is a path there

_NODE_ID = re.compile(r"[0-9A-Za-z_]{1,60}")
_POST_ID = re.compile(r"(\d+)_\d+")
_TELLING_STEM = re.compile(r"\d{6}")  # one that is of this file only: not «safe_image»


@dataclass(slots=True)
class Draft:
    """What one node gives, while it is read."""

    where: str  # the node's id, or «item 3»
    api: str | None  # where refs lead
    media: list[MediaRecord] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def skip(self, reason: str, what: str = "") -> None:
        """Something that gives no media."""
        where = f"{self.where}, {what}" if what else self.where
        self.skipped.append(Skipped(where=where, reason=reason))

    def ref(self, node: str | None, kind: MediaKind, album: str | None = None) -> str | None:
        """How a media is asked for once more."""
        return Ref(self.api, node, kind, album).text() if self.api and node else None


def node_id(node: Item) -> str | None:
    """An id that an address can hold."""
    told = text_of(node.get("id"))
    return told if told and _NODE_ID.fullmatch(told) else None


def key_of(node: Item) -> str:
    """The node's id; what has none is known by its content."""
    return text_of(node.get("id")) or digest_of([json.dumps(node, sort_keys=True)])


def base_post(node: Item, draft: Draft, *, text: str | None, link: object) -> Post:
    """What posts, photos and videos tell alike."""
    key = key_of(node)
    resolved = resolve(link, SITE)
    return Post(
        key=key,
        text=text,
        link=resolved if isinstance(resolved, str) else None,
        author=_author(node, key),
        created_at=_date(node, "created_time", draft),
        updated_at=_date(node, "updated_time", draft),
        media=tuple(draft.media),
        notes=tuple(dict.fromkeys(draft.notes)),
    )


def photo_post(node: Item, draft: Draft) -> Post:
    """One of the `photos` edge."""
    if record := photo_record(node, draft):
        draft.media.append(record)
    text = text_of(node.get("name"))
    return base_post(node, draft, text=text, link=node.get("link"))


def photo_record(node: Item, draft: Draft) -> MediaRecord | None:
    """The media that a photo node is; None, and skipped, without an address."""
    renditions = picture_renditions(node)
    if not renditions:
        draft.skip("no_address")
        return None
    if not node.get("images"):
        draft.notes.append("only a thumbnail of the picture is named")
    ident = node_id(node)
    return MediaRecord(
        kind=MediaKind.IMAGE,
        renditions=renditions,
        key=ident or stem_of(renditions[0].url),
        ref=draft.ref(ident, MediaKind.IMAGE),
    )


def picture_renditions(node: Item) -> tuple[Rendition, ...]:
    """`images` come in no promised order: the largest first. What was encoded anew stands behind,
    a thumbnail for nothing else."""
    images = sorted(_renditions(node.get("images")), key=_area, reverse=True)
    again = sorted(_renditions(node.get("webp_images"), "image/webp"), key=_area, reverse=True)
    if found := (*images, *again):
        return once(found)
    thumbnail = resolve(node.get("picture"), None)
    return (Rendition(url=thumbnail),) if isinstance(thumbnail, str) else ()


def once(renditions: Iterable[Rendition]) -> tuple[Rendition, ...]:
    """Each address once, where it stood first."""
    found: dict[str, Rendition] = {}
    for rendition in renditions:
        found.setdefault(rendition.url, rendition)
    return tuple(found.values())


def video_post(node: Item, draft: Draft) -> Post | None:
    """One of the `videos` edge; None, and skipped, while there is no final video."""
    if reason := _not_yet(node):
        draft.skip(reason)
        return None
    renditions = video_renditions(node)
    if not renditions:
        draft.skip("video_without_source")  # only who runs the page is told where the file is
    else:
        draft.media.append(_video(node, renditions, draft))
    text = text_of(node.get("description"))
    post = base_post(node, draft, text=text, link=node.get("permalink_url"))
    return post.model_copy(update={"title": line_of(node.get("title"))})


def video_renditions(node: Item) -> tuple[Rendition, ...]:
    """The one file. `format` lists sizes of an embedded player and no files; its `native` hints at
    the file's own."""
    source = resolve(node.get("source"), None)
    if not isinstance(source, str):
        return ()
    native = next((f for f in items_of(node.get("format")) if f.get("filter") == "native"), {})
    width, height = count_of(native.get("width")), count_of(native.get("height"))
    return (Rendition(url=source, width=width, height=height),)


def stem_of(url: str) -> str | None:
    """A file's name without its extension: the same whatever signs the address today."""
    stem = urlsplit(url).path.rpartition("/")[2].rpartition(".")[0]
    return stem if _TELLING_STEM.search(stem) else None


def address_of(value: object) -> str | None:
    """An absolute address, or none."""
    found = resolve(value, None)
    return found if isinstance(found, str) else None


def _video(node: Item, renditions: tuple[Rendition, ...], draft: Draft) -> MediaRecord:
    ident = node_id(node)
    return MediaRecord(
        kind=MediaKind.VIDEO,
        renditions=renditions,
        key=ident or stem_of(renditions[0].url),
        title=line_of(node.get("title")),
        duration_s=number_of(node.get("length")),
        poster=address_of(node.get("picture")),
        ref=draft.ref(ident, MediaKind.VIDEO),
    )


def _not_yet(node: Item) -> str | None:
    """Why a video is not what it will be."""
    live = line_of(node.get("live_status"))
    status = line_of(child(node, "status", "video_status"))
    if live == "LIVE":
        return "live_now"
    if live not in (None, "VOD") or status not in (None, "ready"):
        return "not_ready"
    return "unpublished" if node.get("published") is False else None


def _renditions(images: object, mime: str | None = None) -> Iterator[Rendition]:
    for image in items_of(images):
        if url := address_of(image.get("source")):
            width, height = count_of(image.get("width")), count_of(image.get("height"))
            yield Rendition(url=url, mime=mime, width=width, height=height)


def _area(rendition: Rendition) -> int:
    return (rendition.width or 0) * (rendition.height or 0)


def _author(node: Item, key: str) -> Author | None:
    """Who posted. Where nobody is named, the page itself: its id begins its posts' ids."""
    told = item_of(node.get("from"))
    posted = _POST_ID.fullmatch(key)
    ident = line_of(told.get("id")) or (posted[1] if posted else None)
    name = line_of(told.get("name"))
    return Author(name=name, id=ident) if name or ident else None


def _date(node: Item, name: str, draft: Draft) -> datetime | None:
    told = line_of(node.get(name))
    found = read_date(told) if told else None
    if told and found is None:
        draft.notes.append(f"{name}: not a date: {told[:100]!r}")
    return found
