"""What TokenBudget does on its own: jitter, and how often it speaks to its storage."""

from __future__ import annotations

from core.budget.budget import TokenBudget
from core.budget.memory import MemoryBucketStorage
from core.budget.strategy import TokenBucketRateLimiter
from core.budget.usage import Figures
from core.ports import BucketKey
from tests.support.budget_world import LATEST
from tests.support.clock import FakeClock


class Listening(MemoryBucketStorage):
    """Notes the figures that it is told."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.figures: list[tuple[str, Figures]] = []

    def used(self, name: str, figures: Figures) -> None:
        self.figures.append((name, figures))
        super().used(name, figures)


def listening(clock: FakeClock) -> tuple[TokenBudget, Listening]:
    storage = Listening(clock)
    return TokenBudget(TokenBucketRateLimiter(storage, clock), clock), storage


def test_a_backoff_is_jittered_between_half_and_all_of_it() -> None:
    budget = TokenBudget.memory(FakeClock())

    blocks = [
        budget.throttled(f"source-{n}", era=LATEST, seconds=None).blocked_s for n in range(200)
    ]

    assert 15.0 <= min(blocks) < 18.0
    assert 27.0 < max(blocks) <= 30.0


def test_a_time_that_the_source_named_is_not_jittered() -> None:
    budget = TokenBudget.memory(FakeClock())

    assert {budget.throttled(f"{n}", era=0, seconds=9.0).blocked_s for n in range(20)} == {9.0}


def test_figures_are_told_once_a_second() -> None:
    clock = FakeClock()
    budget, storage = listening(clock)
    for _ in range(40):
        budget.used("slow", waited_s=0.5, asked_s=1.0)
        clock.advance(0.25)

    assert len(storage.figures) == 10
    assert storage.figures[1] == ("slow", Figures(4, 2.0, 4.0))


def test_figures_of_each_bucket_are_told_apart() -> None:
    clock = FakeClock()
    budget, storage = listening(clock)
    budget.used("a", waited_s=0.5, asked_s=1.0)
    budget.used("b", waited_s=0.1, asked_s=0.2)

    assert storage.figures == [("a", Figures(1, 0.5, 1.0)), ("b", Figures(1, 0.1, 0.2))]


def test_figures_of_many_hosts_leave_nothing_that_grows() -> None:
    clock = FakeClock()
    budget, _ = listening(clock)
    for number in range(5000):
        budget.used(f"list/{number}.test", waited_s=0.5, asked_s=1.0)
        clock.advance(0.01)

    assert len(budget._tally._sums) <= 1300


def test_what_is_heard_of_many_sources_leaves_nothing_that_stays() -> None:
    clock = FakeClock()
    budget = TokenBudget.memory(clock)
    for number in range(500):
        budget.throttled(f"list/{number}.test", era=0, seconds=1.0)
        clock.advance(60.0)

    assert len(budget._heard) <= 61


def test_a_bucket_that_climbed_back_is_no_longer_kept_in_mind() -> None:
    clock = FakeClock()
    budget = TokenBudget.memory(clock)
    key = BucketKey("slow", 2.0, 3)
    budget.throttled("slow", era=0, seconds=1.0)
    for _ in range(20):
        clock.advance(31.0)
        budget.take([key], horizon_s=0.0)

    assert len(budget._heard) == 0
