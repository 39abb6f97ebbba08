"""What a bucket's requests waited and took of late: sums that fade with time, so that they need no
list of requests, and the means that they come to. used.lua and standing.lua fade them in Redis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.budget.answer import SECOND_US

HALF_LIFE_US = 10 * SECOND_US
_SHORTEST_S = 4.0  # a lone request is not a hundred a second
_FORGOTTEN = 0.05  # requests: when less is left of all that there were, nothing goes out


@dataclass(frozen=True, slots=True)
class Figures:
    """Of requests that are over: sums. All fade alike, so the means do not fade."""

    count: float
    waited_s: float
    asked_s: float

    @property
    def is_nothing(self) -> bool:
        """None went out of late."""
        return self.count < _FORGOTTEN

    def mean(self, sum_s: float) -> float:
        """What one request's share of a sum is; 0.0 when none went out of late."""
        return 0.0 if self.is_nothing else sum_s / self.count

    def per_second(self, age_us: int) -> float:
        """What rate adds up to so many, faded, after so long."""
        share = 1 - math.pow(0.5, age_us / HALF_LIFE_US)
        weight_s = HALF_LIFE_US / SECOND_US / math.log(2) * share
        return 0.0 if self.is_nothing else self.count / max(_SHORTEST_S, weight_s)


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
        self.since = now if old.is_nothing else self.since  # after a rest it is counted anew
        self.at = now
        self.count = old.count + new.count
        self.waited_s = old.waited_s + new.waited_s
        self.asked_s = old.asked_s + new.asked_s

    def faded(self, now: int) -> Figures:
        """What is left of them."""
        share = math.pow(0.5, max(0, now - self.at) / HALF_LIFE_US)
        return Figures(self.count * share, self.waited_s * share, self.asked_s * share)
