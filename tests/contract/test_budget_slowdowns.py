"""What every budget promises when a source says «slower»: one event, and a backoff."""

from __future__ import annotations

import pytest

from core.budget.budget import TokenBudget
from core.ports import Slowdown
from tests.support.budget_world import (
    HOST,
    LATEST,
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

# --- one event ---


def test_a_refusal_halves_the_pace(world: World, budget: TokenBudget) -> None:
    fill(world)

    assert budget.throttled("slow", era=0, seconds=10.0) == Slowdown(0.5, 10.0, is_news=True)


def test_a_refusal_empties_the_bucket(world: World, budget: TokenBudget) -> None:
    fill(world)
    granted(budget)
    block(budget, 10.0)
    world.clock.advance(10.0)

    assert drain(budget) == 0


def test_a_halved_bucket_fills_half_as_fast(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 10.0)
    world.clock.advance(10.0)

    assert budget.take([SLOW], horizon_s=0.0) == denied(1.0)


def test_a_halved_bucket_still_holds_its_burst(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 10.0)
    world.clock.advance(20.0)

    assert drain(budget) == SLOW.burst


def test_all_answers_to_what_was_under_way_are_one_event(world: World, budget: TokenBudget) -> None:
    fill(world)
    eras = [granted(budget).era for _ in range(3)]

    told = [budget.throttled("slow", era=era, seconds=10.0) for era in eras]

    assert [slowdown.is_news for slowdown in told] == [True, False, False]
    assert {slowdown.pace for slowdown in told} == {0.5}


def test_answers_that_come_after_the_block_are_the_same_event(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    era = granted(budget).era
    budget.throttled("slow", era=era, seconds=1.0)
    world.clock.advance(10.0)

    assert budget.throttled("slow", era=era, seconds=None) == Slowdown(0.5, 0.0, is_news=False)


def test_a_later_answer_of_the_event_may_prolong_the_block(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    budget.throttled("slow", era=0, seconds=10.0)
    world.clock.advance(1.0)

    assert budget.throttled("slow", era=0, seconds=60.0) == Slowdown(0.5, 60.0, is_news=False)


def test_a_later_answer_of_the_event_never_shortens_the_block(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    budget.throttled("slow", era=0, seconds=10.0)

    assert budget.throttled("slow", era=0, seconds=2.0).blocked_s == 10.0


def test_a_refusal_of_the_new_era_is_a_new_event(world: World, budget: TokenBudget) -> None:
    fill(world)
    budget.throttled("slow", era=0, seconds=10.0)
    world.clock.advance(15.0)
    era = granted(budget).era

    assert budget.throttled("slow", era=era, seconds=10.0) == Slowdown(0.25, 10.0, is_news=True)


def test_every_grant_tells_its_era(world: World, budget: TokenBudget) -> None:
    fill(world)
    before = granted(budget).era
    block(budget, 1.0)
    world.clock.advance(5.0)

    assert before == 0
    assert granted(budget).era == round((world.clock.now() - 5.0) * 1e6)


@pytest.mark.parametrize("names", [("slow", HOST.name), (HOST.name, "slow")])
def test_the_latest_era_of_all_buckets_goes_with_a_grant(
    world: World, budget: TokenBudget, names: tuple[str, str]
) -> None:
    fill(world, SLOW, HOST)
    for name in names:
        block(budget, 1.0, name)
        world.clock.advance(10.0)
    era = granted(budget, SLOW, HOST).era

    assert all(budget.throttled(name, era=era, seconds=1.0).is_news for name in names)


def test_a_clock_that_is_set_back_makes_no_older_era(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 1.0)
    world.clock.advance(3.0)
    era = granted(budget).era
    world.clock.advance(-60.0)
    block(budget, 1.0)
    world.clock.advance(70.0)

    assert granted(budget).era > era


def test_an_event_of_the_source_is_none_of_its_hosts(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    block(budget, 1.0)

    assert pace(budget, HOST.name) == 1.0


def test_the_pace_never_falls_below_its_floor(world: World, budget: TokenBudget) -> None:
    paces = [block(budget, 1.0).pace for _ in range(10)]

    assert paces == [0.5, 0.25, 0.125, 0.0625, 0.03125] + [1 / 64] * 5


def test_a_worker_that_starts_later_begins_at_the_lowered_pace(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    block(budget, 10.0)
    world.clock.advance(10.0)

    assert world.process().take([SLOW], horizon_s=0.0) == denied(1.0)


# --- the backoff ---


@pytest.mark.parametrize(
    ("seconds", "blocked_s"), [(10.0, 10.0), (0.0, 1.0), (-300.0, 1.0), (0.2, 1.0), (None, 30.0)]
)
def test_a_block_lasts_as_told_but_at_least_the_backoff(
    budget: TokenBudget, seconds: float | None, blocked_s: float
) -> None:
    assert budget.throttled("slow", era=0, seconds=seconds).blocked_s == blocked_s


def test_the_backoff_doubles_with_each_event_in_a_row(world: World, budget: TokenBudget) -> None:
    assert [block(budget, 0.0).blocked_s for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_the_backoff_ends_at_five_minutes(world: World, budget: TokenBudget) -> None:
    for _ in range(40):
        world.clock.advance(400.0)
        blocked_s = budget.throttled("slow", era=LATEST, seconds=None).blocked_s

    assert blocked_s == 300.0


def test_a_clean_window_starts_the_backoff_anew(world: World, budget: TokenBudget) -> None:
    fill(world)
    for _ in range(4):
        block(budget, 0.0)
    world.clock.advance(100.0)
    granted(budget)
    climb(world, budget, 1)

    assert block(budget, 0.0).blocked_s == 1.0
