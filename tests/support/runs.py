"""Stores as runs leave them: feeds with walks, pages and ends; and an app over one."""

from __future__ import annotations

from pathlib import Path

from core.app import App
from core.assemble import embedded_app
from core.model.end import EndState, Failure, MediaEnd, VideoRecord
from core.model.ids import feed_id, media_id
from core.model.post import MediaKind
from core.model.task import ImagePayload
from core.model.walk import FeedRecord, Walk, WalkEnd, WalkPage, WalkState
from core.settings import Settings, SourceSettings
from core.steps.ends import write_end
from core.store.store import Store
from tests.support.store import dead, got

ADDRESS = "https://pictures.example/feed.rss"
RECORD = FeedRecord(feed=feed_id("feed", ADDRESS), source="feed", adapter="rss", address=ADDRESS)


def an_app(root: Path, **settings: object) -> App:
    """An embedded app whose store is in `root`, with four slots."""
    sources = {"feed": SourceSettings(adapter="rss", concurrency=4)}
    return embedded_app(Settings.model_validate({"store": root, "sources": sources} | settings))


def payload(number: int) -> ImagePayload:
    url = f"https://pictures.example/{number}.jpg"
    return ImagePayload(
        media=media_id("feed", url),
        media_kind=MediaKind.IMAGE,
        url=url,
        post="p" * 32,
        feed=RECORD.feed,
    )


def read_page(store: Store, walk: Walk, page: int, *numbers: int) -> WalkPage:
    """A page of a walk that lists these media."""
    read = WalkPage(
        walk=walk.walk,
        feed=walk.feed,
        page=page,
        media=tuple(map(payload, numbers)),
        read_at=1_000_000.0,
    )
    store.walks.end_page(read)
    return read


def a_walk(store: Store, *numbers: int, state: WalkState | None = WalkState.COMPLETE) -> Walk:
    """A walk of one page; `state` None leaves it open."""
    store.feeds.put(RECORD)
    walk, _ = store.walks.open_or_resume(RECORD.feed, now=1_000_000.0)
    read_page(store, walk, 1, *numbers)
    if state is not None:
        close(store, walk, state)
    return walk


def close(store: Store, walk: Walk, state: WalkState, reason: str = "last_page") -> None:
    end = WalkEnd(
        walk=walk.walk,
        feed=walk.feed,
        state=state,
        reason=reason,
        message="page 2: status 500" if state is WalkState.BROKEN else "",
        pages=1,
        closed_at=1_000_001.0,
    )
    store.walks.close(end)


def got_end(number: int, content: bytes | None = None, **changes: object) -> MediaEnd:
    about = payload(number)
    body = content or b"picture %d" % number
    fields: dict[str, object] = {"media": about.media, "url": about.url, "source": "feed"}
    return got(body, **(fields | changes))


def dead_end(number: int, *, passing: bool = False, **changes: object) -> MediaEnd:
    about = payload(number)
    failure = Failure(
        reason="server_trouble" if passing else "gone",
        message=f"{about.url}: it is not here",
        passing=passing,
        http_status=500 if passing else 404,
        attempts=2,
    )
    fields: dict[str, object] = {"media": about.media, "url": about.url, "source": "feed"}
    return dead(**(fields | {"failure": failure} | changes))


def incomplete_end(
    number: int, missing: tuple[int, ...], planned: int, **changes: object
) -> MediaEnd:
    """A video of which pieces can't be had."""
    video = VideoRecord(
        manifest_url="https://pictures.example/1.m3u8",
        manifest_sha256="0" * 64,
        chosen="the only variant",
        planned=planned,
        missing=missing,
    )
    failure = Failure(reason="incomplete", message="pieces can't be had", passing=False, attempts=1)
    about = {"state": EndState.INCOMPLETE, "kind": MediaKind.VIDEO, "video": video}
    return dead_end(number, **(about | {"failure": failure} | changes))


def file_away(store: Store, end: MediaEnd, content: bytes) -> None:
    """The whole commit of what was got."""
    assert end.file
    partial = store.staging.take(end.media, "token")
    partial.path.write_bytes(content)
    store.objects.put(partial.path, end.file.sha256)
    write_end(store, end)
    partial.close()
