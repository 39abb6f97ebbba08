"""Reads one page of a feed: posts into the store, their media tasks and the next page published,
then the page's own record. Never downloads media bytes."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from core import errors
from core.clock import Clock
from core.fetch.fetcher import Fetcher, Visit
from core.model.addresses import strike
from core.model.post import FeedPage
from core.model.request import Asked
from core.model.source import SourceTerms
from core.model.task import (
    DiscoverPayload,
    ImagePayload,
    Kind,
    ManifestPayload,
    Task,
    discover_task,
    media_task,
)
from core.model.walk import Walk, WalkEnd, WalkPage, WalkState
from core.ports import Copy, Depths, Ledger
from core.sources import adapter
from core.sources.adapter import Adapter, Completes, PageInput
from core.steps.actions import Action, Publish
from core.steps.asking import asking, page_input
from core.steps.gate import Gate, Marks, held_s
from core.steps.page import (
    CURSOR_REPEATS,
    ending_of,
    known_run,
    media_payload,
    only_known,
    with_missing_told,
    without_secrets,
)
from core.steps.run import Run
from core.store.posts import Seen
from core.store.store import Store

logger = logging.getLogger(__name__)

_PASSING = frozenset({"empty", "truncated"})  # reasons that another answer may not have


class OpenDepth(Protocol):
    """How much a source has open."""

    def __call__(self, source: str) -> int: ...


@dataclass(frozen=True, slots=True)
class DiscoverStep:
    """The step of a `discover` task."""

    store: Store
    fetcher: Fetcher
    terms: Callable[[str], SourceTerms]
    depth: OpenDepth
    high_water: int
    low_water: int
    max_attempts: int
    clock: Clock
    stop_after_known: Callable[[str], int]  # by source: known posts in a row that end a walk
    slow_down: Callable[[Asked, float], None]  # a source that asks for a pause gets it
    gate: Gate = field(default_factory=Gate)

    def __call__(self, run: Run) -> Iterator[Action]:
        """Yield what the page's tasks are, then the page, then how the walk ended if it did."""
        payload = run.task.payload
        assert isinstance(payload, DiscoverPayload)  # noqa: S101 - the lane says so
        walk = self.store.walks.get(payload.feed, payload.walk)
        if walk is None:
            raise errors.Malformed(
                f"walk {payload.walk} of feed {payload.feed} is not in this store: was it moved?",
                reason="unknown_walk",
            )
        if self.store.walks.end_of(payload.feed, payload.walk) is None:
            yield from self._go_on(run, payload)
        yield from self._again(run.task, payload, walk)

    def _go_on(self, run: Run, payload: DiscoverPayload) -> Iterator[Action]:
        page = self.store.walks.page(payload.feed, payload.walk, payload.page)
        if page is None:  # a recorded page's tasks and its next one are confirmed already
            self._hold_back(run.task)
            page = self._read(run, payload)
            yield Publish(tuple(self._copies(run.task, payload, page)))
            yield page
        ending = ending_of(page, payload)
        if ending is CURSOR_REPEATS:
            logger.warning(
                "feed %s, page %d: the next page's address repeats an earlier one; the walk ends",
                strike(payload.address),
                page.page,
            )
        if ending is not None:
            yield WalkEnd(
                walk=payload.walk,
                feed=payload.feed,
                state=WalkState.COMPLETE,
                reason=ending,
                pages=payload.page,
                closed_at=self.clock.now(),
            )

    def _again(self, task: Task, payload: DiscoverPayload, walk: Walk) -> Iterator[Action]:
        """A trigger came while this walk was open: what is new at the feed's top needs a walk of
        its own, once, however often this walk's tasks are delivered."""
        walks = self.store.walks
        if not walks.asked_again(walk) or walks.end_of(walk.feed, walk.walk) is None:
            return
        if walks.current(walk.feed) is None and walks.newest(walk.feed) != walk:
            return
        following, _ = walks.open_or_resume(walk.feed, now=self.clock.now())
        if walks.page(following.feed, following.walk, 1) is None:
            yield Publish((first_page(task.source, payload, following, self.max_attempts),))

    def _hold_back(self, task: Task) -> None:
        open_tasks, marks = self.depth(task.source), Marks(self.high_water, self.low_water)
        if self.gate.lets_in(task.source, open_tasks, marks):
            return
        delay_s = held_s(open_tasks, marks, self.terms(task.source).rate)
        raise errors.Backpressure(
            f"{task.source} has {open_tasks} tasks open, and passed its high-water mark of "
            f"{marks.high_water}: the next page waits until fewer than {marks.low_water} are",
            delay_s=delay_s,
        )

    def _read(self, run: Run, payload: DiscoverPayload) -> WalkPage:
        chosen = adapter(payload.adapter)
        terms = self.terms(run.task.source)
        with self._open(run, payload, chosen, terms) as (given, visit):
            page = _parse(chosen, given)
            self._keep_body(payload, chosen, page, given.stream, terms)
            if visit is not None and isinstance(chosen, Completes):
                page = chosen.complete(page, asking(visit, self.clock))
                run.token_wait_s = visit.token_wait_s
            if page.rest_s is not None and visit is not None and visit.asked is not None:
                self.slow_down(visit.asked, page.rest_s)
        page = without_secrets(with_missing_told(page), terms)
        for note in page.notes:
            logger.warning("%s page %d: %s", strike(payload.address), payload.page, note)
        return self._record(run.task, payload, page)

    @contextmanager
    def _open(
        self, run: Run, payload: DiscoverPayload, chosen: Adapter, terms: SourceTerms
    ) -> Iterator[tuple[PageInput, Visit | None]]:
        request = chosen.request(payload.address, payload.cursor)
        if request is None:
            with self._kept_body(payload) as stream:
                yield self._from_body(stream, payload), None
            return
        with self.fetcher.visit(terms, on_first_token=run.granted) as visit:
            try:
                body = visit.page(request)
            finally:
                run.token_wait_s = visit.token_wait_s
            given = page_input(body, self.clock, cursor=payload.cursor, feed=payload.address)
            yield given, visit

    def _from_body(self, stream: BinaryIO, payload: DiscoverPayload) -> PageInput:
        return PageInput(
            stream,
            payload.address,
            cursor=payload.cursor,
            read_at=self.clock.now(),
            feed=payload.address,
        )

    def _kept_body(self, payload: DiscoverPayload) -> BinaryIO:
        return self.store.walks.open_body(payload.feed, payload.walk)

    def _keep_body(
        self,
        payload: DiscoverPayload,
        chosen: Adapter,
        page: FeedPage,
        stream: BinaryIO,
        terms: SourceTerms,
    ) -> None:
        """A list is fetched once: its later chunks are read from the body that the walk keeps."""
        if payload.cursor is not None or page.cursor is None:
            return
        if chosen.request(payload.address, page.cursor) is None:
            stream.seek(0, io.SEEK_SET)
            self.store.walks.keep_body(
                payload.feed, payload.walk, stream, max_bytes=terms.max_page_bytes
            )

    def _record(self, task: Task, payload: DiscoverPayload, page: FeedPage) -> WalkPage:
        seen = self.store.posts.put_page(
            page.posts, source=task.source, feed=payload.feed, walk=payload.walk
        )
        before = self.store.walks.page(payload.feed, payload.walk, payload.page - 1)
        run = known_run(before.known_run if before else 0, page.posts, seen)
        max_height = self.terms(task.source).max_height
        media: dict[str, ImagePayload | ManifestPayload] = {}
        for post in page.posts:
            for record in post.media:
                found = media_payload(task.source, payload.feed, post, record, max_height)
                media.setdefault(found.media, found)
        return WalkPage(
            walk=payload.walk,
            feed=payload.feed,
            page=payload.page,
            cursor=payload.cursor,
            next_cursor=page.cursor,
            checkpoint=self._checkpoint(payload),
            newest_first=page.newest_first,
            posts=tuple(post.id(task.source) for post in page.posts),
            new_posts=sum(one is not Seen.KNOWN for one in seen),
            known_run=run,
            nothing_new=only_known(page.posts, seen) and run >= self.stop_after_known(task.source),
            gone_at_source=self.store.posts.vanished(
                (post for post, one in zip(page.posts, seen, strict=True) if one is Seen.CHANGED),
                source=task.source,
                feed=payload.feed,
                walk=payload.walk,
            ),
            media=tuple(media.values()),
            skipped=page.skipped,
            notes=page.notes,
            read_at=self.clock.now(),
        )

    def _checkpoint(self, payload: DiscoverPayload) -> str | None:
        """The cursor of the last page whose number is a power of two: comparing the next cursor
        with it finds every loop, however long, without reading all earlier pages (Brent)."""
        if payload.page & (payload.page - 1) == 0:
            return payload.cursor or payload.address
        before = self.store.walks.page(payload.feed, payload.walk, payload.page - 1)
        return before.checkpoint if before else None

    def _copies(self, task: Task, payload: DiscoverPayload, page: WalkPage) -> Iterator[Copy]:
        for found in page.media:
            generation = self.store.media.open_generation(found.media)
            if generation is not None:
                yield Copy(
                    media_task(
                        task.source, found, generation=generation, max_attempts=self.max_attempts
                    )
                )
        if ending_of(page, payload) is None:
            yield self._next(task, payload, page)

    def _next(self, task: Task, payload: DiscoverPayload, page: WalkPage) -> Copy:
        following = payload.model_copy(
            update={"page": payload.page + 1, "cursor": page.next_cursor}
        )
        return Copy(discover_task(task.source, following, max_attempts=self.max_attempts))


def _parse(chosen: Adapter, page_input: PageInput) -> FeedPage:
    """A page that was cut on its way is no fault of the feed: it is asked for once more."""
    try:
        return chosen.parse(page_input)
    except errors.Malformed as error:
        if error.reason not in _PASSING:
            raise
        raise errors.Truncated(str(error), reason=error.reason) from error


def first_page(source: str, payload: DiscoverPayload, walk: Walk, max_attempts: int) -> Copy:
    """The task that begins `walk` of the feed that `payload` reads."""
    first = payload.model_copy(update={"walk": walk.walk, "page": 1, "cursor": None})
    return Copy(discover_task(source, first, max_attempts=max_attempts))


def open_depth(depths: Depths, ledger: Ledger) -> OpenDepth:
    """Ready, leased and delayed tasks of a source together, without its pages of feeds: those wait
    for the rest to become less, and a thousand of them would wait for each other for ever."""

    def depth(source: str) -> int:
        work = ledger.open_work(source)
        ready = depths.ready(source) - depths.ready(source, Kind.DISCOVER)
        return max(0, ready) + work.leased + work.delayed - work.pages

    return depth


def whole_depth(depths: Depths, ledger: Ledger) -> OpenDepth:
    """The same with the pages: whoever puts feeds in bounds these too."""

    def depth(source: str) -> int:
        work = ledger.open_work(source)
        return depths.ready(source) + work.leased + work.delayed

    return depth
