"""The tokens of one task's run: a request without one can't go out. Waits in order for what is due
soon; otherwise says so at once, with nothing charged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from core.clock import Clock
from core.errors import BudgetSpent, Postponed, Released, SourceBlocked
from core.model.source import SourceTerms
from core.ports import BucketKey, Budget, Denied, Granted, Reserved

_MAX_VOIDED = 10  # reservations voided under one take; each was a block or a flush


@dataclass(slots=True)
class Waits:
    """What a run waited for its tokens."""

    all_s: float = 0.0
    taken: int = 0  # tokens, which is requests
    prompt: bool = True  # the first token was granted at once


class Allowance:
    """Takes the tokens of one run. The first one is worth `first_horizon_s` of waiting, since
    nothing was begun yet; later ones whatever is left of the run's time."""

    def __init__(
        self,
        budget: Budget,
        terms: SourceTerms,
        clock: Clock,
        stop: threading.Event,
        *,
        first_horizon_s: float,
        ends_at: float,
    ) -> None:
        self.waits = Waits()
        self.on_first_token: Callable[[bool], None] = lambda _prompt: None
        self._budget = budget
        self._terms = terms
        self._clock = clock
        self._stop = stop
        self._first_horizon_s = first_horizon_s
        self._ends_at = ends_at  # monotonic

    def take(self, host: str) -> None:
        """A token for one request to `host`, waited for. Raises `BudgetSpent` or `SourceBlocked`
        when it is due too late, `Released` when the worker stops meanwhile."""
        began = self._clock.monotonic()
        until = self._ends_at if self.waits.taken else began + self._first_horizon_s
        try:
            self._take(self._buckets(host), until)
        finally:
            self.waits.all_s += self._clock.monotonic() - began
        self.waits.taken += 1
        if self.waits.taken == 1:
            self.on_first_token(self.waits.prompt)

    def _buckets(self, host: str) -> tuple[BucketKey, ...]:
        terms = self._terms
        source = BucketKey(terms.name, terms.rate, terms.burst)
        if not terms.many_hosts:
            return (source,)
        return source, BucketKey(f"{terms.name}/{host}", terms.rate, terms.burst)

    def _take(self, buckets: tuple[BucketKey, ...], until: float) -> None:
        for _ in range(_MAX_VOIDED):
            horizon = max(0.0, until - self._clock.monotonic())
            answer = self._budget.take(buckets, horizon_s=horizon)
            if isinstance(answer, Denied):
                raise self._refusal(answer)
            if self._granted(buckets, answer):
                return
        raise BudgetSpent(f"{self._terms.name}: its budget keeps being reset", delay_s=1.0)

    def _granted(self, buckets: tuple[BucketKey, ...], answer: Granted | Reserved) -> bool:
        """Wait for a reservation and confirm it; False when it was voided meanwhile."""
        while True:
            match answer:
                case Granted():
                    return True
                case Reserved(wait_s=wait_s, ticket=ticket):
                    self._wait(wait_s)
                    confirmed = self._budget.confirm(buckets, ticket)
                    if isinstance(confirmed, Denied):
                        return False
                    answer = confirmed
                case _ as never:
                    assert_never(never)

    def _wait(self, seconds: float) -> None:
        if self.waits.taken == 0:
            self.waits.prompt = False
        if self._clock.sleep(seconds, wake=self._stop):
            raise Released(f"{self._terms.name}: this worker shuts down while waiting for a token")

    def _refusal(self, answer: Denied) -> Postponed:
        if self.waits.taken == 0:
            self.waits.prompt = False
        if answer.blocked:
            return SourceBlocked(
                f"{self._terms.name} asked us to stop; open again in {answer.wait_s:.1f} s",
                delay_s=answer.wait_s,
            )
        return BudgetSpent(
            f"{self._terms.name}: its budget is spent for {answer.wait_s:.1f} s",
            delay_s=answer.wait_s,
        )
