"""What a report does to a bucket in memory: throttled.lua and failed.lua say the same. One event is
one slowdown, however many requests were under way: only what was granted since the last one
counts."""

from __future__ import annotations

from core.budget.answer import Slowed
from core.budget.bucket import Bucket
from core.budget.pace import FAULTS_US, NAMED_US, UNNAMED_US
from core.budget.report import Event, Fault, Refusal


def throttled(bucket: Bucket, now: int, refusal: Refusal) -> Event:
    """The source said «slower»."""
    if refusal.heard:
        bucket.recall(refusal.heard, now)
    named_us = refusal.named_us or 0
    if refusal.era < bucket.pace.era:
        if refusal.era < bucket.pace.opened:
            named_us = 0  # it is of what a person ended meanwhile
        if bucket.close_until(now + named_us):
            bucket.pace.begin_window(bucket.blocked_until)
        return _event(bucket, now, is_news=False)
    first_us = UNNAMED_US if refusal.named_us is None else NAMED_US
    rest_us = max(named_us, bucket.pace.backoff_us(first_us, refusal.jitter))
    bucket.slow_down(now, now + rest_us, outage=False)
    return _event(bucket, now, is_news=True)


def failed(bucket: Bucket, now: int, fault: Fault) -> Event | None:
    """A request had no good answer: None while that is not enough for a slowdown."""
    if fault.heard:
        bucket.recall(fault.heard, now)
    pace = bucket.pace
    if fault.era < pace.era:
        return _event(bucket, now, is_news=False) if bucket.blocked_until > now else None
    if not pace.outage and pace.fails(fault.task, now) < fault.enough:
        return None
    rest_us = pace.backoff_us(FAULTS_US, fault.jitter)
    bucket.slow_down(now, now + rest_us, outage=True)
    return _event(bucket, now, is_news=True)


def unblocked(bucket: Bucket, now: int, age_us: int, heard: Slowed | None) -> Event:
    """A person ends a block that began more than `age_us` ago."""
    if heard:
        bucket.recall(heard, now)
    # An era that lies ahead is of a clock that was set back since.
    is_meant = bucket.pace.era < now - age_us or bucket.pace.era > now
    if bucket.blocked_until > now and is_meant:
        bucket.unblock(now)
    return _event(bucket, now, is_news=False)


def retold(bucket: Bucket, now: int, heard: Slowed) -> Event:
    """A process says once more what it knows."""
    bucket.recall(heard, now)
    return _event(bucket, now, is_news=False)


def _event(bucket: Bucket, now: int, *, is_news: bool) -> Event:
    return Event(bucket.slowed(), max(0, bucket.blocked_until - now), is_news)
