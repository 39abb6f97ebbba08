"""What every budget promises of the way back from a slowdown: a step a clean window."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.ports import Granted, Slowdown
from tests.support.budget_world import (
    SLOW,
    World,
    block,
    climb,
    denied,
    drain,
    fill,
    granted,
    pace,
)


def slowed(world: World, budget: TokenBudget) -> None:
    """Slowed down, open again, and with tokens."""
    fill(world)
    block(budget, 10.0)
    world.clock.advance(15.0)


def test_a_clean_window_is_a_step_up(world: World, budget: TokenBudget) -> None:
    slowed(world, budget)
    granted(budget)
    climb(world, budget, 1)

    assert pace(budget) == 0.625


def test_a_window_is_counted_from_the_end_of_the_block(world: World, budget: TokenBudget) -> None:
    slowed(world, budget)
    granted(budget)
    world.clock.advance(24.9)
    granted(budget)

    assert pace(budget) == 0.5


def test_a_window_in_which_nothing_was_granted_proves_nothing(
    world: World, budget: TokenBudget
) -> None:
    slowed(world, budget)
    world.clock.advance(3000.0)
    granted(budget)

    assert pace(budget) == 0.5


def test_what_was_denied_proves_nothing(world: World, budget: TokenBudget) -> None:
    fill(world)
    for _ in range(7):
        block(budget, 1.0)
    world.clock.advance(64.0)
    for _ in range(3):
        assert not isinstance(budget.take([SLOW], horizon_s=0.0), Granted)
        world.clock.advance(9.0)

    assert pace(budget) == 1 / 64


def test_it_climbs_back_to_its_full_rate_and_no_further(world: World, budget: TokenBudget) -> None:
    slowed(world, budget)
    granted(budget)
    paces = []
    for _ in range(6):
        climb(world, budget, 1)
        paces.append(pace(budget))

    assert paces == [0.625, 0.75, 0.875, 1.0, 1.0, 1.0]


def test_a_bucket_that_climbed_back_fills_at_its_rate(world: World, budget: TokenBudget) -> None:
    slowed(world, budget)
    granted(budget)
    climb(world, budget, 4)
    drain(budget)

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_old_answers_are_no_news_even_after_it_climbed_back(
    world: World, budget: TokenBudget
) -> None:
    slowed(world, budget)
    granted(budget)
    climb(world, budget, 5)

    assert budget.throttled("slow", era=0, seconds=None) == Slowdown(1.0, 0.0, is_news=False)


def test_an_old_answer_may_still_close_what_climbed_back(world: World, budget: TokenBudget) -> None:
    slowed(world, budget)
    granted(budget)
    climb(world, budget, 5)
    budget.throttled("slow", era=0, seconds=20.0)

    assert world.process().take([SLOW], horizon_s=0.0) == denied(20.0, blocked=True)


def test_a_prolonged_block_starts_the_window_anew(world: World, budget: TokenBudget) -> None:
    slowed(world, budget)
    granted(budget)
    budget.throttled("slow", era=0, seconds=20.0)
    world.clock.advance(60.0)
    granted(budget)

    assert pace(budget) == 0.5


def test_an_idle_bucket_is_kept_slowed(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 10.0)
    world.clock.advance(3000.0)

    assert pace(world.process()) == 0.5
