"""Looks whether a video is all there, and then joins it into one file; or says what is missing."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core import errors
from core.clock import Clock
from core.model.end import MediaEnd, MediaFile
from core.model.ids import fragment_task_id, media_task_id
from core.model.source import SourceTerms
from core.model.task import Kind, VerifyPayload
from core.model.video import StagedVideo
from core.ports import Depths, Ledger
from core.steps.actions import Action, Publish, published_by
from core.steps.assembler import Assembler
from core.steps.joining import Joining
from core.steps.run import Run
from core.steps.video_end import VideoEnds
from core.steps.video_tasks import VideoTasks, mend_s, pause_s
from core.store.store import Store
from core.store.videos import Standing
from core.video.shortfall import Doubts

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class VerifyStep:
    """The step of a `verify` task."""

    store: Store
    ledger: Ledger
    depths: Depths
    joining: Joining
    tasks: VideoTasks
    assembler: Assembler
    terms: Callable[[str], SourceTerms]
    stop: threading.Event
    clock: Clock

    def __call__(self, run: Run) -> Iterator[Action]:
        """Yield the video's end once all its pieces are present or dead. Until then, publish what
        seems lost and raise `PiecesMissing`: the task looks again later."""
        payload = run.task.payload
        assert isinstance(payload, VerifyPayload)  # noqa: S101 - the lane says so
        staged = self._staged(payload.media)
        standing = self.store.videos.standing_of(staged, run.task.generation)
        if standing.missing:
            yield from self._look_after(run, payload, staged, standing)
        elif standing.dead or staged.plan.has_gaps:
            yield self._ends(run, staged).incomplete(standing)
        else:
            yield from self._join_or_mend(run, payload.media, staged)

    def _staged(self, media: str) -> StagedVideo:
        staged = self.store.videos.plan(media)
        if staged is None:
            raise errors.Malformed(
                f"video {media} has no plan in this store: was its staging cleared by hand? Crawl "
                "or submit its feed again",
                reason="no_plan",
            )
        return staged

    def _ends(self, run: Run, staged: StagedVideo) -> VideoEnds:
        secret_names = tuple(self.terms(run.task.source).secret_query)
        return VideoEnds(run.task, staged, self.clock, secret_names)

    # --- not all there ---

    def _look_after(
        self, run: Run, payload: VerifyPayload, staged: StagedVideo, standing: Standing
    ) -> Iterator[Action]:
        lost = self._lost(run, staged, standing)
        yield from self._bring(run, staged, lost)
        if copies := self.joining.remind(run.task, staged, standing):
            yield Publish(copies)
            return
        looks = payload.round + 1
        # Waiting for others is no age: each fragment has a limit of its own.
        following = payload.model_copy(update={"round": looks})
        run.task = run.task.model_copy(update={"payload": following, "waited_s": 0.0})
        raise errors.PiecesMissing(
            f"{len(standing.missing)} of {len(staged.plan.pieces)} pieces are on their way, "
            f"{len(lost)} of them anew",
            delay_s=pause_s(looks),
        )

    def _bring(self, run: Run, staged: StagedVideo, lost: Sequence[int]) -> Iterator[Action]:
        """Have these pieces fetched. The addresses of an earlier generation are not used: its
        manifest is read again, whose task brings all that is missing."""
        generation = run.task.generation
        if lost and staged.generation < generation:
            yield Publish((self.tasks.manifest(staged, generation),))
        else:
            yield from self.tasks.fragments(staged, lost, generation)

    def _lost(self, run: Run, staged: StagedVideo, standing: Standing) -> list[int]:
        """Pieces that nobody will bring: not in the lane, which is empty, nor known to the ledger
        as under way or waiting for another try."""
        media, source = staged.payload.media, run.task.source
        if self.depths.ready(source, Kind.FRAGMENT) > 0:
            return []
        if staged.generation < run.task.generation and self._is_read_again(source, media):
            return []
        return [
            piece
            for piece in standing.missing
            if not self.ledger.holds(fragment_task_id(media, piece))
        ]

    def _is_read_again(self, source: str, media: str) -> bool:
        """Whether the manifest's task may still be under way."""
        is_known = self.ledger.holds(media_task_id(Kind.MANIFEST, media))
        return is_known or self.depths.ready(source, Kind.MANIFEST) > 0

    # --- all there ---

    def _join_or_mend(self, run: Run, media: str, staged: StagedVideo) -> Iterator[Action]:
        """A piece that turns out damaged is fetched again; the join counts an attempt, so that
        pieces which are never right (a wrong key) have an end."""
        doubts = Doubts(self.store.videos.doubted(media, staged.layout))
        try:
            end = self._join(run, media, staged, doubts)
        except errors.DamagedPiece as error:
            run.check()
            for piece, size_bytes in doubts.found.items():
                self.store.videos.doubt(media, piece, size_bytes, staged.layout)
            damaged = sorted({error.piece, *doubts.found})
            for piece in damaged:
                self.store.videos.discard(media, piece, staged.layout)
            if run.task.attempts + 1 < run.task.max_attempts:
                yield from self._mend(run, staged, damaged)
            raise
        yield end
        self.store.staging.clear(media)  # once the end is durable; after a crash the next look does

    def _mend(self, run: Run, staged: StagedVideo, damaged: Sequence[int]) -> Iterator[Action]:
        """Have them fetched again, after a pause that grows with each join that came to nothing."""
        if staged.generation < run.task.generation:
            yield from self._bring(run, staged, damaged)
            return
        delay_s = mend_s(run.task.attempts)
        generation = run.task.generation
        for action in self.tasks.fragments(staged, damaged, generation, delay_s=delay_s):
            yield action
            for copy in action.copies if delay_s else ():  # else what rests is taken for lost
                task = published_by(run.task, copy).task
                self.ledger.published(task, delay_s=delay_s, token=None)

    def _join(self, run: Run, media: str, staged: StagedVideo, doubts: Doubts) -> MediaEnd:
        def check() -> None:
            run.check()
            if self.stop.is_set():
                raise errors.Released("this process ends: another joins the video")

        videos = self.store.videos
        workspace = videos.workspace(media, run.token)
        try:
            path_of = partial(videos.path, media, layout=staged.layout)
            made = self.assembler(staged, path_of, workspace, check, doubts)
            sha256, size_bytes = _hashed(made.path, check)
            self.store.objects.put(made.path, sha256)
        except BaseException:  # each may be as large as the video, and nobody else clears it soon
            videos.leave(media, run.token)
            raise
        file = MediaFile(
            sha256=sha256,
            size_bytes=size_bytes,
            type_sniffed=made.type,
            extension=made.extension,
            width=made.width,
            height=made.height,
            checked="probe",
        )
        return self._ends(run, staged).got(made, file)


def _hashed(path: Path, check: Callable[[], None]) -> tuple[str, int]:
    """Digest and size of a file."""
    digest, size_bytes = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                check()
                digest.update(chunk)
                size_bytes += len(chunk)
    except OSError as error:
        raise errors.StorageDown(
            f"{path}: {error.strerror}; check the store's disk and permissions"
        ) from error
    return digest.hexdigest(), size_bytes
