"""Triggers: reading a feed begins, or goes on where an open walk stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from core.clock import Clock
from core.errors import Misconfigured, Permanent
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
from core.sources import ADAPTERS, Adapter, ChecksAddresses, adapter, recogniser
from core.steps.asking import page_request
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
        return _feed_of(settings, named)
    for name, configured in settings.feeds.items():
        if configured.address == named:
            return _feed_of(settings, name)
    return _feed(settings, DEFAULT_SOURCE, named)


def refuse_unreadable(settings: Settings) -> None:
    """Raise `Misconfigured` for an address of the settings' feeds that its adapter can't read,
    before anything of any is asked for. A file may come later."""
    for name, configured in settings.feeds.items():
        if _is_address(configured.address):
            _feed_of(settings, name)


def _feed_of(settings: Settings, name: str) -> Feed:
    configured = settings.feeds[name]
    return _feed(settings, configured.source, configured.address, f"feeds.{name}.address: ")


def _feed(settings: Settings, source: str, address: str, place: str = "") -> Feed:
    terms = settings.source(source)
    if _is_address(address):
        kept = without_parameters(address, tuple(terms.secret_query))
        _refuse(settings, adapter(terms.adapter), kept, place)
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


def _refuse(settings: Settings, chosen: Adapter, address: str, place: str) -> None:
    """Raise `Misconfigured` for an address that no page could be asked for by."""
    known = recogniser(address) if chosen is ADAPTERS["feed"] else None
    try:
        for one in (known, chosen):
            if isinstance(one, ChecksAddresses):
                one.check(address)
        if known is not None:
            raise _of_a_named_source(settings, known.name, address)
        page_request(chosen, address, None)
    except (Misconfigured, Permanent) as error:
        raise Misconfigured(f"{place}{error}", reason=error.reason) from error


def _of_a_named_source(settings: Settings, kind: str, address: str) -> Misconfigured:
    """The open formats' reader would find nothing there."""
    of_kind = [name for name, one in settings.sources.items() if one.adapter == kind]
    ours = " or ".join(f'"{name}"' for name in of_kind)
    wanted = f"source = {ours}" if ours else f"a source of its own (adapter = {kind!r})"
    return Misconfigured(
        f"{strike(address)} is read by the adapter {kind!r}, and not as an open format: make it a "
        f"feed of the settings with {wanted}; `headrace sources` tells what that needs, `headrace "
        "probe` shows what it gives",
        reason="named_source",
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


def asked_host(store: Store, record: FeedRecord) -> str | None:
    """The host that the feed's next page lies on, which may be another than the one that its
    address names: an API's. None for one that nobody is asked for, or that can't be asked for at
    all, as its task will say."""
    walk = store.walks.current(record.feed)
    cursor = _where(store, walk)[1] if walk is not None else None
    try:
        request = page_request(adapter(record.adapter), record.address, cursor)
    except Permanent:
        return None
    return urlsplit(request.url).hostname if request is not None else None


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


def is_wanted(store: Store, media: str, *, retry_dead: bool) -> bool:
    """Whether `offer` would give a media's task. Opens nothing."""
    end = store.media.ended(media, store.media.generation(media))
    return end is None or _is_tried_again(end, retry_dead=retry_dead)


def _open_generation(store: Store, media: str, *, retry_dead: bool) -> int | None:
    generation = store.media.generation(media)
    end = store.media.ended(media, generation)
    if end is None:
        return generation
    if not _is_tried_again(end, retry_dead=retry_dead):
        return None
    return store.media.reopen(media, generation)


def _is_tried_again(end: MediaEnd, *, retry_dead: bool) -> bool:
    is_passing = end.failure is not None and end.failure.passing
    return end.state is not EndState.GOT and (retry_dead or is_passing)
