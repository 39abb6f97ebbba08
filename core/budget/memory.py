"""Buckets of one process: a dict and a lock (the library's own memory storage starts timer
threads)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NoReturn

from limits.storage import Storage

from core.budget.answer import SECOND_US, Answer, Block, Claim, Level, Verdict
from core.budget.bucket import Bucket
from core.clock import Clock
from core.ports import BucketKey

_SWEPT_FROM = 1024  # buckets: below it nobody minds those that are idle


class MemoryBucketStorage(Storage):
    """Buckets in memory, on the monotonic clock."""

    STORAGE_SCHEME = ["headrace+memory"]  # noqa: RUF012 - the library reads it from the class

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, Bucket] = {}
        self._sweep_at = _SWEPT_FROM

    def take(self, claim: Claim) -> Answer:
        """Grant, reserve or deny."""
        with self._lock:
            now, buckets = self._open(claim)
            if blocked := _blocked(now, buckets):
                return blocked
            wait_us = max(b.wait_us(claim.cost, len(b.tickets)) for b in buckets)
            if wait_us == 0:
                return _grant(buckets, claim)
            if wait_us > claim.horizon_us:
                return Answer(Verdict.DENIED, wait_us)
            for bucket in buckets:
                bucket.tickets[claim.ticket] = now + wait_us
            return Answer(Verdict.RESERVED, wait_us)

    def confirm(self, claim: Claim) -> Answer:
        """Turn the claim's ticket into a grant, once."""
        with self._lock:
            now, buckets = self._open(claim)
            if blocked := _blocked(now, buckets):
                return blocked
            if any(claim.ticket not in b.tickets for b in buckets):
                return _void(buckets, claim)
            early_us = max(b.tickets[claim.ticket] for b in buckets) - now
            if early_us > 0:
                return Answer(Verdict.RESERVED, early_us)
            if all(b.wait_us(1, 0) == 0 for b in buckets):
                return _grant(buckets, claim)
            wait_us = max(b.wait_us(1, b.ahead_of(claim.ticket)) for b in buckets)
            for bucket in buckets:
                bucket.put_off(claim.ticket, now + wait_us)
            return Answer(Verdict.RESERVED, wait_us)

    def block(self, name: str, duration_us: int) -> Block:
        """Close a bucket for so long and void its tickets; a longer block stands. 0 only asks."""
        with self._lock:
            now = self._now()
            bucket = self._buckets.get(name)
            if duration_us > 0:
                bucket = self._buckets.setdefault(name, Bucket(now))
                bucket.close_until(now + duration_us)
            until = bucket.blocked_until if bucket else 0
            return Block(until, max(0, until - now))

    def level(self, bucket: BucketKey) -> Level:
        """What the bucket holds now; charges nothing."""
        with self._lock:
            now = self._now()
            held = self._buckets.setdefault(bucket.name, Bucket(now))
            held.advance(now, bucket, 0)
            if held.blocked_until > now:
                return Level(0.0, held.full_in_us())
            return Level(held.tokens - len(held.tickets), held.full_in_us())

    def clear(self, key: str) -> None:
        """Forget a bucket: it starts empty."""
        with self._lock:
            self._buckets.pop(key, None)

    def reset(self) -> int:
        """Forget every bucket; how many there were."""
        with self._lock:
            count = len(self._buckets)
            self._buckets.clear()
            return count

    def check(self) -> bool:
        """Memory does not go away."""
        return True

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """None of its own."""
        return ()

    def incr(self, key: str, expiry: int, amount: int = 1) -> NoReturn:
        """Refused: windows are counted elsewhere."""
        raise NotImplementedError(f"{key}: a bucket storage counts no windows")

    def get(self, key: str) -> NoReturn:
        """Refused, as `incr`."""
        raise NotImplementedError(f"{key}: a bucket storage counts no windows")

    def get_expiry(self, key: str) -> NoReturn:
        """Refused, as `incr`."""
        raise NotImplementedError(f"{key}: a bucket storage counts no windows")

    def _now(self) -> int:
        return round(self._clock.monotonic() * SECOND_US)

    def _open(self, claim: Claim) -> tuple[int, list[Bucket]]:
        now = self._now()
        if len(self._buckets) >= self._sweep_at:
            self._sweep(now)
        buckets = [self._buckets.setdefault(b.name, Bucket(now)) for b in claim.buckets]
        for bucket, terms, known in zip(buckets, claim.buckets, claim.known, strict=True):
            bucket.advance(now, terms, known)
        return now, buckets

    def _sweep(self, now: int) -> None:
        """Drop the idle ones; the next time when there are twice as many, so that it costs little
        each."""
        self._buckets = {n: b for n, b in self._buckets.items() if b.expires_at() > now}
        self._sweep_at = max(_SWEPT_FROM, 2 * len(self._buckets))


def _blocked(now: int, buckets: Sequence[Bucket]) -> Answer | None:
    wait_us = max(b.blocked_until for b in buckets) - now
    if wait_us <= 0:
        return None
    return Answer(Verdict.BLOCKED, wait_us, tuple(b.blocked_until for b in buckets))


def _grant(buckets: Sequence[Bucket], claim: Claim) -> Answer:
    for bucket in buckets:
        bucket.tokens -= claim.cost
        bucket.tickets.pop(claim.ticket, None)
    return Answer(Verdict.GRANTED)


def _void(buckets: Sequence[Bucket], claim: Claim) -> Answer:
    for bucket in buckets:
        bucket.tickets.pop(claim.ticket, None)
    return Answer(Verdict.VOID)
