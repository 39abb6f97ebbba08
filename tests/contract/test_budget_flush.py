"""What every budget promises of a storage that was flushed: nothing is granted twice, and whoever
heard of a slowdown tells it again."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.ports import BucketKey, Denied
from tests.support.budget_world import (
    SLOW,
    World,
    block,
    denied,
    drain,
    fill,
    granted,
    reserve,
)


def test_a_flush_grants_nothing_twice(world: World, budget: TokenBudget) -> None:
    fill(world)
    drain(budget)
    world.flush()

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_a_flush_voids_what_was_reserved(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    world.flush()
    world.clock.advance(1.0)

    assert budget.confirm([SLOW], ticket.ticket) == Denied(0.0)


def test_a_block_survives_a_flush_in_whoever_knows_it(world: World, budget: TokenBudget) -> None:
    block(budget, 30.0)
    world.flush()
    world.clock.advance(10.0)

    assert budget.take([SLOW], horizon_s=0.0) == denied(20.0, blocked=True)


def test_a_block_that_was_only_heard_of_survives_a_flush(world: World, budget: TokenBudget) -> None:
    hearer = world.process()
    block(budget, 30.0)
    hearer.take([SLOW], horizon_s=0.0)
    world.flush()

    assert hearer.take([SLOW], horizon_s=0.0) == denied(30.0, blocked=True)


def test_a_block_told_again_holds_for_those_who_never_knew(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 30.0)
    world.flush()
    budget.take([SLOW], horizon_s=0.0)

    assert world.process().take([SLOW], horizon_s=0.0) == denied(30.0, blocked=True)


def test_telling_a_block_again_does_not_prolong_it(world: World, budget: TokenBudget) -> None:
    others = [world.process() for _ in range(3)]
    block(budget, 30.0)
    for _ in range(29):
        world.clock.advance(1.0)
        for other in others:
            other.take([SLOW], horizon_s=0.0)

    assert budget.blocked_for("slow") == 1.0


def test_a_known_block_is_reported_after_a_flush(world: World, budget: TokenBudget) -> None:
    block(budget, 30.0)
    world.flush()

    assert budget.blocked_for("slow") == 30.0


def test_a_block_told_again_voids_what_was_promised_since(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 3.0)
    world.flush()
    innocent = world.process()
    ticket = reserve(innocent)
    budget.take([SLOW], horizon_s=0.0)
    world.clock.advance(4.0)

    assert innocent.confirm([SLOW], ticket.ticket) == Denied(0.0)


def test_a_block_told_again_empties_what_was_filled_since(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 30.0)
    world.flush()
    innocent = world.process()
    innocent.take([SLOW], horizon_s=0.0)
    world.clock.advance(20.0)
    budget.take([SLOW], horizon_s=0.0)
    world.clock.advance(10.0)

    assert drain(innocent) == 0


def test_a_slowdown_told_again_by_who_only_looks_empties_the_bucket(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 3.0)
    world.flush()
    innocent = world.process()
    innocent.take([SLOW], horizon_s=0.0)
    world.clock.advance(2.0)
    granted(innocent)
    budget.standing("slow")
    world.clock.advance(1.0)

    assert drain(innocent) == 0


def test_a_lowered_pace_survives_a_flush_in_whoever_knows_it(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 1.0)
    world.clock.advance(20.0)
    world.flush()
    budget.take([SLOW], horizon_s=0.0)

    assert world.process().take([SLOW], horizon_s=0.0) == denied(1.0)


def test_a_pace_that_was_only_heard_of_survives_a_flush(world: World, budget: TokenBudget) -> None:
    hearer = world.process()
    fill(world)
    block(budget, 1.0)
    world.clock.advance(20.0)
    granted(hearer)
    world.flush()

    assert hearer.take([SLOW], horizon_s=0.0) == denied(1.0)


def test_who_heard_of_an_older_slowdown_changes_nothing(world: World, budget: TokenBudget) -> None:
    other = world.process()
    block(budget, 1.0)
    world.clock.advance(5.0)
    block(other, 1.0)
    world.clock.advance(5.0)

    drain(budget)

    assert budget.take([SLOW], horizon_s=0.0) == denied(2.0)


def test_a_pace_that_climbed_back_is_not_told_again(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 1.0)
    world.clock.advance(5.0)
    for _ in range(6):
        granted(budget)
        world.clock.advance(30.0)
    world.flush()

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_the_backoff_goes_on_doubling_over_a_flush(world: World, budget: TokenBudget) -> None:
    for _ in range(3):
        block(budget, 0.0)
    world.flush()

    assert block(budget, 0.0).blocked_s == 8.0


def test_what_nobody_asked_about_for_an_hour_is_forgotten(
    world: World, budget: TokenBudget
) -> None:
    block(budget, 1.0)
    world.flush()
    world.clock.advance(3601.0)

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_who_goes_on_asking_for_hours_keeps_it_in_mind(world: World, budget: TokenBudget) -> None:
    rare = BucketKey("slow", 1e-6, 1)
    block(budget, 1.0)
    for _ in range(130):
        budget.take([rare], horizon_s=0.0)
        world.clock.advance(60.0)
    world.flush()
    budget.take([SLOW], horizon_s=0.0)

    assert world.process().take([SLOW], horizon_s=0.0) == denied(1.0)
