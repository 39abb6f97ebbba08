"""What every budget tells people of a bucket."""

from __future__ import annotations

import pytest

from core.budget.budget import TokenBudget
from core.ports import Standing
from tests.support.budget_world import (
    SLOW,
    World,
    block,
    fill,
)


def standing(budget: TokenBudget) -> Standing:
    found = budget.standing("slow")
    assert found is not None
    return found


def use(world: World, budget: TokenBudget, *, seconds: int, per_s: int) -> None:
    """Requests at an even rate, each of which waited 0.1 s and took 0.3."""
    for _ in range(seconds * per_s):
        world.clock.advance(1 / per_s)
        budget.used("slow", waited_s=0.1, asked_s=0.3)


def test_nothing_is_known_of_a_bucket_that_nobody_asked(budget: TokenBudget) -> None:
    assert budget.standing("slow") is None


def test_a_bucket_stands_on_its_terms(world: World, budget: TokenBudget) -> None:
    fill(world)

    assert budget.standing("slow") == Standing(2.0, 3, 1.0, 0.0, 0, 0.0, 0.0, 0.0)


def test_a_block_and_its_pace_are_told(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 30.0)
    world.clock.advance(10.0)

    assert (standing(budget).pace, standing(budget).blocked_s) == (0.5, 20.0)


def test_slowdowns_are_counted_once_an_event(world: World, budget: TokenBudget) -> None:
    fill(world)
    for _ in range(3):
        block(budget, 1.0)
        budget.throttled("slow", era=0, seconds=1.0)

    assert standing(budget).slowdowns == 3


def test_a_block_is_told_even_of_a_bucket_without_terms(world: World, budget: TokenBudget) -> None:
    block(budget, 30.0)

    assert standing(budget).blocked_s == 30.0


def test_another_process_sees_the_same(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 30.0)
    use(world, budget, seconds=10, per_s=2)

    assert world.process().standing("slow") == standing(budget)


def test_asking_changes_nothing(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 1.0)
    world.clock.advance(200.0)

    assert standing(budget) == standing(budget)


@pytest.mark.parametrize("seconds", [5, 60, 300])
def test_the_rate_of_what_goes_out_is_told(world: World, budget: TokenBudget, seconds: int) -> None:
    fill(world)
    use(world, budget, seconds=seconds, per_s=4)

    assert standing(budget).requests_per_s == pytest.approx(4.0, rel=0.15)


def test_the_rate_of_a_short_rush_after_a_rest_is_told(world: World, budget: TokenBudget) -> None:
    fill(world)
    use(world, budget, seconds=100, per_s=1)
    world.clock.advance(120.0)
    use(world, budget, seconds=4, per_s=22)

    assert 14.0 < standing(budget).requests_per_s <= 22.0


def test_a_single_request_is_no_rush(world: World, budget: TokenBudget) -> None:
    fill(world)
    budget.used("slow", waited_s=0.0, asked_s=0.1)

    assert standing(budget).requests_per_s == 0.25


def test_waits_and_times_are_those_of_one_request(world: World, budget: TokenBudget) -> None:
    fill(world)
    use(world, budget, seconds=100, per_s=2)

    assert standing(budget).waited_s == pytest.approx(0.1)
    assert standing(budget).asked_s == pytest.approx(0.3)


def test_a_rush_that_waited_is_soon_forgotten_in_a_calm(world: World, budget: TokenBudget) -> None:
    fill(world)
    for _ in range(87):
        world.clock.advance(4 / 87)
        budget.used("slow", waited_s=2.0, asked_s=0.02)
    rush = standing(budget).waited_s
    for _ in range(120):
        world.clock.advance(0.5)
        budget.used("slow", waited_s=0.0, asked_s=0.02)

    assert rush == pytest.approx(2.0)
    assert standing(budget).waited_s < 0.1
    assert standing(budget).asked_s == pytest.approx(0.02)


def test_the_rate_fades_when_nothing_goes_out(world: World, budget: TokenBudget) -> None:
    fill(world)
    use(world, budget, seconds=100, per_s=2)
    before = standing(budget)
    world.clock.advance(10.0)

    assert standing(budget).requests_per_s == pytest.approx(before.requests_per_s / 2, rel=0.1)
    assert standing(budget).waited_s == pytest.approx(before.waited_s)


def test_of_requests_that_are_long_over_nothing_is_told(world: World, budget: TokenBudget) -> None:
    fill(world)
    use(world, budget, seconds=100, per_s=2)
    world.clock.advance(120.0)
    now = standing(budget)

    assert (now.requests_per_s, now.waited_s, now.asked_s) == (0.0, 0.0, 0.0)


def test_figures_of_several_processes_add_up(world: World, budget: TokenBudget) -> None:
    fill(world)
    others = [budget, world.process()]
    for _ in range(100):
        world.clock.advance(0.5)
        for each in others:
            each.used("slow", waited_s=0.0, asked_s=0.1)

    assert standing(budget).requests_per_s == pytest.approx(4.0, rel=0.15)


def test_figures_of_a_bucket_that_nobody_knows_are_dropped(budget: TokenBudget) -> None:
    budget.used("slow", waited_s=0.1, asked_s=0.1)

    assert budget.standing("slow") is None


def test_figures_say_nothing_of_other_buckets(world: World, budget: TokenBudget) -> None:
    fill(world)
    budget.used("other", waited_s=0.1, asked_s=0.1)

    assert standing(budget).waited_s == 0.0


def test_using_does_not_touch_the_tokens(world: World, budget: TokenBudget) -> None:
    fill(world)
    use(world, budget, seconds=5, per_s=4)
    fresh = world.process()

    assert len([1 for _ in range(10) if not _denied(fresh)]) == SLOW.burst


def _denied(budget: TokenBudget) -> bool:
    return type(budget.take([SLOW], horizon_s=0.0)).__name__ == "Denied"
