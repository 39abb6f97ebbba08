"""What a bucket's requests waited and took of late: sums that fade with time, so that they need no
list of requests. used.lua and standing.lua fade them in Redis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.budget.answer import SECOND_US

HALF_LIFE_US = 30 * SECOND_US
_SHORTEST_S = 1.0  # a first request is not a hundred a second


@dataclass(frozen=True, slots=True)
class Figures:
    """Of requests that are over."""

    count: float
    waited_s: float
    asked_s: float


@dataclass(slots=True)
class Usage:
    """Figures as they were at a time."""

    since: int = 0
    at: int = 0
    count: float = 0.0
    waited_s: float = 0.0
    asked_s: float = 0.0

    def add(self, now: int, new: Figures) -> None:
        """Fade what there is, then count these."""
        old = self.faded(now)
        self.since = self.since or now
        self.at = now
        self.count = old.count + new.count
        self.waited_s = old.waited_s + new.waited_s
        self.asked_s = old.asked_s + new.asked_s

    def faded(self, now: int) -> Figures:
        """What is left of them."""
        share = math.pow(0.5, max(0, now - self.at) / HALF_LIFE_US)
        return Figures(self.count * share, self.waited_s * share, self.asked_s * share)


def per_second(count: float, age_us: int) -> float:
    """What rate adds up to `count`, faded, after so long."""
    weight_s = HALF_LIFE_US / SECOND_US / math.log(2) * (1 - math.pow(0.5, age_us / HALF_LIFE_US))
    return count / max(_SHORTEST_S, weight_s)
