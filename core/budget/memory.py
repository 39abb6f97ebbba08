"""Buckets of one process: a dict and a lock (the library's own memory storage starts timer
threads)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NoReturn

from limits.storage import Storage

from core.budget import slowing
from core.budget.answer import SECOND_US, Answer, Claim, Level, Slowed, Verdict
from core.budget.bucket import Bucket
from core.budget.report import Event, Fault, Refusal
from core.budget.usage import Figures
from core.clock import Clock
from core.ports import BucketKey, Standing

_SWEPT_FROM = 1024  # buckets: below it nobody minds those that are idle


class MemoryBucketStorage(Storage):
    """Buckets in memory, on the monotonic clock: unlike that of Redis it is never set back."""

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
            waits_us = [b.wait_us(claim.cost, len(b.tickets)) for b in buckets]
            wait_us = max(waits_us)
            if wait_us == 0:
                return _grant(buckets, claim)
            if wait_us > claim.horizon_us:
                return _told_to_wait(Verdict.DENIED, buckets, waits_us)
            for bucket in buckets:
                bucket.tickets[claim.ticket] = now + wait_us
            return _answer(Verdict.RESERVED, buckets, wait_us)

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
                return _answer(Verdict.RESERVED, buckets, early_us)
            if all(b.wait_us(1, 0) == 0 for b in buckets):
                return _grant(buckets, claim)
            wait_us = max(b.wait_us(1, b.ahead_of(claim.ticket)) for b in buckets)
            for bucket in buckets:
                bucket.put_off(claim.ticket, now + wait_us)
            return _answer(Verdict.RESERVED, buckets, wait_us)

    def throttled(self, name: str, refusal: Refusal) -> Event:
        """A source said «slower»."""
        with self._lock:
            now = self._now()
            return slowing.throttled(self._bucket(name, now), now, refusal)

    def failed(self, name: str, fault: Fault) -> Event | None:
        """A request had no good answer; None while that is not enough for a slowdown."""
        with self._lock:
            now = self._now()
            return slowing.failed(self._bucket(name, now), now, fault)

    def answered(self, names: Sequence[str]) -> None:
        """Good answers: what failed before is forgotten."""
        with self._lock:
            now = self._now()
            for bucket in filter(None, map(self._buckets.get, names)):
                bucket.pace.answered(now)

    def used(self, name: str, figures: Figures) -> None:
        """Requests are over. Those of a bucket that nobody knows are not counted."""
        with self._lock:
            if (bucket := self._buckets.get(name)) and bucket.rate:
                bucket.usage.add(self._now(), figures)

    def standing(self, name: str, heard: Slowed | None) -> Standing | None:
        """How a bucket stands; charges nothing."""
        with self._lock:
            now = self._now()
            if heard:
                self._bucket(name, now).recall(heard, now)
            bucket = self._buckets.get(name)
            if bucket is None or not (bucket.rate or bucket.pace.era):
                return None
            return _standing(bucket, now)

    def hosts(self) -> list[str]:
        """The buckets of hosts, whatever their source."""
        with self._lock:
            return [name for name in self._buckets if "/" in name]

    def retell(self, heard: Mapping[str, Slowed]) -> list[Event]:
        """A process says once more what it knows of slowdowns: how each bucket stands."""
        with self._lock:
            now = self._now()
            return [slowing.retold(self._bucket(n, now), now, one) for n, one in heard.items()]

    def unblock(self, name: str, age_us: int, heard: Slowed | None) -> Event:
        """A person ends a block that began more than `age_us` ago: how the bucket stands."""
        with self._lock:
            now = self._now()
            return slowing.unblocked(self._bucket(name, now), now, age_us, heard)

    def level(self, bucket: BucketKey) -> Level:
        """What the bucket holds now; charges nothing."""
        with self._lock:
            now = self._now()
            held = self._bucket(bucket.name, now)
            held.advance(now, bucket, None)
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

    def close(self) -> None:
        """There is nothing to end."""

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
        buckets = [self._bucket(b.name, now) for b in claim.buckets]
        for bucket, terms, heard in zip(buckets, claim.buckets, claim.heard, strict=True):
            bucket.advance(now, terms, heard)
        return now, buckets

    def _bucket(self, name: str, now: int) -> Bucket:
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = Bucket(now)
        return bucket

    def _sweep(self, now: int) -> None:
        """Drop the idle ones; the next time when there are twice as many, so that it costs little
        each."""
        self._buckets = {n: b for n, b in self._buckets.items() if b.expires_at() > now}
        self._sweep_at = max(_SWEPT_FROM, 2 * len(self._buckets))


def _blocked(now: int, buckets: Sequence[Bucket]) -> Answer | None:
    rests_us = [b.blocked_until - now for b in buckets]
    return _told_to_wait(Verdict.BLOCKED, buckets, rests_us) if max(rests_us) > 0 else None


def _told_to_wait(verdict: Verdict, buckets: Sequence[Bucket], waits_us: Sequence[int]) -> Answer:
    """Of two that wait as long the first is named: more requests depend on it."""
    wait_us = max(waits_us)
    return _answer(verdict, buckets, wait_us, waits_us.index(wait_us))


def _grant(buckets: Sequence[Bucket], claim: Claim) -> Answer:
    for bucket in buckets:
        bucket.charge(claim.cost, claim.ticket)
    return _answer(Verdict.GRANTED, buckets)


def _void(buckets: Sequence[Bucket], claim: Claim) -> Answer:
    for bucket in buckets:
        bucket.tickets.pop(claim.ticket, None)
    return _answer(Verdict.VOID, buckets)


def _answer(
    verdict: Verdict, buckets: Sequence[Bucket], wait_us: int = 0, slowest: int = 0
) -> Answer:
    """An answer that tells of slowdowns, where there were any."""
    for bucket in buckets:
        if bucket.pace.era or bucket.pace.failing:
            troubled = any(b.pace.outage or b.pace.failing for b in buckets)
            return Answer(verdict, wait_us, slowest, [b.slowed() for b in buckets], troubled)
    return Answer(verdict, wait_us, slowest)


def _standing(bucket: Bucket, now: int) -> Standing:
    usage, pace = bucket.usage, bucket.pace
    figures = usage.faded(now)
    return Standing(
        rate=bucket.rate,
        burst=bucket.burst,
        pace=pace.value,
        blocked_s=max(0, bucket.blocked_until - now) / SECOND_US,
        slowdowns=pace.slowdowns,
        requests_per_s=figures.per_second(now - usage.since),
        waited_s=figures.mean(figures.waited_s),
        asked_s=figures.mean(figures.asked_s),
    )
