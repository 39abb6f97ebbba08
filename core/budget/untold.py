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
        # Era, when its time ends, and when it was kept last.
        self._kept: dict[str, tuple[int, float | None, float]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, name: str, era: int, seconds: float | None) -> None:
        """The storage could not be told."""
        now = self._clock.monotonic()
        ends = None if seconds is None else now + seconds
        with self._lock:
            kept_era, kept_ends, _ = self._kept.get(name, (0, None, now))
            known = [end for end in (ends, kept_ends) if end is not None]
            self._kept[name] = max(era, kept_era), max(known, default=None), now

    def void(self, name: str, age_s: float) -> None:
        """What was said of it more than `age_s` ago holds no longer: that it was said stays."""
        now = self._clock.monotonic()
        with self._lock:
            kept = self._kept.get(name)
            if kept is not None and kept[2] < now - age_s:
                self._kept[name] = kept[0], now, kept[2]

    def names(self) -> list[str]:
        """The buckets that something is to be told of."""
        with self._lock:
            return list(self._kept)

    def pop(self, name: str) -> Missed | None:
        """What is to be told now, if anything. Whoever asks tells it, or keeps it once more."""
        if not self._kept:
            return None
        with self._lock:
            era, ends, _ = self._kept.pop(name, (-1, None, 0.0))
        if era < 0:
            return None
        return Missed(era, None if ends is None else ends - self._clock.monotonic())
