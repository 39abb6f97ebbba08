"""What this process has heard of slowdowns: told to the storage with each claim, so that a flush
lets no source off. Asks nobody."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import NamedTuple

from core.budget.answer import SECOND_US, Slowed
from core.budget.bucket import KEPT_SLOWED_US
from core.clock import Clock

# No longer than a storage keeps them after the last claim and the end of their block: what was
# forgotten for good there must not be told again.
_KEPT_S = KEPT_SLOWED_US / SECOND_US
_HEARD_ANEW_S = 60.0


class _Kept(NamedTuple):
    slowed: Slowed | None
    heard_at: float  # monotonic, both
    ends_at: float  # its block

    @property
    def counts_until(self) -> float:
        return self.ends_at + _KEPT_S

    def told(self, now: float) -> Slowed | None:
        """As it is told to the storage, while it counts."""
        if self.slowed is None or now >= self.counts_until:
            return None
        rest_us = math.ceil(max(0.0, self.ends_at - now) * SECOND_US)
        return replace(self.slowed, rest_us=rest_us)


_NOTHING = _Kept(None, -math.inf, -math.inf)


class Heard:
    """By bucket the latest slowdown, while there is something of it to put back. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, name: str) -> Slowed | None:
        """What was heard of it, if that still counts."""
        return self._kept.get(name, _NOTHING).told(self._clock.monotonic())

    def known(self) -> dict[str, Slowed]:
        """The same of every name."""
        now = self._clock.monotonic()
        return {n: told for n, k in self._kept.items() if (told := k.told(now))}

    def learn(self, name: str, slowed: Slowed, *, rest_us: int) -> None:
        """Keep it, or forget the name once its bucket is open (nothing is left of its block) and
        climbed back."""
        now = self._clock.monotonic()
        kept = self._kept.get(name, _NOTHING)
        is_nothing = slowed.is_over and rest_us <= 0
        if kept.slowed is None and is_nothing:
            return
        if kept.slowed == slowed and now - kept.heard_at < _HEARD_ANEW_S and not is_nothing:
            return
        with self._lock:
            self._put(name, slowed, now, rest_us)

    def _put(self, name: str, slowed: Slowed, now: float, rest_us: int) -> None:
        kept = self._kept.get(name, _NOTHING)
        if kept.slowed is not None and kept.slowed.era > slowed.era:
            return  # a thread that was overtaken on the way
        others = {n: k for n, k in self._kept.items() if n != name and now < k.counts_until}
        if not slowed.is_over or rest_us > 0:
            others[name] = _Kept(slowed, now, now + max(0, rest_us) / SECOND_US)
        self._kept = others  # whole and new: it is read without the lock
