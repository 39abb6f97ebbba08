"""Adds up what requests waited and took, so that the storage hears of them now and then only."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from core.budget.usage import Figures
from core.clock import Clock

TOLD_EVERY_S = 1.0
_SWEPT_FROM = 1024  # buckets


@dataclass(slots=True)
class _Sum:
    told_at: float  # monotonic
    count: int = 0
    waited_s: float = 0.0
    asked_s: float = 0.0


class Tally:
    """By bucket. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sums: dict[str, _Sum] = {}

    def add(self, name: str, *, waited_s: float, asked_s: float) -> Figures | None:
        """One more request; what is to be told now, if it is time."""
        now = self._clock.monotonic()
        with self._lock:
            due = self._sum(name, now)
            due.count += 1
            due.waited_s += waited_s
            due.asked_s += asked_s
            if now - due.told_at < TOLD_EVERY_S:
                return None
            self._sums[name] = _Sum(told_at=now)
            return Figures(due.count, due.waited_s, due.asked_s)

    def _sum(self, name: str, now: float) -> _Sum:
        if name not in self._sums:
            if len(self._sums) >= _SWEPT_FROM:
                self._sums = {n: s for n, s in self._sums.items() if now - s.told_at < TOLD_EVERY_S}
            self._sums[name] = _Sum(told_at=now - TOLD_EVERY_S)
        return self._sums[name]
