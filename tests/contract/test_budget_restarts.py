"""What every budget promises of a storage that is started again and finds an old state (a snapshot,
a log that lacks its last second, a replica that lagged), or nothing: no token is granted twice."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.ports import Denied, Granted
from tests.support.budget_world import (
    HOST,
    SLOW,
    World,
    block,
    denied,
    drain,
    fill,
    granted,
    reserve,
)


def test_tokens_that_were_spent_since_are_not_there_again(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    world.save()
    drain(budget)
    world.restart()

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_what_filled_before_the_restart_counts_for_nothing(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    world.save()
    world.clock.advance(60.0)
    drain(budget)
    world.restart()

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_it_fills_from_the_first_claim_on_whoever_makes_the_next(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    world.save()
    world.restart()
    budget.take([SLOW], horizon_s=0.0)
    world.clock.advance(1.0)

    assert drain(world.process()) == 2


def test_each_bucket_of_a_claim_starts_empty(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    world.save()
    drain(budget, SLOW, HOST)
    world.restart()

    assert budget.take([SLOW, HOST], horizon_s=0.0) == denied(1.0, bucket="slow/a.test")
    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_what_was_promised_before_is_void(world: World, budget: TokenBudget) -> None:
    budget.take([SLOW], horizon_s=0.0)
    ticket = reserve(budget)
    world.save()
    world.restart()
    world.clock.advance(1.0)

    assert budget.confirm([SLOW], ticket.ticket) == Denied(0.0)


def test_what_was_promised_before_keeps_nobody_waiting(world: World, budget: TokenBudget) -> None:
    for _ in range(5):
        reserve(budget)
    world.save()
    world.restart()

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_a_block_that_was_told_since_holds_for_who_knows_it(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    world.save()
    block(budget, 30.0)
    world.restart()

    assert budget.take([SLOW], horizon_s=0.0) == denied(30.0, blocked=True)


def test_a_longer_block_is_told_over_the_old_one(world: World, budget: TokenBudget) -> None:
    block(budget, 5.0)
    world.save()
    block(budget, 30.0)
    world.restart()
    budget.retell()

    assert world.process().take([SLOW], horizon_s=0.0) == denied(30.0, blocked=True)


def test_a_pace_that_was_lowered_since_holds_for_who_knows_it(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 1.0)
    world.clock.advance(5.0)
    world.save()
    block(budget, 1.0)
    world.clock.advance(5.0)
    world.restart()

    assert budget.take([SLOW], horizon_s=0.0) == denied(2.0)


def test_a_restart_in_a_block_does_not_shorten_it(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 10.0)
    world.save()
    world.restart()
    budget.take([SLOW], horizon_s=0.0)
    world.clock.advance(10.5)

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)
    world.clock.advance(0.5)
    assert isinstance(budget.take([SLOW], horizon_s=0.0), Granted)


def test_restart_after_restart_grants_no_more(world: World, budget: TokenBudget) -> None:
    fill(world)
    world.save()
    count = 0
    for _ in range(10):
        count += drain(budget)
        world.restart()
        world.clock.advance(0.4)

    assert count == SLOW.burst


def test_the_work_goes_on_after_it(world: World, budget: TokenBudget) -> None:
    fill(world)
    world.restart()
    budget.take([SLOW], horizon_s=0.0)
    world.clock.advance(0.5)

    granted(budget)
