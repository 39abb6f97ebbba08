"""What every budget promises when requests fail and nothing is answered any more."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.ports import Slowdown
from tests.support.budget_world import (
    HOST,
    LATEST,
    SLOW,
    World,
    block,
    climb,
    fill,
    granted,
    pace,
)


def fail(budget: TokenBudget, *tasks: str, era: int = LATEST, enough: int = 3) -> Slowdown | None:
    """One failure of each task; what came of the last."""
    last = None
    for task in tasks:
        last = budget.failed("slow", era=era, task=task, enough=enough)
    return last


def test_failures_of_distinct_tasks_slow_a_source_down(budget: TokenBudget) -> None:
    assert fail(budget, "a", "b", "c") == Slowdown(0.5, 5.0, is_news=True)


def test_fewer_are_not_enough(budget: TokenBudget) -> None:
    assert fail(budget, "a", "b") is None


def test_one_broken_address_slows_nothing_down(budget: TokenBudget) -> None:
    assert fail(budget, *["a"] * 20) is None


def test_a_task_is_no_part_of_another_that_begins_like_it(budget: TokenBudget) -> None:
    assert fail(budget, "abc", "ab", "b") is not None


def test_one_may_be_enough(budget: TokenBudget) -> None:
    assert fail(budget, "a", enough=1) == Slowdown(0.5, 5.0, is_news=True)


def test_failures_that_take_long_to_be_enough_are_forgotten(
    world: World, budget: TokenBudget
) -> None:
    fail(budget, "a", "b")
    world.clock.advance(61.0)

    assert fail(budget, "c", "d") is None


def test_an_answer_forgets_the_failures(budget: TokenBudget) -> None:
    fail(budget, "a", "b")
    budget.answered("slow")

    assert fail(budget, "c", "d") is None


def test_failures_count_across_processes(world: World, budget: TokenBudget) -> None:
    fail(budget, "a", "b")

    assert fail(world.process(), "c") is not None


def test_a_grant_tells_that_failures_are_counted(world: World, budget: TokenBudget) -> None:
    fill(world)
    before = granted(budget).troubled
    fail(budget, "a")
    during = granted(budget).troubled
    budget.answered("slow")

    assert (before, during, granted(budget).troubled) == (False, True, False)


def test_failures_of_what_was_under_way_are_the_same_event(
    world: World, budget: TokenBudget
) -> None:
    fail(budget, "a", "b", "c", era=0)
    world.clock.advance(1.0)

    assert fail(budget, "d", era=0) == Slowdown(0.5, 4.0, is_news=False)


def test_old_failures_that_come_after_the_block_are_nothing(
    world: World, budget: TokenBudget
) -> None:
    fail(budget, "a", "b", "c", era=0)
    world.clock.advance(6.0)

    assert fail(budget, "d", "e", "f", era=0) is None


def test_a_refusal_forgets_the_failures_before_it(world: World, budget: TokenBudget) -> None:
    fail(budget, "a", "b")
    block(budget, 1.0)

    assert fail(budget, "c", "d") is None


def test_while_nothing_is_answered_one_failure_is_enough(world: World, budget: TokenBudget) -> None:
    fail(budget, "a", "b", "c")
    world.clock.advance(5.0)

    assert fail(budget, "d") == Slowdown(0.25, 10.0, is_news=True)


def test_after_an_answer_it_takes_several_again(world: World, budget: TokenBudget) -> None:
    fail(budget, "a", "b", "c")
    budget.answered("slow")

    assert fail(budget, "d", "e") is None


def test_a_grant_tells_that_nothing_was_answered_yet(world: World, budget: TokenBudget) -> None:
    fill(world)
    fail(budget, "a", "b", "c")
    world.clock.advance(10.0)

    assert granted(budget).troubled


def test_a_host_that_answers_has_its_source_answer(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    fail(budget, "a", enough=1)
    world.clock.advance(10.0)
    before = granted(budget, SLOW, HOST).troubled
    budget.answered(HOST.name)

    assert before
    assert not granted(budget, SLOW, HOST).troubled


def test_grants_that_nothing_answers_climb_no_step(world: World, budget: TokenBudget) -> None:
    fill(world)
    fail(budget, "a", "b", "c")
    world.clock.advance(10.0)
    granted(budget)
    climb(world, budget, 3)

    assert pace(budget) == 0.5


def test_after_an_answer_it_climbs_again(world: World, budget: TokenBudget) -> None:
    fill(world)
    fail(budget, "a", "b", "c")
    world.clock.advance(10.0)
    granted(budget)
    world.clock.advance(100.0)
    budget.answered("slow")
    granted(budget)
    climb(world, budget, 1)

    assert pace(budget) == 0.625


def test_an_outage_survives_a_flush(world: World, budget: TokenBudget) -> None:
    fail(budget, "a", "b", "c")
    world.flush()
    world.clock.advance(10.0)

    assert fail(budget, "d") == Slowdown(0.25, 10.0, is_news=True)


def test_an_answer_without_trouble_makes_nothing(world: World, budget: TokenBudget) -> None:
    budget.answered("slow")

    assert budget.standing("slow") is None
