"""How far the videos are that come in pieces, by the plans and pieces that the store has staged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.clock import Clock
from core.model.addresses import strike
from core.model.task import FragmentPayload, VerifyPayload
from core.steps.run import Run
from core.store.store import Store

_LOOK_S = 1.0  # between looks at the folders of videos, which may have many thousand names


@dataclass(frozen=True, slots=True)
class VideoMeter:
    """One video under way."""

    url: str  # of its manifest, struck out
    done: int  # pieces that are there
    pieces: int  # in its plan
    layout: int = 1  # of its plan: pieces of an older one do not count


def videos_under_way(store: Store) -> Iterator[VideoMeter]:
    """Every video that has a plan and no end yet, one at a time."""
    for media in store.staging.media():
        meter = _begun(store, media)
        if meter is not None:
            yield _counted(store, media, meter)


class RunningVideos:
    """The videos that this process works on. Of a plan, which may be large, nothing is kept."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._meters: dict[str, VideoMeter] = {}
        self._looked_at = float("-inf")

    def read(self, running: Sequence[Run]) -> tuple[VideoMeter, ...]:
        """Those that `running` are for, in the order in which they began. One stays until it ends,
        also between two of its pieces."""
        now = self._clock.monotonic()
        if now - self._looked_at >= _LOOK_S:
            self._looked_at = now
            self._look(dict.fromkeys(filter(None, map(_video_of, running))))
        return tuple(self._meters.values())

    def _look(self, running: dict[str, None]) -> None:
        for media in {**self._meters, **running}:
            meter = self._meters.get(media) or _begun(self._store, media)
            if meter is None or _has_ended(self._store, media):
                self._meters.pop(media, None)
            else:
                self._meters[media] = _counted(self._store, media, meter)


def _begun(store: Store, media: str) -> VideoMeter | None:
    """The meter of a video before its first piece; None for what is no video, or has ended."""
    staged = store.videos.plan(media)
    if staged is None or _has_ended(store, media):
        return None
    return VideoMeter(strike(staged.payload.url), 0, len(staged.plan.pieces), staged.layout)


def _counted(store: Store, media: str, meter: VideoMeter) -> VideoMeter:
    # Of generation 0 nothing is dead: only what is there counts.
    standing = store.videos.standing(media, meter.pieces, generation=0, layout=meter.layout)
    return replace(meter, done=len(standing.present))


def _has_ended(store: Store, media: str) -> bool:
    return store.media.ended(media, store.media.generation(media)) is not None


def _video_of(run: Run) -> str | None:
    payload = run.task.payload
    return payload.media if isinstance(payload, FragmentPayload | VerifyPayload) else None
