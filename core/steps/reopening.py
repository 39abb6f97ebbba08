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
    media_task,
)
from core.model.video import StagedVideo
from core.model.walk import FeedRecord
from core.ports import Publisher
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
    publisher: Publisher
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
            case VerifyPayload(media=media) as payload:
                anew = task.model_copy(update={"payload": payload.model_copy(update={"round": 0})})
                return self._requeued(anew, self._next_generation(task, media))
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
        """What is present stays, so only what is dead is fetched again. The watchdog brings those
        of its dead sisters that nobody requeued."""
        staged = self.store.videos.plan(media)
        under_way = self.store.media.ended(media, task.generation) is None
        if staged is not None and under_way:
            return self._under_way(task, staged)
        generation = self._next_generation(task, media)
        self.publisher.publish((self.tasks.watchdog(task.source, media, generation),))
        return self._requeued(task, generation)

    def _under_way(self, task: Task, staged: StagedVideo) -> Task:
        """The video still waits for other pieces. Within one generation a dead piece stays dead, so
        this one ends here, as it would have, and the next takes over all that is not there."""
        media = staged.payload.media
        pieces = len(staged.plan.pieces)
        standing = self.store.videos.standing(media, pieces, task.generation)
        secret_names = tuple(self.terms(task.source).secret_query)
        self._write(VideoEnds(task, staged, self.clock, secret_names).incomplete(standing))
        generation = self._next_generation(task, media)
        return media_task(
            task.source, staged.payload, generation=generation, max_attempts=task.max_attempts
        )

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
