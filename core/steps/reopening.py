"""A person's requeue: the one way out of `dead`. Durable before anything is published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from core.clock import Clock
from core.model.end import EndState, MediaEnd
from core.model.source import SourceTerms
from core.model.states import Event, move
from core.model.task import (
    DiscoverPayload,
    FragmentPayload,
    ImagePayload,
    ManifestPayload,
    State,
    Task,
    VerifyPayload,
)
from core.model.video import StagedVideo
from core.model.walk import FeedRecord
from core.steps.ends import Observer, write_end
from core.steps.trigger import resume_task
from core.steps.video_end import VideoEnds
from core.steps.video_tasks import VideoTasks
from core.store.store import Store


@dataclass(frozen=True, slots=True)
class Reopening:
    """Opens what ended dead once more: a media in its next generation; a page's walk is closed, so
    its feed's open or next walk is read."""

    store: Store
    tasks: VideoTasks
    terms: Callable[[str], SourceTerms]
    clock: Clock
    on_end: Observer

    def __call__(self, task: Task) -> Task:
        """The task to publish instead of the dead one."""
        match task.payload:
            case ImagePayload(media=media) | ManifestPayload(media=media):
                return self._requeued(task, self.store.media.reopen(media, task.generation))
            case FragmentPayload() as payload:
                return self._fragment(task, payload.media)
            case VerifyPayload() as payload:
                return self._verify(task, payload)
            case DiscoverPayload() as payload:
                record = FeedRecord(
                    feed=payload.feed,
                    source=task.source,
                    adapter=payload.adapter,
                    address=payload.address,
                )
                return resume_task(self.store, record, self.clock, max_attempts=task.max_attempts)
            case _ as never:
                assert_never(never)

    def _fragment(self, task: Task, media: str) -> Task:
        """What is present stays, so only what is missing is fetched again, the task's sisters too;
        from the addresses that the manifest has by then, for signed ones expire."""
        staged = self.store.videos.plan(media)
        if staged is None:  # got meanwhile; or cleared by hand, which the join then says
            generation = self._next_generation(task, media)
            return self._of_its_store(task, self.tasks.verify(task.source, media, generation).task)
        if self.store.media.ended(media, task.generation) is None:
            self._end_here(task, staged)
        before = self.store.media.generation(media)
        generation = self._next_generation(task, media)
        if generation > before:
            return self._manifest(task, staged, generation)
        # A sister's requeue has opened it, and one reading brings all: it is enough to look later.
        later = self.tasks.watchdog(task.source, media, generation).task
        return self._of_its_store(task, later)

    def _verify(self, task: Task, payload: VerifyPayload) -> Task:
        """A join that died of a damaged piece lacks it now."""
        generation = self._next_generation(task, payload.media)
        staged = self.store.videos.plan(payload.media)
        if staged is not None and self.store.videos.standing_of(staged, generation).missing:
            return self._manifest(task, staged, generation)
        anew = payload.model_copy(update={"round": 0})
        return self._requeued(task.model_copy(update={"payload": anew}), generation)

    def _end_here(self, task: Task, staged: StagedVideo) -> None:
        """The video still waits for other pieces. Within one generation a dead piece stays dead, so
        this one ends here, as it would have, and the next takes over all that is not there."""
        standing = self.store.videos.standing_of(staged, task.generation)
        secret_names = tuple(self.terms(task.source).secret_query)
        self._write(VideoEnds(task, staged, self.clock, secret_names).incomplete(standing))

    def _manifest(self, task: Task, staged: StagedVideo, generation: int) -> Task:
        return self._of_its_store(task, self.tasks.manifest(staged, generation).task)

    def _of_its_store(self, dead: Task, task: Task) -> Task:
        return task.model_copy(update={"store": dead.store, "max_attempts": dead.max_attempts})

    def _next_generation(self, task: Task, media: str) -> int:
        """A letter may be older than its video, which was got without that task: then there is
        nothing to open, and the copy is acknowledged without a request."""
        newest = self.store.media.newest(media)
        if newest is not None and newest.state is EndState.GOT:
            return newest.generation
        return self.store.media.reopen(media, task.generation)

    def _requeued(self, task: Task, generation: int) -> Task:
        dead = task.model_copy(update={"state": State.DEAD})
        again = move(dead, Event.REQUEUED, now=self.clock.now())
        return again.model_copy(update={"generation": generation})

    def _write(self, end: MediaEnd) -> None:
        write_end(self.store, end)
        self.on_end(end)
