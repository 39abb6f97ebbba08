"""What every budget promises, in memory and in Redis alike: filling, reserving, several buckets."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.ports import BucketKey, Denied, Granted, Reserved
from tests.support.budget_world import (
    HOST,
    SLOW,
    World,
    denied,
    drain,
    fill,
    reserve,
)

# --- filling ---


def test_a_new_bucket_is_empty(budget: TokenBudget) -> None:
    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)


def test_a_denied_take_starts_the_bucket_filling(world: World, budget: TokenBudget) -> None:
    budget.take([SLOW], horizon_s=0.0)
    world.clock.advance(0.5)

    assert budget.take([SLOW], horizon_s=0.0) == Granted()


def test_a_bucket_holds_its_burst_and_no_more(world: World, budget: TokenBudget) -> None:
    fill(world)

    assert drain(budget) == 3


def test_a_drained_bucket_fills_at_its_rate(world: World, budget: TokenBudget) -> None:
    fill(world)
    drain(budget)
    world.clock.advance(1.0)

    assert drain(budget) == 2


def test_a_rate_below_one_a_second_is_kept(world: World, budget: TokenBudget) -> None:
    rare = BucketKey("rare", rate=0.1, burst=1)
    fill(world, rare)
    drain(budget, rare)

    assert budget.take([rare], horizon_s=0.0) == denied(10.0, bucket="rare")


def test_fractions_of_tokens_are_not_lost_between_calls(world: World, budget: TokenBudget) -> None:
    fill(world)
    drain(budget)
    for _ in range(10):
        world.clock.advance(0.05)
        last = budget.take([SLOW], horizon_s=0.0)

    assert last == Granted()


def test_a_denied_take_charges_nothing(world: World, budget: TokenBudget) -> None:
    fill(world)
    drain(budget)
    for _ in range(50):
        budget.take([SLOW], horizon_s=0.1)

    assert budget.take([SLOW], horizon_s=0.1) == denied(0.5)


# --- reserving ---


def test_a_token_due_within_the_horizon_is_reserved(budget: TokenBudget) -> None:
    assert reserve(budget).wait_s == 0.5


def test_a_token_due_past_the_horizon_is_not_reserved(budget: TokenBudget) -> None:
    assert budget.take([SLOW], horizon_s=0.4) == denied(0.5)


def test_reservations_are_due_one_after_the_other(budget: TokenBudget) -> None:
    assert [reserve(budget).wait_s for _ in range(4)] == [0.5, 1.0, 1.5, 2.0]


def test_reservations_end_where_the_horizon_does(budget: TokenBudget) -> None:
    for _ in range(10):
        reserve(budget)

    assert budget.take([SLOW], horizon_s=5.0) == denied(5.5)


def test_a_due_reservation_is_granted(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    world.clock.advance(ticket.wait_s)

    assert budget.confirm([SLOW], ticket.ticket) == Granted()


def test_an_early_confirm_is_told_the_rest(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    world.clock.advance(0.2)

    assert budget.confirm([SLOW], ticket.ticket) == Reserved(0.3, ticket.ticket)


def test_a_ticket_is_one_grant(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    world.clock.advance(60.0 / 20)
    budget.confirm([SLOW], ticket.ticket)

    assert budget.confirm([SLOW], ticket.ticket) == Denied(0.0)


def test_an_unknown_ticket_is_denied(world: World, budget: TokenBudget) -> None:
    fill(world)

    assert budget.confirm([SLOW], "0123456789abcdef") == Denied(0.0)


def test_a_promised_token_is_not_granted_to_a_newcomer(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    world.clock.advance(0.5)

    assert budget.take([SLOW], horizon_s=0.0) == denied(0.5)
    assert budget.confirm([SLOW], ticket.ticket) == Granted()


def test_another_process_may_confirm_nothing_twice(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget)
    world.clock.advance(0.5)
    budget.confirm([SLOW], ticket.ticket)

    assert isinstance(world.process().confirm([SLOW], ticket.ticket), Denied)


def test_late_wakers_go_in_their_order(world: World, budget: TokenBudget) -> None:
    one = BucketKey("one", rate=1.0, burst=1)
    tickets = [reserve(budget, one) for _ in range(3)]
    world.clock.advance(3.9)

    answers = [budget.confirm([one], ticket.ticket) for ticket in tickets]

    assert answers == [
        Granted(),
        Reserved(1.0, tickets[1].ticket),
        Reserved(2.0, tickets[2].ticket),
    ]


def test_lateness_never_adds_to_the_burst(world: World, budget: TokenBudget) -> None:
    tickets = [reserve(budget) for _ in range(10)]
    world.clock.advance(5.4)

    answers = [budget.confirm([SLOW], ticket.ticket) for ticket in tickets]

    assert answers.count(Granted()) == SLOW.burst


def test_a_dead_reserver_delays_others_only_for_a_while(world: World, budget: TokenBudget) -> None:
    for _ in range(10):
        reserve(budget)
    world.clock.advance(10.1)

    assert drain(budget) == SLOW.burst


def test_lost_lateness_does_not_pile_up(world: World, budget: TokenBudget) -> None:
    one = BucketKey("one", rate=10.0, burst=1)
    waits = []
    for turn in range(300):
        ticket = reserve(budget, one)
        world.clock.advance(ticket.wait_s + (0.03 if turn % 2 else 0.0))
        waits.append(ticket.wait_s)
        assert budget.confirm([one], ticket.ticket) == Granted()

    assert max(waits) <= 0.1


# --- several buckets ---


def test_a_take_charges_every_bucket(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    budget.take([SLOW, HOST], horizon_s=0.0)

    assert (drain(budget, SLOW), drain(budget, HOST)) == (2, 1)


def test_the_emptiest_bucket_decides(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    drain(budget, HOST)

    assert budget.take([SLOW, HOST], horizon_s=0.0) == denied(1.0, bucket=HOST.name)


def test_a_take_that_one_bucket_denies_charges_none(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    drain(budget, HOST)
    budget.take([SLOW, HOST], horizon_s=0.0)

    assert drain(budget, SLOW) == 3


def test_a_reservation_holds_in_every_bucket(world: World, budget: TokenBudget) -> None:
    ticket = reserve(budget, SLOW, HOST)
    world.clock.advance(ticket.wait_s)

    assert ticket.wait_s == 1.0
    assert budget.confirm([SLOW, HOST], ticket.ticket) == Granted()
    assert budget.take([HOST], horizon_s=0.0) == denied(1.0, bucket=HOST.name)


def test_of_two_that_are_as_empty_the_source_is_named(budget: TokenBudget) -> None:
    host = BucketKey("slow/a.test", SLOW.rate, SLOW.burst)

    assert budget.take([SLOW, host], horizon_s=0.0) == denied(0.5, bucket="slow")
