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
    manifest: str | None = None  # "hls" or "dash" when the address is a manifest


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
    updated_at: datetime | None = None  # UTC
    media: tuple[MediaRecord, ...] = ()
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
