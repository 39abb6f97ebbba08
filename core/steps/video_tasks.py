"""The tasks of a video as its steps publish them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.clock import Clock
from core.model.task import FragmentPayload, Task, VerifyPayload, fragment_task, verify_task
from core.model.video import StagedVideo
from core.ports import Copy
from core.steps.actions import Publish

WINDOW = 500  # fragments published and confirmed together
WATCHDOG_S = (300.0, 900.0, 3600.0)  # when a video is looked at: after its plan, again, and again


def pause_s(looks: int) -> float:
    """How long to wait after so many looks; the last pause repeats."""
    return WATCHDOG_S[min(looks, len(WATCHDOG_S) - 1)]


@dataclass(frozen=True, slots=True)
class VideoTasks:
    """Makes the copies to publish. A video has one verify task, published by whoever sees a reason;
    its serial is the time, so that of two copies the later one is the newer, whoever made it."""

    max_attempts: int
    clock: Clock

    def fragments(
        self, staged: StagedVideo, pieces: Sequence[int], generation: int
    ) -> Iterator[Publish]:
        """The tasks of these pieces, in windows."""
        for start in range(0, len(pieces), WINDOW):
            window = pieces[start : start + WINDOW]
            yield Publish(tuple(self._fragment(staged, piece, generation) for piece in window))

    def verify(self, source: str, media: str, generation: int) -> Copy:
        """Every piece is present or dead: join them now."""
        task = self._verify(source, media, generation)
        # A look that was published in the same millisecond is the older one.
        return Copy(task.model_copy(update={"serial": task.serial + 1}))

    def watchdog(self, source: str, media: str, generation: int) -> Copy:
        """Look in a while whether all goes on: a flush may take the word that all is there."""
        task = self._verify(source, media, generation)
        not_before = self.clock.now() + pause_s(0)
        return Copy(task.model_copy(update={"not_before": not_before}), pause_s(0))

    def _verify(self, source: str, media: str, generation: int) -> Task:
        task = verify_task(
            source,
            VerifyPayload(media=media),
            generation=generation,
            max_attempts=self.max_attempts,
        )
        return task.model_copy(update={"serial": round(self.clock.now() * 1000)})

    def _fragment(self, staged: StagedVideo, piece: int, generation: int) -> Copy:
        planned = staged.plan.pieces[piece]
        payload = FragmentPayload(
            media=staged.payload.media,
            piece=piece,
            pieces=len(staged.plan.pieces),
            url=planned.url,
            start=planned.start,
            length=planned.length,
            referer=staged.payload.referer,
            headers=staged.payload.headers,
        )
        return Copy(
            fragment_task(
                staged.source, payload, generation=generation, max_attempts=self.max_attempts
            )
        )
