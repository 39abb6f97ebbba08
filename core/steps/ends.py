"""Makes ends durable in the store: of a media, of a page, of a walk; and the ends of dead tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, assert_never

from core.clock import Clock
from core.model.addresses import strike
from core.model.end import EndState, Failure, MediaEnd
from core.model.task import (
    DiscoverPayload,
    FragmentPayload,
    ImagePayload,
    ManifestPayload,
    Task,
    VerifyPayload,
)
from core.model.walk import WalkEnd, WalkPage, WalkState
from core.store.store import Store

Observer = Callable[[MediaEnd | WalkPage | WalkEnd], None]  # told of each end once it is durable


def ignore(_end: MediaEnd | WalkPage | WalkEnd) -> None:
    """The observer where nobody watches."""


logger = logging.getLogger(__name__)


def write_end(store: Store, end: MediaEnd | WalkPage | WalkEnd) -> None:
    """Write `end`, exclusively: whoever was first stands, and writing again changes nothing."""
    match end:
        case MediaEnd():
            _write_media_end(store, end)
        case WalkPage():
            store.walks.end_page(end)
        case WalkEnd():
            if store.walks.close(end) and end.state is WalkState.BROKEN:
                logger.info("walk %s of feed %s is broken: %s", end.walk, end.feed, end.message)
        case _ as never:
            assert_never(never)


def _write_media_end(store: Store, end: MediaEnd) -> None:
    if store.media.end(end):
        store.sums.append(end)
    if end.state is EndState.GOT:
        store.library.named(end)  # its staging is cleared by the step, which knows what is there


def finish_commit(store: Store, end: MediaEnd) -> None:
    """What follows the record of a media that was got, where a crash may have taken it: its name
    for people, an empty staging."""
    if end.state is EndState.GOT:
        store.library.link(end)
        store.staging.clear(end.media)


def finish_commits(store: Store) -> None:
    """Finish what crashed runs had committed but for the tidying."""
    for media in store.staging.media():
        end = store.media.newest(media)
        if end is not None:
            finish_commit(store, end)


def media_end(
    task: Task,
    payload: ImagePayload | ManifestPayload,
    secrets: Collection[str],
    **how: Any,  # noqa: ANN401 - fields of MediaEnd
) -> MediaEnd:
    """How a media ended in this generation of `task`, with what its feed said of it. `secrets` are
    the query parameters that no record may hold."""
    return MediaEnd(
        media=payload.media,
        generation=task.generation,
        source=task.source,
        url=strike(payload.url, secrets),
        post=payload.post,
        feed=payload.feed,
        position=payload.position,
        title=payload.title,
        author=payload.author,
        created_at=payload.created_at,
        **how,
    )


def dead_end(
    task: Task, failure: Failure, clock: Clock, secrets: tuple[str, ...]
) -> MediaEnd | WalkEnd:
    """How a dead task's subject ended: a media without its file, or a walk that broke. What dies of
    a video with a plan ends otherwise: see burial.py."""
    match task.payload:
        case ImagePayload() | ManifestPayload() as payload:
            return media_end(
                task,
                payload,
                secrets,
                kind=payload.media_kind,
                state=EndState.REFUSED if failure.refused else EndState.DEAD,
                attempts=task.attempts,
                ended_at=clock.now(),
                failure=failure,
            )
        case DiscoverPayload() as payload:
            return WalkEnd(
                walk=payload.walk,
                feed=payload.feed,
                state=WalkState.BROKEN,
                reason=failure.reason,
                message=f"page {payload.page}: {failure.message}",
                pages=payload.page - 1,
                closed_at=clock.now(),
            )
        case FragmentPayload() | VerifyPayload():
            raise TypeError(f"{task.id}: how a planned video ends is for burial.py to say")
        case _ as never:
            assert_never(never)
