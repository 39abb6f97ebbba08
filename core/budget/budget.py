"""The budget that fetchers ask: takes, reserves and blocks over the token-bucket strategy, and
remembers what must survive a flush of the storage."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from core.budget.answer import SECOND_US, Answer, Claim, Verdict
from core.budget.memory import MemoryBucketStorage
from core.budget.strategy import TokenBucketRateLimiter
from core.clock import Clock
from core.ports import BucketKey, Denied, Granted, Reserved


@dataclass(frozen=True, slots=True)
class _KnownBlock:
    """The latest end of a source's block that this process has heard of."""

    ends: float  # on our monotonic clock: when to forget it
    until_us: int | None  # on the storage's clock, so that telling it again adds no delay of the
    # way; None: the storage was away and has yet to be told


class TokenBudget:
    """Implements `core.ports.Budget`."""

    def __init__(self, limiter: TokenBucketRateLimiter, clock: Clock) -> None:
        self._limiter = limiter
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, _KnownBlock] = {}

    @classmethod
    def redis(cls, url: str, clock: Clock) -> TokenBudget:
        """Shared by every process that names the same Redis. Opens no connection yet."""
        # Here: an embedded run would pay 50 ms of its start for the library.
        from core.budget.redis import RedisBucketStorage  # noqa: PLC0415

        return cls(TokenBucketRateLimiter(RedisBucketStorage(url), clock), clock)

    @classmethod
    def memory(cls, clock: Clock) -> TokenBudget:
        """This process's own."""
        return cls(TokenBucketRateLimiter(MemoryBucketStorage(clock), clock), clock)

    def take(
        self, buckets: Sequence[BucketKey], *, horizon_s: float
    ) -> Granted | Reserved | Denied:
        claim = Claim(
            buckets,
            ticket=secrets.token_hex(8),
            known=self._known_blocks(buckets),
            horizon_us=int(horizon_s * SECOND_US),
        )
        asked = self._clock.monotonic()
        return self._told(claim, self._limiter.take(claim), asked)

    def confirm(self, buckets: Sequence[BucketKey], ticket: str) -> Granted | Reserved | Denied:
        claim = Claim(buckets, ticket=ticket, known=self._known_blocks(buckets))
        asked = self._clock.monotonic()
        return self._told(claim, self._limiter.confirm(claim), asked)

    def block(self, source: str, *, seconds: float) -> None:
        self._block(source, seconds)

    def blocked_for(self, source: str) -> float:
        now = self._clock.monotonic()
        block = self._limiter.block(source, seconds=0.0)
        known = self._known.get(source)
        return max(block.rest_us / SECOND_US, known.ends - now if known else 0.0, 0.0)

    def _block(self, name: str, seconds: float) -> int:
        now = self._clock.monotonic()
        self._learn(name, _KnownBlock(now + seconds, None))  # first: the storage may be away
        block = self._limiter.block(name, seconds=seconds)
        ends = now + max(seconds, block.rest_us / SECOND_US)
        self._learn(name, _KnownBlock(ends, block.until_us))
        return block.until_us

    def _known_blocks(self, buckets: Sequence[BucketKey]) -> list[int]:
        """By bucket: the end of its block, told to the storage in case that it was flushed."""
        if not self._known:
            return [0] * len(buckets)
        return [self._known_block(bucket.name) for bucket in buckets]

    def _known_block(self, name: str) -> int:
        known = self._known.get(name)
        now = self._clock.monotonic()
        if known is None or known.ends <= now:
            return 0
        if known.until_us is None:
            return self._block(name, known.ends - now)
        return known.until_us

    def _learn(self, name: str, block: _KnownBlock) -> None:
        """Keep the longer one; drop those that are over."""
        now = self._clock.monotonic()
        with self._lock:
            known = self._known.get(name)
            if known and known.ends > block.ends:
                return
            self._known = {n: b for n, b in self._known.items() if b.ends > now}
            self._known[name] = block

    def _told(self, claim: Claim, answer: Answer, asked: float) -> Granted | Reserved | Denied:
        match answer.verdict:
            case Verdict.GRANTED:
                return Granted()
            case Verdict.RESERVED:
                return Reserved(answer.wait_us / SECOND_US, claim.ticket)
            case Verdict.DENIED | Verdict.VOID:
                return Denied(answer.wait_us / SECOND_US)
            case Verdict.BLOCKED:
                self._learn_from(claim, answer, asked)
                return Denied(answer.wait_us / SECOND_US, blocked=True)
            case _ as never:
                assert_never(never)

    def _learn_from(self, claim: Claim, answer: Answer, asked: float) -> None:
        """Others' blocks count too. Reckoned from when we asked: rather forgotten a moment early
        than asserted for ever."""
        server_now = max(answer.blocked_until) - answer.wait_us
        for bucket, until_us in zip(claim.buckets, answer.blocked_until, strict=True):
            rest_us = until_us - server_now
            known = self._known.get(bucket.name)
            if rest_us > 0 and not (known and known.until_us == until_us):
                self._learn(bucket.name, _KnownBlock(asked + rest_us / SECOND_US, until_us))
