"""Time that is given, not waited for."""

from __future__ import annotations

import threading


class FakeClock:
    """Starts where told and moves only when told; a sleep moves it at once."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self._now = start
        self._lock = threading.Lock()
        self.slept: list[float] = []

    def now(self) -> float:
        with self._lock:
            return self._now

    monotonic = now

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds

    def sleep(self, seconds: float, wake: threading.Event | None = None) -> bool:
        if wake is not None and wake.is_set():
            return True
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))
        return False
