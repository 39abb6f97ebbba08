"""How a video that came in pieces ended: whole, with pieces missing, or not to be joined. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.model.addresses import strike
from core.model.end import EndState, Failure, MediaEnd, MediaFile, PieceFile, VideoRecord
from core.model.post import MediaKind
from core.model.task import Task
from core.model.video import StagedVideo, listed, pieces_in_words
from core.steps.ends import media_end
from core.store.videos import Standing
from core.video.assemble import Assembled

_EXPIRED = frozenset([401, 403, 410])  # what CDNs answer when a signature's time is over
_FRESH_S = 300.0  # whoever refuses an address so soon after its manifest means it


@dataclass(frozen=True, slots=True)
class VideoEnds:
    """Makes the ends of one video's task. `secret_names` are struck out of every address."""

    task: Task
    staged: StagedVideo
    clock: Clock
    secret_names: Collection[str] = ()

    def got(self, made: Assembled, file: MediaFile) -> MediaEnd:
        """Whole, filed as `file`."""
        video = self._video(
            pieces=self._pieces(made),
            expected_duration_s=made.expected_duration_s,
            duration_s=made.duration_s,
            tool=made.tool,
            notes=(*self.staged.plan.notes, *made.notes),
        )
        attempts = self.task.attempts + 1
        return self._end(state=EndState.GOT, file=file, video=video, attempts=attempts)

    def incomplete(self, standing: Standing) -> MediaEnd:
        """Pieces can't be had. No file is made with a hole in it."""
        failure = self._holes(standing)
        return self._end(
            state=EndState.INCOMPLETE,
            failure=failure,
            video=self._video(missing=tuple(sorted(standing.dead)), notes=self.staged.plan.notes),
            attempts=failure.attempts,
        )

    def dead(self, failure: Failure) -> MediaEnd:
        """The pieces are there, and can't be joined."""
        return self._end(
            state=EndState.REFUSED if failure.refused else EndState.DEAD,
            failure=failure,
            video=self._video(notes=self.staged.plan.notes),
            attempts=self.task.attempts,
        )

    def _end(self, **more: Any) -> MediaEnd:  # noqa: ANN401 - fields of MediaEnd
        return media_end(
            self.task,
            self.staged.payload,
            self.secret_names,
            kind=MediaKind.VIDEO,
            ended_at=self.clock.now(),
            **more,
        )

    def _video(self, **more: Any) -> VideoRecord:  # noqa: ANN401 - fields of VideoRecord
        plan = self.staged.plan
        return VideoRecord(
            manifest_url=strike(plan.manifest_url, self.secret_names),
            manifest_sha256=plan.manifest_sha256,
            chosen=plan.chosen,
            planned=len(plan.pieces),
            **{"expected_duration_s": plan.duration_s, **more},
        )

    def _pieces(self, made: Assembled) -> tuple[PieceFile, ...]:
        planned = self.staged.plan.pieces
        return tuple(
            PieceFile(url=strike(piece.url, self.secret_names), size_bytes=size, sha256=sha256)
            for piece, (size, sha256) in zip(planned, made.pieces, strict=True)
        )

    def _holes(self, standing: Standing) -> Failure:
        plan, dead = self.staged.plan, standing.dead
        gaps = sorted({number for track in plan.tracks for number in track.gaps})
        told = [_of_dead(dead, len(plan.pieces))] if dead else []
        if gaps:
            told.append(f"the source itself lacks segments {listed(gaps)} (EXT-X-GAP)")
        failures = [dead[piece] for piece in sorted(dead)]
        if any(map(self._has_expired, failures)):
            told.append("addresses may have expired: the next run reads the manifest again")
        return Failure(
            reason="incomplete",
            message="; ".join([*told, "what was got is kept, a requeue fetches only what is not"]),
            passing=not gaps and all(one.passing or self._has_expired(one) for one in failures),
            http_status=next((f.http_status for f in failures if f.http_status), None),
            attempts=max((failure.attempts for failure in failures), default=0),
            crashes=max((failure.crashes for failure in failures), default=0),
            first_failure=min(_known(f.first_failure for f in failures), default=None),
            last_failure=max(_known(f.last_failure for f in failures), default=None),
        )

    def _has_expired(self, failure: Failure) -> bool:
        """Whether the address may only have been too old; not where no fresh one was to be had."""
        read_at, asked_at = self.staged.read_at, failure.last_failure
        if failure.http_status not in _EXPIRED or read_at is None or asked_at is None:
            return False
        return asked_at - read_at > _FRESH_S


def _of_dead(dead: dict[int, Failure], pieces: int) -> str:
    missing = sorted(dead)
    first = dead[missing[0]]
    told = f"{pieces_in_words(missing)} of {pieces:,}"
    return f"{told} can't be had ({first.reason}: {first.message})"


def _known(times: Iterable[float | None]) -> list[float]:
    return [time for time in times if time is not None]
