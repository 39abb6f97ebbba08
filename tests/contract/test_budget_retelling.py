"""What every budget promises of a process that knows of a slowdown and makes no claims, because it
closed its lanes: it tells all the same what it knows."""

from __future__ import annotations

from core.budget.budget import TokenBudget
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
)


def test_a_block_holds_after_a_flush_for_who_was_started_since(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 30.0)
    world.flush()
    budget.retell()

    assert world.process().take([SLOW], horizon_s=0.0) == denied(30.0, blocked=True)


def test_a_pace_holds_after_a_flush_for_who_was_started_since(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 1.0)
    world.clock.advance(5.0)
    world.flush()
    budget.retell()

    assert world.process().take([SLOW], horizon_s=0.0) == denied(1.0)


def test_each_of_several_is_told(world: World, budget: TokenBudget) -> None:
    block(budget, 30.0)
    block(budget, 60.0, HOST.name)
    world.flush()
    budget.retell()

    assert [world.process().blocked_for(name) for name in (SLOW.name, HOST.name)] == [30.0, 60.0]


def test_telling_again_charges_and_prolongs_nothing(world: World, budget: TokenBudget) -> None:
    other = world.process()
    fill(world)
    block(budget, 10.0)
    for _ in range(20):
        world.clock.advance(1.0)
        budget.retell()

    assert drain(other) == 3


def test_what_was_granted_while_the_block_was_forgotten_is_no_way_around_it(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 30.0)
    world.flush()
    innocent = world.process()
    innocent.take([SLOW], horizon_s=0.0)
    world.clock.advance(1.0)
    granted(innocent)
    budget.retell()

    assert innocent.take([SLOW], horizon_s=5.0) == denied(29.0, blocked=True)


def test_a_block_of_a_day_is_known_to_its_end_though_nobody_claims(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 86_400.0)
    for _ in range(23):
        world.clock.advance(3600.0)
        budget.retell()
    world.flush()
    budget.retell()

    assert world.process().blocked_for("slow") == 3600.0


def test_what_nobody_claims_is_not_told_for_ever(world: World, budget: TokenBudget) -> None:
    block(budget, 1.0)
    for _ in range(61):
        world.clock.advance(60.0)
        budget.retell()
    world.flush()
    budget.retell()

    assert world.process().standing("slow") is None


def test_who_only_tells_learns_that_it_climbed_back(world: World, budget: TokenBudget) -> None:
    worker = world.process()
    fill(world)
    block(budget, 1.0)
    world.clock.advance(5.0)
    granted(worker)
    climb(world, worker, 6)
    budget.retell()
    world.flush()
    budget.retell()

    assert world.process().standing("slow") is None


def test_who_only_tells_learns_of_a_longer_block(world: World, budget: TokenBudget) -> None:
    block(budget, 10.0)
    block(world.process(), 30.0)
    budget.retell()
    world.flush()
    budget.retell()

    assert world.process().blocked_for("slow") == 30.0
