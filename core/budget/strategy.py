"""The token bucket as a strategy of the `limits` library, which has none (5.8)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from limits import RateLimitItem
from limits.strategies import RateLimiter
from limits.util import WindowStats

from core.budget.answer import SECOND_US, Answer, Claim, Slowed, Verdict
from core.budget.memory import MemoryBucketStorage
from core.budget.report import Event, Fault, Refusal
from core.budget.usage import Figures
from core.clock import Clock
from core.errors import Misconfigured
from core.ports import BucketKey, Standing

if TYPE_CHECKING:  # it brings redis, which an embedded run does not need
    from core.budget.redis import RedisBucketStorage


class TokenBucketRateLimiter(RateLimiter):
    """A bucket is known by its identifiers alone: the library's `key_for` has the amount in it, so
    that a changed rate would start a new bucket, full at that."""

    def __init__(self, storage: MemoryBucketStorage | RedisBucketStorage, clock: Clock) -> None:
        super().__init__(storage)
        self._buckets = storage
        self._clock = clock

    def hit(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        claim = Claim([_terms(item, identifiers)], ticket="", heard=[None], cost=cost)
        return self._buckets.take(claim).verdict is Verdict.GRANTED

    def test(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        return self._buckets.level(_terms(item, identifiers)).free >= cost

    def get_window_stats(self, item: RateLimitItem, *identifiers: str) -> WindowStats:
        level = self._buckets.level(_terms(item, identifiers))
        full_at = self._clock.now() + level.full_in_us / SECOND_US
        return WindowStats(full_at, max(0, math.floor(level.free)))

    def clear(self, item: RateLimitItem, *identifiers: str) -> None:
        self._buckets.clear(_terms(item, identifiers).name)

    def take(self, claim: Claim) -> Answer:
        """Grant, reserve or deny one request's tokens, of several buckets together."""
        return self._buckets.take(claim)

    def confirm(self, claim: Claim) -> Answer:
        """Turn a reservation into a grant, once."""
        return self._buckets.confirm(claim)

    def throttled(self, name: str, refusal: Refusal) -> Event:
        """A source said «slower»: once an event its bucket is emptied, closed and slowed down."""
        return self._buckets.throttled(name, refusal)

    def failed(self, name: str, fault: Fault) -> Event | None:
        """A request had no good answer: enough of them are an event too."""
        return self._buckets.failed(name, fault)

    def answered(self, names: Sequence[str]) -> None:
        """Good answers: what failed before is forgotten."""
        self._buckets.answered(names)

    def used(self, name: str, figures: Figures) -> None:
        """Count requests that are over."""
        self._buckets.used(name, figures)

    def standing(self, name: str, heard: Slowed | None) -> Standing | None:
        """How a bucket stands, if anything is known of it."""
        return self._buckets.standing(name, heard)

    def hosts(self) -> list[str]:
        """The buckets of hosts that may be slowed, whatever their source."""
        return self._buckets.hosts()

    def retell(self, heard: Mapping[str, Slowed]) -> list[Event]:
        """Say once more what a process knows of slowdowns: how each bucket stands."""
        return self._buckets.retell(heard)

    def unblock(self, name: str, age_us: int, heard: Slowed | None) -> Event:
        """A person ends a block that began more than `age_us` ago: how the bucket stands."""
        return self._buckets.unblock(name, age_us, heard)

    def close(self) -> None:
        """End the storage's connections."""
        self._buckets.close()


def _terms(item: RateLimitItem, identifiers: tuple[str, ...]) -> BucketKey:
    """`20 per 2 seconds`: a burst of 20, refilled at 10 a second."""
    if not identifiers:
        raise Misconfigured("a token bucket is known by its identifiers: name at least one")
    return BucketKey("/".join(identifiers), item.amount / item.get_expiry(), item.amount)
