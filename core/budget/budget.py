"""The budget that fetchers ask: takes and reserves over the token-bucket strategy, tells it of
slowdowns, and remembers what must survive a flush or an old snapshot of the storage."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from core.budget.answer import SECOND_US, Answer, Claim, Slowed, Verdict
from core.budget.heard import Heard
from core.budget.memory import MemoryBucketStorage
from core.budget.report import Event, Fault, Refusal
from core.budget.retelling import Retelling
from core.budget.strategy import TokenBucketRateLimiter
from core.budget.tally import Tally
from core.budget.untold import Untold
from core.clock import Clock
from core.errors import SharedStateDown
from core.ports import BucketKey, Denied, Granted, Reserved, Slowdown, Standing

if TYPE_CHECKING:  # it brings redis, which an embedded run does not need
    from core.budget.redis import RedisBucketStorage

_GRANTED = Granted()  # what nearly every request is told


class TokenBudget:
    """Implements `core.ports.Budget`."""

    def __init__(
        self, limiter: TokenBucketRateLimiter, clock: Clock, *, rng: random.Random | None = None
    ) -> None:
        self._limiter = limiter
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        self._heard = Heard(clock)
        self._untold = Untold(clock)
        self._tally = Tally(clock)
        self._retelling: Retelling | None = None  # a storage of our own forgets nothing

    @classmethod
    def redis(cls, url: str, clock: Clock) -> TokenBudget:
        """Shared by every process that names the same Redis. Opens no connection yet."""
        # Here: an embedded run would pay 50 ms of its start for the library.
        from core.budget.redis import RedisBucketStorage  # noqa: PLC0415

        return cls.shared(RedisBucketStorage(url), clock)

    @classmethod
    def shared(cls, storage: RedisBucketStorage, clock: Clock) -> TokenBudget:
        """On a storage that others use too and that may forget: told what it forgot by a thread of
        its own, until `close`."""
        budget = cls(TokenBucketRateLimiter(storage, clock), clock)
        budget._retelling = Retelling(budget.retell, budget._is_anything_known, clock)
        return budget

    @classmethod
    def memory(cls, clock: Clock) -> TokenBudget:
        """This process's own."""
        return cls(TokenBucketRateLimiter(MemoryBucketStorage(clock), clock), clock)

    def take(
        self, buckets: Sequence[BucketKey], *, horizon_s: float
    ) -> Granted | Reserved | Denied:
        claim = Claim(
            buckets,
            ticket=os.urandom(8).hex(),
            heard=self._heard_of(buckets),
            horizon_us=int(horizon_s * SECOND_US),
        )
        return self._told(claim, self._limiter.take(claim))

    def confirm(self, buckets: Sequence[BucketKey], ticket: str) -> Granted | Reserved | Denied:
        claim = Claim(buckets, ticket=ticket, heard=self._heard_of(buckets))
        return self._told(claim, self._limiter.confirm(claim))

    def throttled(self, bucket: str, *, era: int, seconds: float | None) -> Slowdown:
        named_us = None if seconds is None else math.ceil(max(0.0, seconds) * SECOND_US)
        heard = self._heard.of(bucket)
        try:
            event = self._limiter.throttled(bucket, Refusal(era, named_us, self._jitter(), heard))
        except SharedStateDown:
            self._untold.keep(bucket, era, seconds)
            self._begin_retelling()
            raise
        return self._learned(bucket, event)

    def failed(self, bucket: str, *, era: int, task: str, enough: int) -> Slowdown | None:
        heard = self._heard.of(bucket)
        event = self._limiter.failed(bucket, Fault(era, task, enough, self._jitter(), heard))
        return self._learned(bucket, event) if event else None

    def unblock(self, bucket: str, *, age_s: float) -> float:
        self._untold.void(bucket, age_s)
        age_us = math.ceil(max(0.0, age_s) * SECOND_US)
        event = self._limiter.unblock(bucket, age_us, self._heard.of(bucket))
        self._learn(bucket, event.slowed, event.rest_us)
        return event.rest_us / SECOND_US

    def answered(self, bucket: str) -> None:
        # A host that answers has its source answer: both may have been counting failures.
        source = bucket.split("/", 1)[0]
        self._limiter.answered([bucket] if bucket == source else [source, bucket])

    def used(self, bucket: str, *, waited_s: float, asked_s: float) -> None:
        figures = self._tally.add(bucket, waited_s=waited_s, asked_s=asked_s)
        if figures is None:
            return
        try:
            self._limiter.used(bucket, figures)
        except SharedStateDown:
            return  # the request is over, and figures are no reason to fail it

    def blocked_for(self, bucket: str) -> float:
        standing = self.standing(bucket)
        return standing.blocked_s if standing else 0.0

    def standing(self, bucket: str) -> Standing | None:
        self._catch_up(bucket)
        heard = self._heard.of(bucket)
        return self._limiter.standing(bucket, heard)

    def slow_hosts(self) -> dict[str, Standing]:
        """The buckets of hosts that are slowed or blocked just now, by name, whatever their source.
        Raises `SharedStateDown`."""
        standings = {name: self.standing(name) for name in self._limiter.hosts()}
        return {
            name: standing
            for name, standing in standings.items()
            if standing and (standing.blocked_s > 0 or standing.pace < 1)
        }

    def retell(self) -> None:
        """Tell the storage once more what this process knows of slowdowns, and learn what became
        of them. Raises `SharedStateDown`."""
        for name in self._untold.names():
            self._catch_up(name)
        known = self._heard.known()
        if not known:
            return
        for name, event in zip(known, self._limiter.retell(known), strict=True):
            # The same again is not heard anew: what nobody claims shall be forgotten in the end.
            over = event.slowed.is_over and event.rest_us <= 0
            if over or event.slowed != known[name]:
                self._heard.learn(name, event.slowed, rest_us=event.rest_us)

    def close(self) -> None:
        """End the thread and the connections that it has, if any."""
        if self._retelling is not None:
            self._retelling.close()
        self._limiter.close()

    def _heard_of(self, buckets: Sequence[BucketKey]) -> Sequence[Slowed | None]:
        """By bucket what goes with a claim. The usual nothing costs next to nothing."""
        if not self._untold and not self._heard:
            return (None,) * len(buckets)
        for bucket in buckets:
            self._catch_up(bucket.name)
        return [self._heard.of(bucket.name) for bucket in buckets]

    def _catch_up(self, name: str) -> None:
        """Tell the storage what it missed while it was away: one call more, once."""
        if missed := self._untold.pop(name):
            self.throttled(name, era=missed.era, seconds=missed.seconds)

    def _is_anything_known(self) -> bool:
        return bool(self._untold or self._heard.known())

    def _learn(self, name: str, slowed: Slowed, rest_us: int) -> None:
        self._heard.learn(name, slowed, rest_us=rest_us)
        if rest_us > 0 or not slowed.is_over:
            self._begin_retelling()

    def _begin_retelling(self) -> None:
        if self._retelling is not None:
            self._retelling.begin()

    def _jitter(self) -> float:
        return self._rng.uniform(0.5, 1.0)

    def _learned(self, name: str, event: Event) -> Slowdown:
        self._learn(name, event.slowed, event.rest_us)
        return Slowdown(event.slowed.pace, event.rest_us / SECOND_US, event.is_news)

    def _told(self, claim: Claim, answer: Answer) -> Granted | Reserved | Denied:
        if answer.slowed:
            self._learn_from(claim, answer)
        match answer.verdict:
            case Verdict.GRANTED:
                return _granted(answer)
            case Verdict.RESERVED:
                return Reserved(answer.wait_us / SECOND_US, claim.ticket)
            case Verdict.DENIED:
                return _denied(claim, answer, blocked=False)
            case Verdict.BLOCKED:
                return _denied(claim, answer, blocked=True)
            case Verdict.VOID:
                return Denied(0.0)
            case _ as never:
                assert_never(never)

    def _learn_from(self, claim: Claim, answer: Answer) -> None:
        """Others' slowdowns count too."""
        rest_us = answer.wait_us if answer.verdict is Verdict.BLOCKED else 0
        for bucket, slowed in zip(claim.buckets, answer.slowed, strict=True):
            if slowed.era:
                self._learn(bucket.name, slowed, rest_us)


def _granted(answer: Answer) -> Granted:
    """Of several buckets the latest era: it is told of any of them, and compares with each."""
    if not answer.slowed:
        return _GRANTED
    return Granted(max(slowed.era for slowed in answer.slowed), answer.troubled)


def _denied(claim: Claim, answer: Answer, *, blocked: bool) -> Denied:
    return Denied(answer.wait_us / SECOND_US, blocked, claim.buckets[answer.slowest].name)
