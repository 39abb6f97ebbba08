"""Makes the ends of dead tasks durable, once their letters are published: of a media, of a walk, of
one piece of a video."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from core.clock import Clock
from core.model.end import Failure, MediaEnd
from core.model.source import SourceTerms
from core.model.task import FragmentPayload, Task, VerifyPayload
from core.model.walk import WalkEnd
from core.ports import Ledger, Publisher
from core.steps.actions import published_by
from core.steps.ends import Observer, dead_end, write_end
from core.steps.joining import Joining
from core.steps.video_end import VideoEnds
from core.store.store import Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Burial:
    """A crash after any line of it repeats the whole at most."""

    store: Store
    ledger: Ledger
    publisher: Publisher
    joining: Joining
    terms: Callable[[str], SourceTerms]
    clock: Clock
    on_end: Observer

    def __call__(self, task: Task, failure: Failure) -> None:
        """Whatever follows from the death of `task` is durable or confirmed when this returns."""
        match task.payload:
            case FragmentPayload() as payload:
                self.store.videos.bury(payload.media, payload.piece, task.generation, failure)
                if copies := self.joining.after(task):
                    self.publisher.publish([published_by(task, copy) for copy in copies])
            case VerifyPayload() as payload:
                self._end_video(task, payload.media, failure)
            case _:
                self._write(dead_end(task, failure, self.clock, self._secret_names(task)))

    def _end_video(self, task: Task, media: str, failure: Failure) -> None:
        staged = self.store.videos.plan(media)
        if staged is None:  # nothing tells whose it was; its feed's next crawl begins it anew
            logger.warning("video %s: %s", media, failure.message)
            return
        ends = VideoEnds(task, staged, self.clock, self._secret_names(task))
        self._write(ends.dead(failure))
        self.ledger.forget_join(media)

    def _write(self, end: MediaEnd | WalkEnd) -> None:
        write_end(self.store, end)
        self.on_end(end)

    def _secret_names(self, task: Task) -> tuple[str, ...]:
        return tuple(self.terms(task.source).secret_query)
