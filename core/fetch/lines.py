"""Where tasks stand whose host keeps them waiting: one behind the other, so that they come back as
the host's tokens fall due, and not all at once each time."""

from __future__ import annotations

import threading

from core.clock import Clock
from core.ports import BucketKey

LONGEST_S = 3600.0  # the line's end may be further away, but who knows what is then
_MAX_LINES = 1024  # before those are forgotten that nobody waits in


class Lines:
    """One a process, shared by its threads. Only who waits how long: what is granted is the
    budget's affair alone."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: dict[str, float] = {}  # by bucket: when its last in line is due, monotonic
        self._lock = threading.Lock()

    def delay_s(self, bucket: BucketKey, wait_s: float) -> float:
        """How long the next one waits, where the bucket has no token for `wait_s`."""
        with self._lock:
            now = self._clock.monotonic()
            if len(self._ends) >= _MAX_LINES:
                self._ends = {name: end for name, end in self._ends.items() if end > now}
            behind = self._ends.get(bucket.name, 0.0) + 1 / bucket.rate
            due = max(now + wait_s, min(behind, now + LONGEST_S))
            self._ends[bucket.name] = due
            return due - now
