"""One source's traffic against its bucket: what was granted, what arrived, how much of what was
possible was used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.bench.budget_proofs.host import Host
from scripts.bench.budget_proofs.host_server import Arrival
from scripts.bench.budget_proofs.recording import grants
from scripts.bench.budget_proofs.windows import MICRO, NANO, rate_of, tightest, within

TOLERANCE = 2e-6  # tokens: what the bucket's arithmetic in doubles may lend, and nobody can spend


@dataclass(frozen=True, slots=True)
class Terms:
    """A source's bucket."""

    rate: float
    burst: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a source saw and was granted."""

    grants_us: Sequence[int]
    arrivals: Sequence[Arrival]

    def spread_s(self) -> float:
        """J: between the quickest and the slowest way from a grant to its arrival."""
        ways = [a.wall_ns - a.granted_us * 1000 for a in self.arrivals if a.granted_us]
        return (max(ways) - min(ways)) / NANO if ways else 0.0

    def unpaid(self) -> int:
        """Requests without a grant of their own."""
        paid = Counter(arrival.granted_us for arrival in self.arrivals)
        granted = Counter(self.grants_us)
        return sum(max(0, count - granted[at]) for at, count in paid.items())


@dataclass(frozen=True, slots=True)
class Judged:
    """How that stands to the bound."""

    grants: int
    grants_over: float  # beyond b + r·t in the worst window; below zero: within
    arrivals_over: float  # beyond b + r·(t + J)
    spread_s: float
    unpaid: int

    @property
    def held(self) -> bool:
        over = max(self.grants_over, self.arrivals_over)
        return self.grants > 0 and over <= TOLERANCE and not self.unpaid

    def __str__(self) -> str:
        unpaid = f", {self.unpaid} UNPAID" if self.unpaid else ""
        return (
            f"{self.grants} grants, at most b + r·t {self.grants_over:+.2f}; arrivals "
            f"b + r·(t+J) {self.arrivals_over:+.2f}, J {self.spread_s * 1000:.0f} ms{unpaid}"
        )


def seen(host: Host, folder: Path, source: str) -> Traffic:
    """A source's traffic so far. Its arrivals first: each has its grant by then."""
    arrivals = host.log(source)
    return Traffic(grants(folder, source), arrivals)


def judge(traffic: Traffic, terms: Terms) -> Judged:
    """Hold grants and arrivals to the bucket's bound, in every window of any length."""
    spread_s = traffic.spread_s()
    granted = tightest(traffic.grants_us, rate=terms.rate, burst=terms.burst, ticks_per_s=MICRO)
    arrived = tightest(
        sorted(arrival.at_ns for arrival in traffic.arrivals),
        rate=terms.rate,
        burst=terms.burst,
        ticks_per_s=NANO,
        slack_s=spread_s,
    )
    return Judged(
        len(traffic.grants_us), float(granted.over), float(arrived.over), spread_s, traffic.unpaid()
    )


def used(
    grants_us: Sequence[int], begin_us: int, end_us: int, possible: float, rounds: int
) -> float:
    """The share of `possible` grants a second that were made between two moments; slots that wait
    for the same latency ask in `rounds`."""
    between = within(grants_us, begin_us, end_us)
    return rate_of(between, ticks_per_s=MICRO, rounds=rounds) / possible
