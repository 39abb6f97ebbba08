"""The budget of a worker of the bench: a worker's own, with notes."""

from __future__ import annotations

from pathlib import Path

import pytest

import core.fetch.session
from core.budget.budget import TokenBudget
from core.clock import SystemClock
from scripts.bench.budget_proofs.recording import FOLDER, MarkingAdapter, recorded_budget
from scripts.servers.process import wait_until
from tests.support.redis import flush

pytestmark = pytest.mark.redis


@pytest.fixture
def recorded(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenBudget:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(core.fetch.session, "BudgetAdapter", MarkingAdapter)  # and back again
    return recorded_budget(redis_url, SystemClock())


def test_it_tells_what_it_knows_of_a_block_after_a_flush(
    redis_url: str, recorded: TokenBudget
) -> None:
    recorded.throttled("weibo", era=0, seconds=60.0)
    flush(redis_url)
    other = TokenBudget.redis(redis_url, SystemClock())
    told = wait_until(lambda: other.blocked_for("weibo") > 50.0, within_s=5.0)
    recorded.close()
    other.close()

    assert told
