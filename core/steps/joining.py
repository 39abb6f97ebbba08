"""Who finds a video complete has it joined. The ledger's set of pieces is the fast path and may be
lost at any moment; the store is the truth and teaches it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.model.task import FragmentPayload, Task
from core.model.video import StagedVideo
from core.ports import Copy, Ledger
from core.steps.video_tasks import VideoTasks
from core.store.store import Store
from core.store.videos import Standing


@dataclass(frozen=True, slots=True)
class Joining:
    """Counts pieces that are durable, present or dead: members and not arrivals, so a piece that
    comes twice counts once."""

    store: Store
    ledger: Ledger
    tasks: VideoTasks

    def after(self, task: Task) -> tuple[Copy, ...]:
        """What follows a fragment whose piece is durably present or dead: the join, when it is the
        last. Two may both be the last; the join happens once all the same."""
        payload = task.payload
        assert isinstance(payload, FragmentPayload)  # noqa: S101 - the lane says so
        media, pieces, generation = payload.media, payload.pieces, task.generation
        known = self.ledger.join(media, generation, payload.piece)
        if known == 1 and pieces > 1:  # a set that has just begun, or was lost
            standing = self.store.videos.standing(media, pieces, generation, payload.layout)
            known = max(known, self._teach(media, generation, _settled(standing)))
        return self._verify(task, media) if known >= pieces else ()

    def remind(self, task: Task, staged: StagedVideo, standing: Standing) -> tuple[Copy, ...]:
        """What follows when the verify `task` finds pieces missing: the join at once, should the
        last of them have come while a set that was lost in part is made whole."""
        settled, media = _settled(standing), staged.payload.media
        if not settled:
            return ()
        known = self.ledger.join(media, task.generation, settled[0])
        if known < len(settled):
            known = self._teach(media, task.generation, settled)
        if known < len(settled) + len(standing.missing):
            return ()
        if not self.store.videos.standing_of(staged, task.generation).missing:
            return self._verify(task, media)
        # It counts a piece that was dropped since: believed, it would have us look without a pause.
        self.ledger.forget_join(media)
        self._teach(media, task.generation, settled)
        return ()

    def _teach(self, media: str, generation: int, pieces: Iterable[int]) -> int:
        joined = (self.ledger.join(media, generation, piece) for piece in pieces)
        return max(joined, default=0)

    def _verify(self, task: Task, media: str) -> tuple[Copy, ...]:
        return (self.tasks.verify(task.source, media, task.generation),)


def _settled(standing: Standing) -> list[int]:
    return sorted(standing.present.union(standing.dead))
