"""What this process has heard of slowdowns: told to the storage with each claim, so that a flush
lets no source off. Asks nobody."""

from __future__ import annotations

import math
import threading

from core.budget.answer import SECOND_US, Slowed
from core.budget.bucket import KEPT_SLOWED_US
from core.clock import Clock

# No longer than a storage keeps them after the last claim: what was forgotten for good there must
# not be told again.
_KEPT_S = KEPT_SLOWED_US / SECOND_US
_HEARD_ANEW_S = 60.0
_NOTHING: tuple[Slowed | None, float] = (None, -math.inf)


class Heard:
    """By bucket the latest slowdown, while there is something of it to put back. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Slowed | None, float]] = {}  # and when it was heard, monotonic

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, name: str) -> Slowed | None:
        """What was heard of it, if that still counts."""
        kept, heard_at = self._kept.get(name, _NOTHING)
        return kept if self._clock.monotonic() - heard_at < _KEPT_S else None

    def learn(self, name: str, slowed: Slowed, *, blocked: bool) -> None:
        """Keep it, or forget the name once its bucket is open and climbed back."""
        now = self._clock.monotonic()
        kept, heard_at = self._kept.get(name, _NOTHING)
        if kept == slowed and now - heard_at < _HEARD_ANEW_S:
            return
        if kept is None and slowed.is_over and not blocked:
            return
        with self._lock:
            self._put(name, slowed, now, blocked=blocked)

    def _put(self, name: str, slowed: Slowed, now: float, *, blocked: bool) -> None:
        kept, _ = self._kept.get(name, _NOTHING)
        if kept is not None and kept.era > slowed.era:
            return  # a thread that was overtaken on the way
        others = {n: k for n, k in self._kept.items() if n != name and now - k[1] < _KEPT_S}
        mine = {} if slowed.is_over and not blocked else {name: (slowed, now)}
        self._kept = others | mine  # whole and new: it is read without the lock
