"""What the bucket storage in Redis does when its server's clock is set back: processes sleep on
clocks of their own, and none shall wait the longer for it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from core.budget.budget import TokenBudget
from core.budget.redis import RedisBucketStorage
from core.budget.strategy import TokenBucketRateLimiter
from core.ports import BucketKey, Granted, Reserved
from tests.support.budget_world import (
    HOST,
    LATEST,
    SLOW,
    Longest,
    ServerClock,
    block,
    denied,
    drain,
    granted,
    pace,
    reserve,
)
from tests.support.clock import FakeClock
from tests.support.redis import GivenTimeServer, flush

pytestmark = pytest.mark.redis

HOUR_S = 3600.0


@dataclass
class Fleet:
    """Processes at one server, whose clock may be set."""

    url: str
    clock: FakeClock
    server: ServerClock
    storage: RedisBucketStorage

    def process(self) -> TokenBudget:
        return TokenBudget(
            TokenBucketRateLimiter(self.storage, self.clock), self.clock, rng=Longest()
        )

    def fill(self) -> None:
        self.process().take([SLOW, HOST], horizon_s=0.0)
        self.clock.advance(60.0)

    def set_back(self, seconds: float) -> None:
        self.server.ahead_s -= seconds


@pytest.fixture
def fleet(redis_url: str) -> Fleet:
    clock = FakeClock()
    server = ServerClock(clock)
    return Fleet(
        redis_url, clock, server, RedisBucketStorage(redis_url, GivenTimeServer(redis_url, server))
    )


@pytest.fixture
def budget(fleet: Fleet) -> TokenBudget:
    return fleet.process()


# --- tickets ---


def test_nobody_waits_longer_for_a_ticket_than_was_promised(
    fleet: Fleet, budget: TokenBudget
) -> None:
    tickets = [reserve(budget) for _ in range(8)]
    fleet.set_back(HOUR_S)

    answers = [budget.confirm([SLOW], ticket.ticket) for ticket in tickets]

    assert answers == tickets


def test_a_ticket_is_granted_after_the_rest_of_its_wait(fleet: Fleet, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    fleet.clock.advance(0.1)
    fleet.process().take([SLOW], horizon_s=0.0)
    fleet.set_back(HOUR_S)
    rest = budget.confirm([SLOW], ticket.ticket)
    fleet.clock.advance(0.4)

    assert rest == Reserved(0.4, ticket.ticket)
    assert budget.confirm([SLOW], ticket.ticket) == Granted()


def test_tickets_keep_their_order(fleet: Fleet, budget: TokenBudget) -> None:
    one = BucketKey("one", rate=1.0, burst=1)
    tickets = [reserve(budget, one) for _ in range(3)]
    fleet.set_back(HOUR_S)
    budget.take([one], horizon_s=0.0)
    fleet.clock.advance(3.9)
    late = [budget.confirm([one], ticket.ticket) for ticket in tickets]

    assert late == [Granted(), Reserved(1.0, tickets[1].ticket), Reserved(2.0, tickets[2].ticket)]


def test_a_ticket_in_two_buckets_waits_no_longer_in_either(
    fleet: Fleet, budget: TokenBudget
) -> None:
    ticket = reserve(budget, SLOW, HOST)
    fleet.set_back(HOUR_S)
    budget.take([SLOW], horizon_s=0.0)

    assert budget.confirm([SLOW, HOST], ticket.ticket) == ticket


# --- blocks ---


def test_a_block_lasts_no_longer_than_the_source_said(fleet: Fleet, budget: TokenBudget) -> None:
    fleet.fill()
    block(budget, 5.0)
    fleet.set_back(HOUR_S)

    assert budget.take([SLOW], horizon_s=0.0) == denied(5.0, blocked=True)
    assert fleet.process().blocked_for("slow") == 5.0


def test_a_block_ends_for_those_who_know_of_it_and_those_who_do_not(
    fleet: Fleet, budget: TokenBudget
) -> None:
    fleet.fill()
    hearer = fleet.process()
    block(budget, 5.0)
    hearer.take([SLOW], horizon_s=0.0)
    fleet.set_back(HOUR_S)
    fleet.process().take([SLOW], horizon_s=0.0)
    fleet.clock.advance(6.0)

    assert [each.blocked_for("slow") for each in (budget, hearer, fleet.process())] == [0.0] * 3
    granted(hearer)


def test_whoever_tells_each_second_has_the_rest_of_a_block_kept(
    fleet: Fleet, budget: TokenBudget
) -> None:
    block(budget, 300.0)
    for _ in range(299):
        fleet.clock.advance(1.0)
        budget.retell()
    fleet.set_back(HOUR_S)

    assert fleet.process().blocked_for("slow") == 1.0


def test_a_block_is_told_after_a_flush_without_the_hour(fleet: Fleet, budget: TokenBudget) -> None:
    block(budget, 5.0)
    flush(fleet.url)
    fleet.set_back(HOUR_S)
    budget.retell()

    assert fleet.process().blocked_for("slow") == 5.0


def test_a_block_that_is_over_is_not_told_again_after_a_flush(
    fleet: Fleet, budget: TokenBudget
) -> None:
    block(budget, 5.0)
    fleet.clock.advance(6.0)
    flush(fleet.url)
    fleet.set_back(HOUR_S)

    assert budget.blocked_for("slow") == 0.0
    assert pace(budget) == 0.5


# --- what goes on ---


def test_nothing_is_granted_for_it(fleet: Fleet, budget: TokenBudget) -> None:
    fleet.fill()
    count = 0
    for _ in range(10):
        count += drain(budget)
        fleet.set_back(HOUR_S)

    assert count == SLOW.burst


def test_a_bucket_fills_on(fleet: Fleet, budget: TokenBudget) -> None:
    fleet.fill()
    drain(budget)
    fleet.set_back(HOUR_S)
    budget.take([SLOW], horizon_s=0.0)
    fleet.clock.advance(1.0)

    assert drain(budget) == 2


def test_a_slowed_source_climbs_on(fleet: Fleet, budget: TokenBudget) -> None:
    fleet.fill()
    block(budget, 1.0)
    fleet.clock.advance(5.0)
    granted(budget)
    fleet.set_back(HOUR_S)
    granted(budget)
    fleet.clock.advance(30.0)
    granted(budget)

    assert pace(budget) == 0.625


def test_after_an_outage_it_climbs_once_it_is_answered(fleet: Fleet, budget: TokenBudget) -> None:
    fleet.fill()
    budget.failed("slow", era=LATEST, task="a", enough=1)
    fleet.clock.advance(10.0)
    granted(budget)
    fleet.set_back(HOUR_S)
    budget.answered("slow")
    granted(budget)
    fleet.clock.advance(30.0)
    granted(budget)

    assert pace(budget) == 0.625


def test_failures_are_forgotten_in_time(fleet: Fleet, budget: TokenBudget) -> None:
    for task in ("a", "b"):
        budget.failed("slow", era=0, task=task, enough=3)
    fleet.set_back(HOUR_S)
    budget.take([SLOW], horizon_s=0.0)
    fleet.clock.advance(61.0)

    assert budget.failed("slow", era=0, task="c", enough=3) is None


def test_old_answers_stay_no_news(fleet: Fleet, budget: TokenBudget) -> None:
    fleet.fill()
    era = granted(budget).era
    block(budget, 1.0)
    fleet.set_back(HOUR_S)

    assert not budget.throttled("slow", era=era, seconds=None).is_news


def test_figures_fade_on(fleet: Fleet, budget: TokenBudget) -> None:
    fleet.fill()
    for _ in range(40):
        fleet.clock.advance(0.5)
        budget.used("slow", waited_s=0.1, asked_s=0.3)
    fleet.set_back(HOUR_S)
    before = budget.standing("slow")
    fleet.clock.advance(10.0)
    after = budget.standing("slow")

    assert before is not None
    assert after is not None
    assert before.requests_per_s == pytest.approx(2.0, rel=0.2)
    assert after.requests_per_s == pytest.approx(before.requests_per_s / 2, rel=0.2)
