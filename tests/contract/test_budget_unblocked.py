"""What every budget promises of a block that a person ends: it is over for everybody, and comes
back by nobody's telling; the pace stays as low as the source made it."""

from __future__ import annotations

import pytest

from core.budget.budget import TokenBudget
from core.ports import Denied
from tests.support.budget_world import (
    HOST,
    SLOW,
    World,
    block,
    climb,
    denied,
    drain,
    fill,
    granted,
    pace,
    reserve,
)

DAY_S = 86_400.0


def unblock(budget: TokenBudget, bucket: str = "slow", *, age_s: float = 0.0) -> float:
    return budget.unblock(bucket, age_s=age_s)


@pytest.fixture
def budget(world: World) -> TokenBudget:
    """A process that had three tokens a moment before its source named a day."""
    budget = world.process()
    fill(world)
    block(budget, DAY_S)
    world.clock.advance(60.0)
    return budget


def test_the_block_is_over(budget: TokenBudget) -> None:
    assert unblock(budget) == 0.0
    assert budget.blocked_for("slow") == 0.0


def test_it_is_over_for_every_process(world: World, budget: TokenBudget) -> None:
    other = world.process()
    other.take([SLOW], horizon_s=0.0)  # and hears of the block
    unblock(budget)

    assert other.take([SLOW], horizon_s=0.0) == denied(1.0)


def test_who_has_it_in_mind_brings_it_not_back_by_telling(
    world: World, budget: TokenBudget
) -> None:
    unblock(world.process())
    budget.retell()

    assert world.process().blocked_for("slow") == 0.0


def test_who_told_of_it_learns_that_it_is_over(world: World, budget: TokenBudget) -> None:
    unblock(world.process())
    budget.retell()
    world.flush()
    budget.retell()

    assert world.process().blocked_for("slow") == 0.0


def test_who_has_it_in_mind_brings_it_not_back_by_claiming(
    world: World, budget: TokenBudget
) -> None:
    unblock(world.process())

    assert budget.take([SLOW], horizon_s=0.0) == denied(1.0)


def test_a_flush_brings_it_not_back(world: World, budget: TokenBudget) -> None:
    unblock(budget)
    world.flush()
    budget.retell()

    assert world.process().blocked_for("slow") == 0.0


def test_an_old_snapshot_brings_it_not_back(world: World, budget: TokenBudget) -> None:
    world.save()
    unblock(budget)
    world.restart()
    budget.retell()

    assert world.process().blocked_for("slow") == 0.0


def test_a_block_that_a_flush_took_is_ended_as_it_was_heard_of(
    world: World, budget: TokenBudget
) -> None:
    world.flush()
    unblock(budget)
    budget.retell()

    assert world.process().blocked_for("slow") == 0.0


def test_the_pace_stays(world: World, budget: TokenBudget) -> None:
    unblock(budget)

    assert pace(world.process()) == 0.5


def test_the_pace_stays_after_a_flush(world: World, budget: TokenBudget) -> None:
    unblock(budget)
    world.flush()
    budget.retell()

    assert pace(world.process()) == 0.5


def test_the_pace_climbs_as_after_any_block(world: World, budget: TokenBudget) -> None:
    unblock(budget)
    world.clock.advance(1.0)
    granted(budget)
    climb(world, budget, 1)

    assert pace(budget) == 0.625


def test_no_time_before_it_is_made_up_for(world: World, budget: TokenBudget) -> None:
    unblock(budget)
    assert drain(budget) == 0

    world.clock.advance(1.0)
    assert drain(budget) == 1


def test_what_was_promised_before_the_block_stays_void(world: World) -> None:
    budget = world.process()
    ticket = reserve(budget)
    block(budget, DAY_S)
    world.clock.advance(1.0)
    unblock(budget)

    assert budget.confirm([SLOW], ticket.ticket) == Denied(0.0)


def test_an_answer_of_before_closes_it_no_more(world: World, budget: TokenBudget) -> None:
    other = world.process()
    unblock(other)

    assert not other.throttled("slow", era=1, seconds=DAY_S).is_news
    assert other.blocked_for("slow") == 0.0


def test_the_next_refusal_closes_it(world: World, budget: TokenBudget) -> None:
    unblock(budget)
    world.clock.advance(1.0)
    era = granted(budget).era

    assert budget.throttled("slow", era=era, seconds=9.0).is_news
    assert budget.blocked_for("slow") == 9.0


def test_a_block_that_began_later_is_not_meant(world: World, budget: TokenBudget) -> None:
    unblock(budget)
    world.clock.advance(10.0)
    block(budget, 30.0)
    world.clock.advance(1.0)

    assert unblock(world.process(), age_s=5.0) == 29.0
    assert budget.blocked_for("slow") == 29.0


def test_who_is_told_late_ends_the_block_all_the_same(world: World, budget: TokenBudget) -> None:
    assert unblock(budget, age_s=30.0) == 0.0


def test_a_word_from_the_future_means_what_is_now(world: World, budget: TokenBudget) -> None:
    assert unblock(budget, age_s=-3600.0) == 0.0


def test_a_word_from_the_future_slows_nobody(world: World) -> None:
    budget = world.process()
    fill(world)
    unblock(budget, age_s=-0.5)

    granted(budget)
    assert pace(budget) == 1.0


def test_a_host_is_opened_by_itself(world: World, budget: TokenBudget) -> None:
    block(budget, DAY_S, HOST.name)
    world.clock.advance(1.0)
    unblock(budget, HOST.name)

    assert budget.blocked_for(HOST.name) == 0.0
    assert budget.blocked_for("slow") > 0.0


def test_where_nothing_is_blocked_nothing_changes(world: World) -> None:
    budget = world.process()
    fill(world)
    unblock(budget)

    assert drain(budget) == SLOW.burst
