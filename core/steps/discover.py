"""Reads one page of a feed: posts into the store, their media tasks and the next page published,
then the page's own record. Never downloads media bytes."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from core import errors
from core.clock import Clock
from core.fetch.fetcher import Fetcher, Visit
from core.model.addresses import strike
from core.model.post import FeedPage
from core.model.request import Asked
from core.model.source import SourceTerms
from core.model.task import (
    DiscoverPayload,
    Task,
    discover_task,
    media_task,
)
from core.model.walk import Walk, WalkPage
from core.ports import Copy
from core.sources import adapter
from core.sources.adapter import Adapter, Completes, PageInput
from core.sources.body import CUT_REASONS
from core.sources.one_media import is_file
from core.steps.actions import Action, Publish
from core.steps.asking import going_on, page_input, page_request
from core.steps.closing import closing
from core.steps.depths import OpenDepth
from core.steps.gate import Gate, Marks, held_s
from core.steps.page import (
    checkpoint,
    ending_of,
    known_run,
    new_so_far,
    only_known,
    with_missing_told,
    without_secrets,
)
from core.steps.passing_over import passed_over
from core.steps.reopened import Reopened
from core.steps.run import Run
from core.steps.shown import due_of, held_by, shown, tasked
from core.steps.wish import wish_of
from core.store.posts import Seen
from core.store.store import Store

logger = logging.getLogger(__name__)


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
    reopened: Reopened  # what a person sent on its way again
    gate: Gate = field(default_factory=Gate)

    def __call__(self, run: Run) -> Iterator[Action]:
        """Yield what the page's tasks are, then the page, then how the walk ended if it did."""
        payload = run.task.payload
        assert isinstance(payload, DiscoverPayload)  # noqa: S101 - the lane says so
        walk = self.store.walks.get(payload.feed, payload.walk)
        if walk is None:
            if self.store.walks.is_superseded(payload.feed, payload.walk):
                return
            raise errors.Malformed(
                f"walk {payload.walk} of feed {payload.feed} is not in this store: was it moved?",
                reason="unknown_walk",
            )
        page = self.store.walks.page(payload.feed, payload.walk, payload.page)
        if page is not None and self._was_dropped(run.task, page):
            due = due_of(self.store, page.media)
            yield Publish(tuple(self._copies(run.task, payload, page, due)))
        if self.store.walks.end_of(payload.feed, payload.walk) is None:
            yield from self._go_on(run, payload, page)
        yield from self._again(run.task, payload, walk)

    def _was_dropped(self, task: Task, page: WalkPage) -> bool:
        """Whether what was published with a recorded page was dropped by a purge that came before
        `task` was submitted: the page was in a worker's hand then. Else it is confirmed and stands:
        the file is read only where another submission has read the page."""
        if page.submitted_ms is not None and page.submitted_ms >= task.origin_ms:
            return False
        purged_before = self.store.switches.read().of(task.source).purged_before
        if purged_before is None or task.is_before(purged_before):
            return False
        return page.submitted_ms is None or page.submitted_ms < purged_before

    def _go_on(self, run: Run, payload: DiscoverPayload, page: WalkPage | None) -> Iterator[Action]:
        if page is None:  # a recorded page's tasks and its next one are confirmed already
            if self._hold_back(run.task) == 0:
                self.store.walks.found_idle(run.task.source, now=self.clock.now())
            try:
                found = self._read(run, payload)
            except errors.HeadraceError as error:
                found = passed_over(run.task, payload, error)
            page, due = self._record(run.task, payload, found)
            due = self.reopened.wanted(run.task.source, payload.feed, page.media, due)
            copies = tuple(self._copies(run.task, payload, page, due))
            yield Publish(copies)
            self.reopened.published(run.task, copies)
            yield page
        end = closing(page, payload, now=self.clock.now())
        if end is not None:
            yield end

    def _again(self, task: Task, payload: DiscoverPayload, walk: Walk) -> Iterator[Action]:
        """A trigger came while this walk was open: what is new at the feed's top needs a walk of
        its own, once, however often this walk's tasks are delivered."""
        walks = self.store.walks
        if not walks.asked_again(walk) or walks.end_of(walk.feed, walk.walk) is None:
            return
        if walks.current(walk.feed) is None and walks.newest(walk.feed) != walk:
            return
        following, _ = walks.open_or_resume(walk.feed, now=self.clock.now())
        first = walks.page(following.feed, following.walk, 1)
        if first is None or self._was_dropped(task, first):
            yield Publish((first_page(task.source, payload, following, self.max_attempts),))

    def _hold_back(self, task: Task) -> int:
        """How much is open, where that lets another page in."""
        open_tasks, marks = self.depth(task.source), Marks(self.high_water, self.low_water)
        if self.gate.lets_in(task.source, open_tasks, marks):
            return open_tasks
        delay_s = held_s(open_tasks, marks, self.terms(task.source).rate)
        raise errors.Backpressure(
            f"{task.source} has {open_tasks} tasks open, and passed its high-water mark of "
            f"{marks.high_water}: the next page waits until fewer than {marks.low_water} are",
            delay_s=delay_s,
        )

    def _read(self, run: Run, payload: DiscoverPayload) -> FeedPage:
        chosen = adapter(payload.adapter)
        terms = self.terms(run.task.source)
        with self._open(run, payload, chosen, terms) as (given, visit):
            page = _parse(chosen, given)
            self._keep_body(payload, chosen, page, given.stream, terms)
            if visit is not None and isinstance(chosen, Completes):
                kept = self.store.looks.of(payload.feed, payload.walk, payload.page)
                with going_on(visit, self.clock, kept, run.progress) as ask:
                    page = chosen.complete(page, ask)
                run.token_wait_s = visit.token_wait_s
            if page.rest_s is not None and visit is not None and visit.asked is not None:
                self.slow_down(visit.asked, page.rest_s)
        page = without_secrets(with_missing_told(page), terms)
        for note in page.notes:
            logger.warning("%s page %d: %s", strike(payload.address), payload.page, note)
        return page

    @contextmanager
    def _open(
        self, run: Run, payload: DiscoverPayload, chosen: Adapter, terms: SourceTerms
    ) -> Iterator[tuple[PageInput, Visit | None]]:
        request = page_request(chosen, payload.address, payload.cursor)
        if request is None:
            with self.store.walks.open_body(payload.feed, payload.walk) as stream:
                yield self._from_body(stream, payload), None
            return
        with self.fetcher.visit(terms, on_first_token=run.granted) as visit:
            try:
                body = visit.page(request, enough=is_file)
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

    def _record(
        self, task: Task, payload: DiscoverPayload, page: FeedPage
    ) -> tuple[WalkPage, dict[str, int]]:
        """The page's record, and those of its media that are to be got, by generation. Not those
        that are on their way since an earlier walk. None is where nothing of the source was open
        since: they were lost, with RabbitMQ or by a purge, whatever else was published after that
        moment, by this walk or for another feed."""
        seen = self.store.posts.put_page(
            page.posts, source=task.source, feed=payload.feed, walk=payload.walk
        )
        before = self.store.walks.page(payload.feed, payload.walk, payload.page - 1)
        run = known_run(before.known_run if before else 0, page.posts, seen)
        new_posts = sum(one is not Seen.KNOWN for one in seen)
        wish = wish_of(self.terms(task.source))
        on_their_way: frozenset[str] = frozenset()
        if not self.store.walks.are_lost(payload.feed, task.source):
            on_their_way = tasked(self.store, task.source, payload.feed, page.posts, seen)
        media = shown(task.source, payload.feed, page.posts, wish)
        due = due_of(self.store, media, on_their_way)
        held = held_by(task.source, page.posts, seen) | due.keys()
        record = WalkPage(
            walk=payload.walk,
            feed=payload.feed,
            page=payload.page,
            cursor=payload.cursor,
            next_cursor=page.cursor,
            checkpoint=checkpoint(payload, before),
            newest_first=page.newest_first,
            posts=tuple(post.id(task.source) for post in page.posts),
            new_posts=new_posts,
            new_so_far=new_so_far(new_posts, before, payload.page),
            empty_run=0 if page.posts else 1 + (before.empty_run if before else 0),
            known_run=run,
            nothing_new=only_known(page.posts, seen) and run >= self.stop_after_known(task.source),
            gone_at_source=self._gone_at_source(task.source, payload, page, seen),
            media=tuple(one for one in media if one.media in held),
            known_media=sum(one.media not in held for one in media),
            skipped=page.skipped,
            notes=page.notes,
            submitted_ms=task.origin_ms,
            read_at=self.clock.now(),
        )
        return record, due

    def _gone_at_source(
        self, source: str, payload: DiscoverPayload, page: FeedPage, seen: Sequence[Seen]
    ) -> int:
        posts = zip(page.posts, seen, strict=True)
        changed = (post for post, one in posts if one is Seen.CHANGED)
        return self.store.posts.vanished(
            changed, source=source, feed=payload.feed, walk=payload.walk
        )

    def _copies(
        self,
        task: Task,
        payload: DiscoverPayload,
        page: WalkPage,
        due: Mapping[str, int],
    ) -> Iterator[Copy]:
        for found in page.media:
            generation = due.get(found.media)
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
        if error.reason not in CUT_REASONS:
            raise
        raise errors.Truncated(str(error), reason=error.reason) from error


def first_page(source: str, payload: DiscoverPayload, walk: Walk, max_attempts: int) -> Copy:
    """The task that begins `walk` of the feed that `payload` reads."""
    first = payload.model_copy(update={"walk": walk.walk, "page": 1, "cursor": None})
    return Copy(discover_task(source, first, max_attempts=max_attempts))
