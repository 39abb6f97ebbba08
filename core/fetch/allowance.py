"""The tokens of one task's run: a request without one can't go out. Waits in order for what is due
soon; otherwise says so at once, with nothing charged. Tells the budget what became of requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from core.clock import Clock
from core.errors import (
    BudgetSpent,
    HostBusy,
    Postponed,
    Released,
    SharedStateDown,
    SourceBlocked,
    SourcePaused,
)
from core.fetch.lines import Lines
from core.model.request import Asked
from core.model.source import SourceTerms
from core.ports import BucketKey, Budget, Denied, Granted, Reserved

logger = logging.getLogger(__name__)

_MAX_VOIDED = 10  # reservations voided under one take; each was a block or a flush


@dataclass(slots=True)
class Waits:
    """What a run waited for its tokens."""

    all_s: float = 0.0
    taken: int = 0  # tokens, which is requests
    prompt: bool = True  # the first token was granted at once


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the process around knows, and wants to know."""

    paused: Callable[[str], bool] = lambda _source: False  # asked before each token
    reached: Callable[[str], None] = lambda _host: None  # told of every host that answers


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the tokens of every run of this process."""

    budget: Budget
    clock: Clock
    stop: threading.Event
    lines: Lines
    first_horizon_s: float  # how far ahead a run's first token may be due
    around: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True, slots=True)
class _Paid:
    """The request that the last token was taken for."""

    grant: Granted
    at: float  # monotonic
    waited_s: float


class Allowance:
    """Takes the tokens of one run. The first one is worth `first_horizon_s` of waiting, since
    nothing was begun yet; later ones whatever is left of the run's time."""

    def __init__(self, rules: Rules, terms: SourceTerms, *, ends_at: float) -> None:
        self.waits = Waits()
        self.asked: Asked | None = None  # the last request that went out
        self.on_first_token: Callable[[bool], None] = lambda _prompt: None
        self._rules = rules
        self._terms = terms
        self._ends_at = ends_at  # monotonic
        self._paid: _Paid | None = None
        self._is_under_way = False

    # --- before a request ---

    def take(self, host: str) -> None:
        """A token for one request to `host`, waited for. Raises `BudgetSpent`, `SourceBlocked` or
        `HostBusy` when it is due too late, `SourcePaused`, and `Released` when the worker stops
        meanwhile."""
        began = self._rules.clock.monotonic()
        until = self._ends_at if self.waits.taken else began + self._rules.first_horizon_s
        buckets = self._buckets(host)
        try:
            grant = self._take(buckets, until)
        finally:
            now = self._rules.clock.monotonic()
            self.waits.all_s += now - began
        self._paid, self._is_under_way = _Paid(grant, now, now - began), True
        self.asked = Asked(host, buckets[-1].name, grant.era)
        self.waits.taken += 1
        if len(buckets) > 1:
            self._rules.lines.granted(buckets[-1])
        if self.waits.taken == 1:
            self.on_first_token(self.waits.prompt)

    def _buckets(self, host: str) -> tuple[BucketKey, ...]:
        terms = self._terms
        source = BucketKey(terms.name, terms.rate, terms.burst)
        if not terms.many_hosts:
            return (source,)
        return source, BucketKey(f"{terms.name}/{host}", terms.rate, terms.burst)

    def _take(self, buckets: tuple[BucketKey, ...], until: float) -> Granted:
        for _ in range(_MAX_VOIDED):
            self._check_pause()
            horizon = max(0.0, until - self._rules.clock.monotonic())
            answer = self._rules.budget.take(buckets, horizon_s=horizon)
            if isinstance(answer, Denied):
                raise self._refusal(answer, buckets)
            grant = self._granted(buckets, answer)
            if grant is not None:
                return grant
        raise BudgetSpent(f"{self._terms.name}: its budget keeps being reset", delay_s=1.0)

    def _granted(
        self, buckets: tuple[BucketKey, ...], answer: Granted | Reserved
    ) -> Granted | None:
        """Wait for a reservation and confirm it; None when it was voided meanwhile."""
        while True:
            match answer:
                case Granted():
                    return answer
                case Reserved(wait_s=wait_s, ticket=ticket):
                    self._wait(wait_s)
                    self._check_pause()
                    confirmed = self._rules.budget.confirm(buckets, ticket)
                    if isinstance(confirmed, Denied):
                        return None
                    answer = confirmed
                case _ as never:
                    assert_never(never)

    def _wait(self, seconds: float) -> None:
        if self.waits.taken == 0:
            self.waits.prompt = False
        if self._rules.clock.sleep(seconds, wake=self._rules.stop):
            raise Released(f"{self._terms.name}: this worker shuts down while waiting for a token")

    def _check_pause(self) -> None:
        if self._rules.around.paused(self._terms.name):
            raise SourcePaused(
                f"{self._terms.name} is paused: headrace resume {self._terms.name} lets it go on"
            )

    def _refusal(self, answer: Denied, buckets: tuple[BucketKey, ...]) -> Postponed:
        if self.waits.taken == 0:
            self.waits.prompt = False
        if len(buckets) > 1 and answer.bucket == buckets[-1].name:
            return self._host_busy(answer, buckets[-1])
        if answer.blocked:
            return SourceBlocked(
                f"{self._terms.name} asked us to stop; open again in {answer.wait_s:.1f} s",
                delay_s=answer.wait_s,
            )
        return BudgetSpent(
            f"{self._terms.name}: its budget is spent for {answer.wait_s:.1f} s",
            delay_s=answer.wait_s,
        )

    def _host_busy(self, answer: Denied, host: BucketKey) -> HostBusy:
        delay_s = self._rules.lines.delay_s(host, answer.wait_s, blocked=answer.blocked)
        why = "asked us to stop" if answer.blocked else "its budget is spent"
        return HostBusy(
            f"{host.name}: {why}; this task's turn is in {delay_s:.1f} s", delay_s=delay_s
        )

    # --- after it ---

    def reached(self) -> None:
        """The request's answer has begun, whatever it says."""
        if self.asked is not None:
            self._rules.around.reached(self.asked.host)

    def answered(self) -> None:
        """The run's last request was answered, and neither by trouble nor by «slower»: failures
        that were counted before are forgotten."""
        if self.asked is None or self._paid is None:
            return
        self.asked = replace(self.asked, answered=True)
        if not self._paid.grant.troubled:
            return
        try:
            self._rules.budget.answered(self.asked.bucket)
        except SharedStateDown as error:
            logger.debug("%s: its answer was not told: %s", self.asked.bucket, error)

    def over(self, shown: str, outcome: int | str) -> None:
        """The request is over, with a status or a failure's reason; told once. `shown` is its
        address, struck out."""
        if not self._is_under_way or self._paid is None:
            return
        self._is_under_way = False
        asked_s = self._rules.clock.monotonic() - self._paid.at
        waited_s = self._paid.waited_s
        words = "GET %s: %s in %.2f s, after %.2f s of waiting for its token"
        logger.info(words, shown, outcome, asked_s, waited_s)
        try:
            self._rules.budget.used(self._terms.name, waited_s=waited_s, asked_s=asked_s)
        except SharedStateDown as error:
            logger.debug("%s: what its request took was not told: %s", self._terms.name, error)
