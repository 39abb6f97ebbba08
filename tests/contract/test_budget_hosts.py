"""What every budget tells of the hosts under a source."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.ports import BucketKey
from tests.support.budget_world import HOST, SLOW, World, block, drain, fill

OTHER = BucketKey("slow/b.test", rate=1.0, burst=2)


def test_of_many_hosts_the_one_that_is_blocked_is_told(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    fill(world, SLOW, OTHER)
    block(budget, 30.0, HOST.name)

    [(name, standing)] = budget.slow_hosts().items()

    assert (name, standing.blocked_s, standing.pace) == ("slow/a.test", 30.0, 0.5)


def test_a_host_that_is_open_again_is_told_while_it_is_slowed(
    world: World, budget: TokenBudget
) -> None:
    fill(world, SLOW, HOST)
    block(budget, 30.0, HOST.name)
    world.clock.advance(31.0)

    assert [s.blocked_s for s in world.process().slow_hosts().values()] == [0.0]


def test_a_host_that_waits_for_tokens_only_is_not_slowed(world: World, budget: TokenBudget) -> None:
    fill(world, SLOW, HOST)
    drain(budget, SLOW, HOST)
    budget.take([SLOW, HOST], horizon_s=5.0)

    assert budget.slow_hosts() == {}


def test_a_source_itself_is_no_host(budget: TokenBudget) -> None:
    block(budget, 30.0)

    assert budget.slow_hosts() == {}
