"""What an adapter makes of a feed page: posts and their media. Values only; nothing here does
I/O."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from core.model.ids import media_id, post_id


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MediaKind(StrEnum):
    """What a media is to the person who looks at it."""

    IMAGE = "image"
    VIDEO = "video"


class Rendition(_Frozen):
    """One way to get a media: an address and what the feed says about it."""

    url: str
    mime: str | None = None
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    bitrate: int | None = None  # bits a second
    size_bytes: int | None = None  # only from a byte-exact field
    is_default: bool = False
    codecs: str | None = None  # as RFC 6381 has them, or a family's name
    quality: str | None = None  # the source's own name for it: "720p", "large"
    manifest: str | None = None  # "hls", "dash" or "playurl" when the address is a manifest
    backups: tuple[str, ...] = ()  # other addresses of the same bytes


class Author(_Frozen):
    """Who posted, as far as the feed tells."""

    name: str | None = None
    id: str | None = None


class MediaRecord(_Frozen):
    """One image or video of a post. Renditions stand best first and there is at least one."""

    kind: MediaKind
    renditions: tuple[Rendition, ...]
    key: str | None = None  # the source's own id for the media; else the first rendition's address
    position: int = 0  # place within the post, from 0
    title: str | None = None
    referer: str | None = None
    duration_s: float | None = None
    hashes: dict[str, str] = Field(default_factory=dict)  # algorithm -> hex, as the feed promises
    poster: str | None = None  # a picture of the video; not a media
    ref: str | None = None  # with which the adapter asks for this media's addresses once more
    motion_of: str | None = None  # key of the still whose moving half it is (live photo)

    def id(self, source: str) -> str:
        """The media's identity within the store."""
        return media_id(source, self.key or self.renditions[0].url)


class Post(_Frozen):
    """One item of a feed. Anything but `key` may be missing: a missing field never drops a post."""

    key: str  # the feed's own id, else its link, else a digest of its content
    title: str | None = None
    text: str | None = None
    link: str | None = None
    author: Author | None = None
    created_at: datetime | None = None  # UTC
    within_s: float | None = None  # how exact `created_at` is, where it is told as «3 hours ago»
    updated_at: datetime | None = None  # UTC
    media: tuple[MediaRecord, ...] = ()
    announced: int | None = None  # how many media the source says it has, where it says so
    pinned: bool = False  # stands on top for another reason than its age
    origin: str | None = None  # key of the post that this one shares
    notes: tuple[str, ...] = ()  # what the adapter could not read, in words

    def id(self, source: str) -> str:
        """The post's identity within the store."""
        return post_id(source, self.key)


class Skipped(_Frozen):
    """Something in a page that gave no media, and why."""

    where: str  # "item 3", "line 12"
    reason: str  # "not_http_url", "unsupported_type", ...


class FeedPage(_Frozen):
    """What one page gave. `cursor` is opaque, goes with this feed only; None means the last
    page."""

    posts: tuple[Post, ...]
    cursor: str | None = None
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    newest_first: bool = False  # «nothing new on this page» may end the walk; told by its content
    rest_s: float | None = None  # the source asks for a pause before it has to refuse
