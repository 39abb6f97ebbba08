"""Four processes' turns on one budget, on a time that is given: all of it is used, though each
process tries one at a time while it is spent."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

import pytest

from core.budget.budget import TokenBudget
from core.ports import BucketKey, Denied, Granted, Reserved
from core.queue.delivery import Delivery
from core.queue.outcome import Outcome, Settled, ToHead
from core.queue.turns import Turns
from core.steps.decide import BUDGET_HORIZON_S
from tests.support.clock import FakeClock
from tests.support.queue import a_delivery
from tests.support.tasks import an_image_task

TASK = an_image_task(source="a")
PROCESSES = 4
BEGUN_IN_S = (0.001, 0.006)  # from the turn to the first question: a thread's wake-up, a lease


class Processes:
    """Each has a lane that never runs empty, and runs that take `latency_s` after their token."""

    def __init__(self, *, rate: float, burst: int, slots: int, latency_s: float) -> None:
        self.clock = FakeClock()
        self.budget = TokenBudget.memory(self.clock)
        self.buckets = [BucketKey("a", rate, burst)]
        self.slots, self.latency_s = slots, latency_s
        self.all = [Turns({"a": slots}, self.clock, threads=slots + 4) for _ in range(PROCESSES)]
        self.granted_at: list[float] = []
        self.tries = 0
        self.given_back = 0
        self._rng = random.Random(4)
        self._tags = itertools.count(1)
        self._order = itertools.count()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []

    def run(self, seconds: float) -> None:
        ends = self.clock.monotonic() + seconds
        for turns in self.all:
            self._look(turns)
        while self._agenda and self._agenda[0][0] < ends:
            at, _, what = heapq.heappop(self._agenda)
            self.clock.advance(max(0.0, at - self.clock.monotonic()))
            what()

    def used(self, last_s: float) -> float:
        """The share of the possible grants that there were of late."""
        possible = min(self.buckets[0].rate, PROCESSES * self.slots / self.latency_s)
        since = self.clock.monotonic() - last_s
        return sum(at >= since for at in self.granted_at) / (possible * last_s)

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        due = self.clock.monotonic() + seconds
        heapq.heappush(self._agenda, (due, next(self._order), what))

    def _look(self, turns: Turns) -> None:
        """As the consumer does when it is woken."""
        self.given_back += len(turns.surplus())
        turns.open_lanes(["a.image"])
        for _ in range(self.slots + 1 - turns.buffered("a") - turns.in_hand("a")):
            now = self.clock.monotonic()
            turns.add(a_delivery(TASK, tag=next(self._tags), at=now))
        while (delivery := turns.next()) is not None:
            self._begin(turns, delivery)
        if (rest_s := turns.wait_s(60.0)) < 60.0:
            self._later(rest_s, lambda: self._look(turns))

    def _begin(self, turns: Turns, delivery: Delivery) -> None:
        self._later(self._rng.uniform(*BEGUN_IN_S), lambda: self._take(turns, delivery))

    def _take(self, turns: Turns, delivery: Delivery) -> None:
        self.tries += 1
        answer = self.budget.take(self.buckets, horizon_s=BUDGET_HORIZON_S)
        self._follow(turns, delivery, answer)

    def _follow(
        self, turns: Turns, delivery: Delivery, answer: Granted | Reserved | Denied
    ) -> None:
        delivery.prompt = isinstance(answer, Granted) and delivery.prompt
        match answer:
            case Granted():
                self.granted_at.append(self.clock.monotonic())
                if turns.granted(delivery):
                    self._look(turns)
                settled = Settled(delivery.prompt)
                self._later(self.latency_s, lambda: self._end(turns, delivery, settled))
            case Reserved(wait_s=wait_s, ticket=ticket):
                self._later(wait_s, lambda: self._confirm(turns, delivery, ticket))
            case Denied(wait_s=wait_s):
                self._end(turns, delivery, ToHead(max(0.0, wait_s - BUDGET_HORIZON_S)))

    def _confirm(self, turns: Turns, delivery: Delivery, ticket: str) -> None:
        self._follow(turns, delivery, self.budget.confirm(self.buckets, ticket))

    def _end(self, turns: Turns, delivery: Delivery, outcome: Outcome) -> None:
        delivery.outcome = outcome
        turns.end(delivery, keep=True)
        self._look(turns)


@pytest.mark.parametrize(
    ("rate", "burst", "slots", "latency_s", "seconds"),
    [
        (0.5, 5, 15, 0.05, 600.0),
        (5.0, 10, 16, 0.05, 120.0),
        (5.0, 10, 16, 5.0, 120.0),
        (50.0, 20, 16, 0.5, 30.0),
        (400.0, 20, 60, 0.5, 10.0),
    ],
)
def test_four_processes_use_the_whole_budget(
    rate: float, burst: int, slots: int, latency_s: float, seconds: float
) -> None:
    processes = Processes(rate=rate, burst=burst, slots=slots, latency_s=latency_s)
    processes.run(seconds)

    assert processes.used(last_s=seconds * 0.75) >= 0.98


def test_where_latency_is_the_limit_every_slot_is_used() -> None:
    processes = Processes(rate=50.0, burst=20, slots=2, latency_s=1.0)
    processes.run(60.0)

    assert processes.used(last_s=45.0) >= 0.98


def test_half_a_request_a_second_circulates_nothing() -> None:
    """What waits for tokens alone stays where it is, and is seldom tried in vain."""
    processes = Processes(rate=0.5, burst=5, slots=15, latency_s=0.05)
    processes.run(600.0)

    assert processes.given_back == 0
    assert processes.tries < 5 * len(processes.granted_at)
