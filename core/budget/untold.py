"""Refusals that the storage could not be told of while it was away: what a source said counts all
the same. Asks nobody."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from core.clock import Clock


@dataclass(frozen=True, slots=True)
class Missed:
    """What the storage has yet to be told of a bucket."""

    era: int
    seconds: float | None  # what is left of the time that the source named; below 0: it is past


class Untold:
    """By bucket what reaches furthest of it. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[int, float | None]] = {}  # era, and when its time ends

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, name: str, era: int, seconds: float | None) -> None:
        """The storage could not be told."""
        ends = None if seconds is None else self._clock.monotonic() + seconds
        with self._lock:
            kept_era, kept_ends = self._kept.get(name, (0, None))
            known = [end for end in (ends, kept_ends) if end is not None]
            self._kept[name] = max(era, kept_era), max(known, default=None)

    def names(self) -> list[str]:
        """The buckets that something is to be told of."""
        with self._lock:
            return list(self._kept)

    def pop(self, name: str) -> Missed | None:
        """What is to be told now, if anything. Whoever asks tells it, or keeps it once more."""
        if not self._kept:
            return None
        with self._lock:
            era, ends = self._kept.pop(name, (-1, None))
        if era < 0:
            return None
        return Missed(era, None if ends is None else ends - self._clock.monotonic())
