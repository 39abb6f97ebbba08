"""What a bucket storage is told of requests that went out, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from core.budget.answer import Slowed


@dataclass(frozen=True, slots=True)
class Refusal:
    """A source's «slower»."""

    era: int  # of the grant that was answered so
    named_us: int | None  # for how long, if it said so
    jitter: float  # share of the backoff that is kept to, (0, 1]
    heard: Slowed | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A request that nothing good came of."""

    era: int  # of its grant
    task: str
    enough: int  # so many distinct tasks' are a slowdown
    jitter: float
    heard: Slowed | None


@dataclass(frozen=True, slots=True)
class Event:
    """How a bucket stands after a report."""

    slowed: Slowed
    rest_us: int  # of its block
    is_news: bool  # False: the slowdown that it belongs to was told of before
