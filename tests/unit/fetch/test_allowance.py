from __future__ import annotations

import threading
from typing import Any

import pytest

from core.errors import BudgetSpent, Released, SourceBlocked
from core.fetch.allowance import Allowance
from core.ports import BucketKey, Denied, Granted, Reserved
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.fetching import terms_of


def _allowance(
    *answers: Granted | Reserved | Denied, lasts_s: float = 600.0, **terms: Any
) -> tuple[Allowance, OpenBudget, FakeClock, threading.Event]:
    budget, clock, stop = OpenBudget(*answers), FakeClock(), threading.Event()
    allowance = Allowance(
        budget,
        terms_of("cats", **terms),
        clock,
        stop,
        first_horizon_s=5.0,
        ends_at=clock.monotonic() + lasts_s,
    )
    return allowance, budget, clock, stop


def test_a_token_at_once_is_prompt() -> None:
    allowance, budget, clock, _ = _allowance(Granted())

    allowance.take("cdn.example")

    assert budget.takes == [((BucketKey("cats", 10.0, 20),), 5.0)]
    assert allowance.waits.prompt
    assert allowance.waits.taken == 1
    assert clock.slept == []


def test_a_reservation_is_waited_for_and_confirmed() -> None:
    allowance, budget, clock, _ = _allowance(Reserved(2.0, "t"), Reserved(0.5, "t"), Granted())

    allowance.take("cdn.example")

    assert clock.slept == [2.0, 0.5]
    assert budget.confirms == ["t", "t"]
    assert (allowance.waits.all_s, allowance.waits.prompt) == (2.5, False)


def test_a_voided_reservation_is_taken_anew_within_what_is_left_of_the_horizon() -> None:
    allowance, budget, _, _ = _allowance(
        Reserved(2.0, "old"), Denied(0.0), Reserved(1.0, "new"), Granted()
    )

    allowance.take("cdn.example")

    assert [horizon for _, horizon in budget.takes] == [5.0, 3.0]
    assert budget.confirms == ["old", "new"]


def test_a_budget_that_keeps_voiding_is_spent() -> None:
    voided = [Reserved(0.0, "t"), Denied(0.0)] * 20
    allowance, budget, _, _ = _allowance(*voided)

    with pytest.raises(BudgetSpent):
        allowance.take("cdn.example")

    assert len(budget.takes) == 10


def test_a_first_token_due_too_late_is_spent_and_nothing_is_waited_for() -> None:
    allowance, _, clock, _ = _allowance(Denied(7.5))

    with pytest.raises(BudgetSpent) as caught:
        allowance.take("cdn.example")

    assert caught.value.delay_s == 7.5
    assert clock.slept == []
    assert not allowance.waits.prompt
    assert allowance.waits.taken == 0


def test_a_blocked_source_is_told_apart_from_its_own_answer() -> None:
    allowance, _, _, _ = _allowance(Denied(30.0, blocked=True))

    with pytest.raises(SourceBlocked) as caught:
        allowance.take("cdn.example")

    assert caught.value.delay_s == 30.0


def test_later_tokens_wait_for_as_long_as_the_run_has() -> None:
    allowance, budget, clock, _ = _allowance(Granted(), Reserved(90.0, "t"), lasts_s=600.0)
    allowance.take("cdn.example")
    clock.advance(100.0)

    allowance.take("cdn.example")

    assert budget.takes[1][1] == 500.0
    assert allowance.waits.all_s == 90.0
    assert allowance.waits.prompt


def test_stopping_ends_the_wait() -> None:
    allowance, budget, _, stop = _allowance(Reserved(2.0, "t"))
    stop.set()

    with pytest.raises(Released):
        allowance.take("cdn.example")

    assert budget.confirms == []


def test_a_source_of_many_hosts_takes_of_both_buckets_together() -> None:
    allowance, budget, _, _ = _allowance(many_hosts=True)

    allowance.take("cdn.example")

    buckets = (BucketKey("cats", 10.0, 20), BucketKey("cats/cdn.example", 10.0, 20))
    assert budget.takes == [(buckets, 5.0)]


@pytest.mark.parametrize(
    ("answers", "prompt"), [((Granted(),), True), ((Reserved(2.5, "t"), Granted()), False)]
)
def test_whether_the_first_token_came_at_once_is_told_when_it_comes(
    answers: tuple[Granted | Reserved, ...], prompt: bool
) -> None:
    allowance, _, _, _ = _allowance(*answers)
    told: list[bool] = []
    allowance.on_first_token = told.append

    allowance.take("cdn.example")
    allowance.take("cdn.example")

    assert told == [prompt]
