"""How near a list of moments comes to what a token bucket allows, over every window of any length.

Exact and in one pass: sums of whole ticks, no rounding."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MICRO, NANO = 1_000_000, 1_000_000_000  # ticks a second


@dataclass(frozen=True, slots=True)
class Tightest:
    """The window that comes nearest to the bound, or passes it."""

    over: Fraction  # events in it beyond burst + rate * length; negative: so many more were allowed
    count: int
    seconds: float


def tightest(
    ticks: Sequence[int], *, rate: float, burst: float, ticks_per_s: int, slack_s: float = 0.0
) -> Tightest:
    """The window with the most events beyond `burst + rate * (its length + slack_s)`. `ticks` in
    order.

    From event i to event j there are `j - i + 1`; with `s(k) = k - rate * t(k)` that is
    `s(j) - s(i) + 1` beyond what the time allows. So the worst window that ends at j begins where s
    was least."""
    if not ticks:
        return Tightest(Fraction(-1) * Fraction(burst), 0, 0.0)
    per_tick = Fraction(rate) / ticks_per_s
    up, down = per_tick.denominator, per_tick.numerator  # whole numbers: s(k) * up
    least, begin = -down * ticks[0], 0
    worst, window = 0, (0, 0)
    for index, tick in enumerate(ticks):
        standing = index * up - down * tick
        if standing < least:
            least, begin = standing, index
        if standing - least > worst:
            worst, window = standing - least, (begin, index)
    begin, end = window
    allowed = Fraction(burst) + Fraction(rate) * Fraction(slack_s)
    seconds = (ticks[end] - ticks[begin]) / ticks_per_s
    return Tightest(Fraction(worst, up) + 1 - allowed, end - begin + 1, seconds)


def rate_of(ticks: Sequence[int], *, ticks_per_s: int, rounds: int = 1) -> float:
    """Events a second from one of the first to one of the last: no rounding to whole events at the
    ends of a window that somebody chose. Where so many come together in `rounds`, only whole rounds
    are taken."""
    events = len(ticks) - 1
    if events >= 2 * rounds:
        events -= events % rounds
    if events < 1 or ticks[events] == ticks[0]:
        return 0.0
    return events * ticks_per_s / (ticks[events] - ticks[0])


def within(ticks: Sequence[int], begin: int, end: int) -> Sequence[int]:
    """Those from `begin` to `end`, both included."""
    return ticks[bisect_left(ticks, begin) : bisect_right(ticks, end)]
