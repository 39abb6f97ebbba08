"""What every budget promises of changed terms and of blocks."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.ports import BucketKey, Denied, Granted
from tests.support.budget_world import (
    HOST,
    SLOW,
    World,
    block,
    denied,
    drain,
    fill,
    reserve,
)

# --- changed terms ---


def test_a_changed_rate_goes_on_with_the_tokens_there_are(
    world: World, budget: TokenBudget
) -> None:
    fill(world)
    drain(budget)

    assert budget.take([BucketKey("slow", 4.0, 3)], horizon_s=0.0) == denied(0.25)


def test_the_time_before_a_change_counts_at_the_old_rate(world: World, budget: TokenBudget) -> None:
    fill(world)
    drain(budget)
    world.clock.advance(1.0)

    assert drain(budget, BucketKey("slow", 100.0, 50)) == 2


def test_a_smaller_burst_holds_at_once(world: World, budget: TokenBudget) -> None:
    fill(world)

    assert drain(budget, BucketKey("slow", 2.0, 1)) == 1


def test_a_larger_burst_gives_no_token_away(world: World, budget: TokenBudget) -> None:
    fill(world)

    assert drain(budget, BucketKey("slow", 2.0, 50)) == 3


# --- blocks ---


def test_a_blocked_source_grants_nothing(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 30.0)

    assert budget.take([SLOW], horizon_s=60.0) == denied(30.0, blocked=True)


def test_a_block_holds_for_every_process(world: World, budget: TokenBudget) -> None:
    block(budget, 30.0)

    assert world.process().take([SLOW], horizon_s=60.0) == denied(30.0, blocked=True)


def test_a_blocked_source_holds_its_hosts_back(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    block(budget, 30.0)

    assert budget.take([SLOW, HOST], horizon_s=0.0) == denied(30.0, blocked=True)


def test_a_blocked_host_is_named(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    block(budget, 30.0, HOST.name)

    answer = budget.take([SLOW, HOST], horizon_s=0.0)

    assert answer == denied(30.0, blocked=True, bucket=HOST.name)


def test_a_blocked_host_leaves_its_source_open(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    block(budget, 30.0, HOST.name)

    assert drain(budget) == SLOW.burst


def test_a_block_ends_in_time(world: World, budget: TokenBudget) -> None:
    block(budget, 30.0)
    world.clock.advance(30.0)

    assert budget.take([SLOW], horizon_s=0.0) == denied(1.0)


def test_a_bucket_fills_once_its_block_is_over(world: World, budget: TokenBudget) -> None:
    fill(world)
    block(budget, 30.0)
    world.clock.advance(31.0)

    assert drain(budget) == 1


def test_a_longer_block_stands(world: World, budget: TokenBudget) -> None:
    block(budget, 30.0)
    block(budget, 5.0)

    assert budget.blocked_for("slow") == 30.0


def test_a_block_is_prolonged(world: World, budget: TokenBudget) -> None:
    block(budget, 5.0)
    block(budget, 30.0)

    assert budget.blocked_for("slow") == 30.0


def test_a_block_voids_what_was_reserved(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    block(budget, 1.0)
    world.clock.advance(2.0)

    assert budget.confirm([SLOW], ticket.ticket) == Denied(0.0)


def test_a_second_event_under_a_longer_block_voids_what_was_reserved(
    world: World, budget: TokenBudget
) -> None:
    innocent = world.process()
    block(budget, 300.0)
    world.flush()
    ticket = reserve(innocent)
    block(budget, 1.0)
    world.clock.advance(301.0)

    assert innocent.confirm([SLOW], ticket.ticket) == Denied(0.0)


def test_a_confirm_while_blocked_is_told_so(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    block(budget, 9.0)

    assert budget.confirm([SLOW], ticket.ticket) == denied(9.0, blocked=True)


def test_a_source_nobody_blocked_is_open(budget: TokenBudget) -> None:
    assert budget.blocked_for("slow") == 0.0


def test_a_block_that_is_over_leaves_the_source_open(world: World, budget: TokenBudget) -> None:
    block(budget, 5.0)
    world.clock.advance(6.0)

    assert budget.blocked_for("slow") == 0.0


def test_asking_for_a_block_makes_none(world: World, budget: TokenBudget) -> None:
    budget.blocked_for("slow")
    ticket = reserve(budget)
    budget.blocked_for("slow")
    world.clock.advance(0.5)

    assert budget.confirm([SLOW], ticket.ticket) == Granted()


def test_a_ticket_that_is_void_in_one_bucket_keeps_nobody_waiting_in_the_other(
    world: World, budget: TokenBudget
) -> None:
    ticket = reserve(budget, SLOW, HOST)
    block(budget, 1.0, HOST.name)
    world.clock.advance(1.5)
    void = budget.confirm([SLOW, HOST], ticket.ticket)

    assert void == Denied(0.0)
    assert drain(world.process(), SLOW) == SLOW.burst
