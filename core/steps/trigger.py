"""Triggers: reading a feed begins, or goes on where an open walk stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from core.clock import Clock
from core.errors import Misconfigured
from core.model.addresses import strike, without_parameters
from core.model.end import EndState, MediaEnd
from core.model.ids import feed_id
from core.model.task import (
    DiscoverPayload,
    ImagePayload,
    ManifestPayload,
    Task,
    discover_task,
    media_task,
)
from core.model.walk import FeedRecord, Walk
from core.ports import Copy
from core.settings import DEFAULT_SOURCE, Settings, SourceSettings
from core.sources import ChecksAddresses, adapter
from core.steps.local_file import opened
from core.store.store import Store


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed as a person named it: an address, a local file, or a name from the settings."""

    record: FeedRecord
    file: Path | None = None
    max_page_bytes: int = SourceSettings().max_page_bytes  # of what is in a file that is gzip


def find_feed(settings: Settings, named: str) -> Feed:
    """The feed that `named` stands for. Raises `Misconfigured` when it is neither an address, nor
    a readable file, nor a feed of the settings."""
    if named in settings.feeds:
        configured = settings.feeds[named]
        return _feed(settings, configured.source, configured.address)
    for configured in settings.feeds.values():
        if configured.address == named:
            return _feed(settings, configured.source, named)
    return _feed(settings, DEFAULT_SOURCE, named)


def _feed(settings: Settings, source: str, address: str) -> Feed:
    terms = settings.source(source)
    if _is_address(address):
        kept = without_parameters(address, tuple(terms.secret_query))
        chosen = adapter(terms.adapter)
        if isinstance(chosen, ChecksAddresses):
            chosen.check(kept)
        return Feed(_record(source, terms.adapter, kept))
    try:
        path = Path(address)
        if path.is_file():
            record = _record(source, terms.adapter, path.resolve().as_uri())
            return Feed(record, path, terms.max_page_bytes)
    except (OSError, ValueError):  # a name that no file can have
        pass
    raise Misconfigured(
        f"{strike(address)[:200]!r} is neither an address (http://..., https://...), nor a file, "
        f"nor a feed of the settings ({', '.join(settings.feeds) or 'none are set'})",
        reason="unknown_feed",
    )


def _is_address(named: str) -> bool:
    try:
        parts = urlsplit(named)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False


def _record(source: str, adapter: str, address: str) -> FeedRecord:
    return FeedRecord(
        feed=feed_id(source, address), source=source, adapter=adapter, address=address
    )


def trigger(store: Store, feed: Feed, clock: Clock, *, max_attempts: int) -> Task:
    """Open a walk of `feed`, or resume the open one, and return the task that goes on with it.
    Publishing it is the caller's; publishing it twice is harmless."""
    record = feed.record
    store.feeds.put(record)
    if feed.file is not None:
        with opened(feed.file, feed.max_page_bytes) as body:
            store.feeds.keep_body(record.feed, body)
    return resume_task(store, record, clock, max_attempts=max_attempts)


def resume_task(store: Store, record: FeedRecord, clock: Clock, *, max_attempts: int) -> Task:
    """The task that goes on with the feed's open walk, or begins a new one."""
    walk, resumed = store.walks.open_or_resume(record.feed, now=clock.now())
    page, cursor = _where(store, walk)
    if resumed and page > 1:
        store.walks.ask_again(walk)
    payload = DiscoverPayload(
        feed=record.feed,
        adapter=record.adapter,
        address=record.address,
        walk=walk.walk,
        page=page,
        cursor=cursor,
    )
    task = discover_task(record.source, payload, max_attempts=max_attempts)
    return submitted(task, store, clock)


def submitted(task: Task, store: Store, clock: Clock) -> Task:
    """A task as a person's command publishes it: its serial is the time, so that it goes before
    every older copy, also before those that a lost RabbitMQ took and the ledger remembers. No
    purge until now means it, also not one of a machine whose clock is ahead."""
    now_ms = int(clock.now() * 1000)
    purged_before = store.switches.read().of(task.source).purged_before or 0
    changes = {"store": store.id, "serial": now_ms, "submitted_ms": max(now_ms, purged_before)}
    return task.model_copy(update=changes)


def _where(store: Store, walk: Walk) -> tuple[int, str | None]:
    """The first page of the walk that is not recorded, and its cursor; the last recorded one where
    nothing follows it (its step then closes the walk). The last one tells: a page is published
    together with the tasks of the page before it."""
    last = store.walks.last_page(walk.feed, walk.walk)
    if last is None:
        return 1, None
    if last.next_cursor is None:
        return last.page, last.cursor
    return last.page + 1, last.next_cursor


def listed(store: Store, feed: str) -> Iterator[ImagePayload | ManifestPayload]:
    """The media on every page that was read of a feed; repeated where pages repeat them."""
    for walk in store.walks.all(feed):
        for page in store.walks.pages(feed, walk.walk):
            yield from page.media


def offer(
    store: Store,
    source: str,
    payload: ImagePayload | ManifestPayload,
    *,
    max_attempts: int,
    retry_dead: bool,
) -> Copy | None:
    """A media's task once more: as it is while it has no end; in a new generation when it ended by
    a passing fault (by any, with `retry_dead`). None for one that needs no more."""
    generation = _open_generation(store, payload.media, retry_dead=retry_dead)
    if generation is None:
        return None
    return Copy(media_task(source, payload, generation=generation, max_attempts=max_attempts))


def _open_generation(store: Store, media: str, *, retry_dead: bool) -> int | None:
    generation = store.media.generation(media)
    end = store.media.ended(media, generation)
    if end is None:
        return generation
    if end.state is EndState.GOT or not (retry_dead or _passing(end)):
        return None
    return store.media.reopen(media, generation)


def _passing(end: MediaEnd) -> bool:
    return end.failure is not None and end.failure.passing
