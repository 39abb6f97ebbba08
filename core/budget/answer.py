"""What a bucket storage is asked and what it answers. All times in whole microseconds: sums of them
are exact, so a waiter that wakes when told is never a rounding error early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from core.ports import BucketKey

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Slowed:
    """How a bucket stands that was slowed down. Processes keep it in mind and say it with each
    claim, since a flushed storage would start again at the full rate."""

    era: int  # when it was slowed down last, on the storage's clock; 0: never
    until_us: int  # the end of its block, on the storage's clock; in the past when it is open
    pace: float  # share of its rate that is granted
    row: int  # slowdowns without a clean window between them
    outage: bool  # nothing was answered since
    opened: int = 0  # the era in which a person ended its block: none of an earlier one counts
    # What is left of its block on the clock of the process that says so: the storage's may have
    # been set back, and nobody shall wait the longer for it. None: that clock is the storage's.
    rest_us: int | None = field(default=None, compare=False)

    @property
    def is_over(self) -> bool:
        """It climbed back to its full rate."""
        return self.pace == 1.0 and self.row == 0


@dataclass(frozen=True, slots=True)
class Claim:
    """One request's tokens: `cost` of each bucket, all together or none."""

    buckets: Sequence[BucketKey]
    ticket: str  # names the reservation, should there be one
    heard: Sequence[Slowed | None]  # by bucket: what the process last heard of its slowdowns
    horizon_us: int = 0  # how far ahead a token may be reserved
    cost: int = 1


class Verdict(StrEnum):
    """The storage's word."""

    GRANTED = "granted"
    RESERVED = "reserved"
    DENIED = "denied"
    BLOCKED = "blocked"
    VOID = "void"  # the ticket stands no longer: spent, expired, blocked or flushed


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict, and how long until it may be another one."""

    verdict: Verdict
    wait_us: int = 0
    slowest: int = 0  # which of the claim's buckets keeps the others waiting
    slowed: Sequence[Slowed] = ()  # by bucket; empty while there is nothing to tell of any
    troubled: bool = False  # failures are being counted


@dataclass(frozen=True, slots=True)
class Level:
    """What a bucket holds."""

    free: float  # tokens that nobody has reserved; below zero when more are promised than held
    full_in_us: int
