"""What the pages that earlier runs read of a feed list and nobody has. Of a media that was got, one
look at its record tells it; only what is open costs more."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from core.app import App
from core.cli.census import Census, Standing
from core.cli.progress import recognise
from core.model.task import DiscoverPayload, MediaPayload, Task
from core.model.walk import FeedRecord, Walk
from core.ports import Copy
from core.steps.actions import published_by
from core.steps.trigger import is_wanted, offer


@dataclass(frozen=True, slots=True)
class Order:
    """A feed and the task that reads it on."""

    feed: FeedRecord
    task: Task

    @property
    def payload(self) -> DiscoverPayload:
        """What the task is to read."""
        payload = self.task.payload
        assert isinstance(payload, DiscoverPayload)  # noqa: S101 - an order reads a feed
        return payload


class Leftovers:
    """Of one feed. What this run itself reads, also while this goes on, is none."""

    def __init__(self, app: App, order: Order, census: Census, *, retry_dead: bool) -> None:
        self._app = app
        self._order = order
        self._census = census
        self._retry_dead = retry_dead
        payload = order.payload
        self._last_page = app.store.walks.last_number(payload.feed, payload.walk)

    def offers(self) -> Iterator[Copy | None]:
        """Of each media the task that gets it; None for one that needs none and is counted as known
        or failed."""
        walks, own = self._app.store.walks, self._order.payload.walk
        for walk in walks.all(self._order.feed.feed):
            if walk.walk > own:
                return  # opened since
            for outline in walks.outlines(walk.feed, walk.walk):
                if self._app.stop.is_set() or (walk.walk == own and outline.page > self._last_page):
                    return
                media = {one.media for one in outline.media if self._is_open(one.media)}
                yield from itertools.repeat(None, len(outline.media) - len(media))
                yield from self._copies(walk, outline.page, media)

    def _is_open(self, media: str) -> bool:
        """Whether more is to be done about a media than to count it."""
        if not self._census.scan(media):
            return False
        if self._app.store.media.was_got_at_once(media):
            self._census.recognise(media, Standing.KNOWN)
            return False
        if is_wanted(self._app.store, media, retry_dead=self._retry_dead):
            return True
        recognise(self._census, self._app.store, media)
        return False

    def _copies(self, walk: Walk, page: int, media: set[str]) -> Iterator[Copy]:
        record = self._app.store.walks.page(walk.feed, walk.walk, page) if media else None
        for payload in record.media if record else ():
            copy = self._copy(payload) if payload.media in media else None
            media.discard(payload.media)
            if copy is not None:
                yield copy

    def _copy(self, payload: MediaPayload) -> Copy | None:
        copy = offer(
            self._app.store,
            self._order.feed.source,
            payload,
            max_attempts=self._app.settings.retries.max_attempts,
            retry_dead=self._retry_dead,
        )
        if copy is None:  # ended meanwhile
            return None
        self._census.reopen(payload.media)
        return published_by(self._order.task, copy)
