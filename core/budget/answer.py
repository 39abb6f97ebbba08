"""What a bucket storage is asked and what it answers. All times in whole microseconds: sums of them
are exact, so a waiter that wakes when told is never a rounding error early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.ports import BucketKey

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Claim:
    """One request's tokens: `cost` of each bucket, all together or none."""

    buckets: Sequence[BucketKey]
    ticket: str  # names the reservation, should there be one
    known: Sequence[int]  # by bucket: the end of the latest block known, on the storage's clock
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
    blocked_until: Sequence[int] = ()  # by bucket, on the storage's clock; with `BLOCKED` only


@dataclass(frozen=True, slots=True)
class Block:
    """Until when a bucket grants nothing."""

    until_us: int  # on the storage's clock; in the past when it is open
    rest_us: int  # from now


@dataclass(frozen=True, slots=True)
class Level:
    """What a bucket holds."""

    free: float  # tokens that nobody has reserved; below zero when more are promised than held
    full_in_us: int
