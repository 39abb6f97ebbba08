"""A walk: one reading of a feed from its newest page to the last, page by page. A feed has one open
at a time."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from core.model.moment import Moment
from core.model.post import Skipped
from core.model.task import MediaPayload


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FeedRecord(_Frozen):
    """`feeds/FEED.json`: what a feed id stands for."""

    format: int = 1
    feed: str  # feed id
    source: str
    adapter: str
    address: str  # secrets struck out


class Walk(_Frozen):
    """`walks/FEED/WALK/walk.json`: written when the walk is opened. Ids sort by opening time."""

    format: int = 1
    walk: str
    feed: str
    opened_at: Moment


class WalkPage(_Frozen):
    """`walks/FEED/WALK/000001.json`: created exclusively, after the page's tasks and its next page
    are confirmed. Holds its media whole, so that what is unfinished can be published anew; those of
    known posts are held by the page that first showed them, or a list that is read each night would
    be written each night."""

    format: int = 1
    walk: str
    feed: str
    page: int  # from 1
    cursor: str | None = None  # the one that asked for this page
    next_cursor: str | None = None  # None: the last page
    checkpoint: str | None = None  # a cursor seen at the last power of two: finds any loop
    newest_first: bool = False  # «nothing new» on it may end the walk
    posts: tuple[str, ...] = ()  # post ids
    new_posts: int = 0  # not known from an earlier completed walk
    new_so_far: int | None = None  # the same, of all pages up to here; None: not counted then
    empty_run: int = 0  # pages in a row up to here without a post
    known_run: int = 0  # posts in a row up to here that are known and not pinned
    nothing_new: bool = False  # so many of them that the walk may end
    gone_at_source: int = 0  # media that its posts showed before and no longer do
    media: tuple[MediaPayload, ...] = ()
    known_media: int = 0  # shown on it too, and held by the page of an earlier completed walk
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    submitted_ms: int | None = None  # of the task that read it, and so of all that it published
    read_at: Moment


class MediaOutline(BaseModel):
    """Of a media on a page, which it is."""

    model_config = ConfigDict(frozen=True)

    media: str


class PageOutline(BaseModel):
    """Of a page's record, what is asked of every page at each run."""

    model_config = ConfigDict(frozen=True)

    format: int = 1
    page: int
    gone_at_source: int = 0
    media: tuple[MediaOutline, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class WalkState(StrEnum):
    """How a walk ended."""

    COMPLETE = "complete"  # to its last page, or to where everything was known
    BROKEN = "broken"  # a page died, or led nowhere: what lies behind it was not seen


class WalkEnd(_Frozen):
    """`walks/FEED/WALK/closed.json`."""

    format: int = 1
    walk: str
    feed: str
    state: WalkState
    # "last_page", "leads_to_itself", "nothing_new"; "cursor_repeats", "no_posts", the dead page's
    reason: str
    message: str = ""  # for people
    pages: int
    closed_at: Moment
