"""The tasks of a video as its steps publish them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.clock import Clock
from core.model.task import (
    FragmentPayload,
    Task,
    VerifyPayload,
    fragment_task,
    media_task,
    verify_task,
)
from core.model.video import StagedVideo
from core.ports import Copy
from core.steps.actions import Publish

WINDOW = 500  # fragments published and confirmed together
ALTERNATIVES = 4  # addresses that go with a task: a message stays small
MEND_S = (0.0, 5.0, 20.0, 80.0)  # before a damaged piece is fetched again, and again
WATCHDOG_S = (300.0, 900.0, 3600.0)  # when a video is looked at: after its plan, again, and again


def pause_s(looks: int) -> float:
    """How long to wait after so many looks; the last pause repeats."""
    return WATCHDOG_S[min(looks, len(WATCHDOG_S) - 1)]


def mend_s(joins: int) -> float:
    """How long a damaged piece waits for its fetch after so many joins that came to nothing: a
    server that cuts it now may have it whole in a while."""
    return MEND_S[min(joins, len(MEND_S) - 1)]


@dataclass(frozen=True, slots=True)
class VideoTasks:
    """Makes the copies to publish. A video has one verify task, published by whoever sees a reason;
    its serial is the time, so that of two copies the later one is the newer, whoever made it."""

    max_attempts: int
    clock: Clock

    def fragments(
        self,
        staged: StagedVideo,
        pieces: Sequence[int],
        generation: int,
        *,
        delay_s: float = 0.0,
    ) -> Iterator[Publish]:
        """The tasks of these pieces, in windows."""
        for start in range(0, len(pieces), WINDOW):
            window = pieces[start : start + WINDOW]
            tasks = (self._fragment(staged, piece, generation) for piece in window)
            yield Publish(tuple(self._after(task, delay_s) for task in tasks))

    def manifest(self, staged: StagedVideo, generation: int) -> Copy:
        """The video's manifest is read again, and then all is published that is missing."""
        return Copy(
            media_task(
                staged.source,
                staged.payload,
                generation=generation,
                max_attempts=self.max_attempts,
            )
        )

    def verify(self, source: str, media: str, generation: int) -> Copy:
        """Every piece is present or dead: join them now."""
        task = self._verify(source, media, generation)
        # A look that was published in the same millisecond is the older one.
        return Copy(task.model_copy(update={"serial": task.serial + 1}))

    def watchdog(self, source: str, media: str, generation: int) -> Copy:
        """Look in a while whether all goes on: a flush may take the word that all is there."""
        return self._after(self._verify(source, media, generation), pause_s(0))

    def _after(self, task: Task, delay_s: float) -> Copy:
        if delay_s <= 0:
            return Copy(task)
        not_before = self.clock.now() + delay_s
        return Copy(task.model_copy(update={"not_before": not_before}), delay_s)

    def _verify(self, source: str, media: str, generation: int) -> Task:
        task = verify_task(
            source,
            VerifyPayload(media=media),
            generation=generation,
            max_attempts=self.max_attempts,
        )
        return task.model_copy(update={"serial": round(self.clock.now() * 1000)})

    def _fragment(self, staged: StagedVideo, piece: int, generation: int) -> Task:
        planned = staged.plan.pieces[piece]
        payload = FragmentPayload(
            media=staged.payload.media,
            piece=piece,
            pieces=len(staged.plan.pieces),
            layout=staged.layout,
            url=planned.url,
            start=planned.start,
            length=planned.length,
            referer=staged.payload.referer,
            headers={**staged.payload.headers, **dict(planned.headers)},
            alternatives=planned.alternatives[:ALTERNATIVES],
            size_bytes=planned.size_bytes,
            ref=planned.ref,
        )
        return fragment_task(
            staged.source, payload, generation=generation, max_attempts=self.max_attempts
        )
