"""The worlds that the contract suites run in, where several files share one."""

from __future__ import annotations

import pytest

from core.budget.budget import TokenBudget
from tests.support.budget_world import STORAGES, World, budget_world


@pytest.fixture(params=STORAGES)
def world(request: pytest.FixtureRequest) -> World:
    """Of the budget, on each storage."""
    return budget_world(request)


@pytest.fixture
def budget(world: World) -> TokenBudget:
    """One of its processes."""
    return world.process()
