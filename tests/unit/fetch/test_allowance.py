from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from core.errors import (
    BudgetSpent,
    HostBusy,
    Postponed,
    Released,
    SharedStateDown,
    SourceBlocked,
    SourcePaused,
)
from core.fetch.allowance import Allowance, Rules, Surroundings
from core.fetch.lines import Lines
from core.model.request import Asked
from core.ports import BucketKey, Denied, Granted, Reserved
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.fetching import terms_of


def _allowance(
    *answers: Granted | Reserved | Denied,
    lasts_s: float = 600.0,
    paused: Callable[[str], bool] = lambda _source: False,
    **terms: Any,
) -> tuple[Allowance, OpenBudget, FakeClock, threading.Event]:
    budget, clock, stop = OpenBudget(*answers), FakeClock(), threading.Event()
    rules = Rules(
        budget, clock, stop, Lines(clock), first_horizon_s=5.0, around=Surroundings(paused=paused)
    )
    allowance = Allowance(rules, terms_of("cats", **terms), ends_at=clock.monotonic() + lasts_s)
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


# --- one host among many ---


@pytest.mark.parametrize("blocked", [True, False])
def test_a_host_that_keeps_its_tasks_waiting_keeps_no_others(*, blocked: bool) -> None:
    denied = Denied(40.0, blocked, bucket="cats/cdn.example")
    allowance, _, _, _ = _allowance(denied, many_hosts=True)

    with pytest.raises(HostBusy, match=r"cats/cdn\.example") as caught:
        allowance.take("cdn.example")

    assert caught.value.delay_s == 40.0


@pytest.mark.parametrize(("blocked", "kind"), [(True, SourceBlocked), (False, BudgetSpent)])
def test_a_source_of_many_hosts_that_is_spent_itself_says_so(
    kind: type[Postponed], *, blocked: bool
) -> None:
    allowance, _, _, _ = _allowance(Denied(40.0, blocked, bucket="cats"), many_hosts=True)

    with pytest.raises(kind):
        allowance.take("cdn.example")


def test_lines_hear_of_a_hosts_grants_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    monkeypatch.setattr(Lines, "granted", lambda _lines, bucket: heard.append(bucket.name))
    monkeypatch.setattr(
        Lines,
        "delay_s",
        lambda _lines, _bucket, wait_s, *, blocked: heard.append(blocked) or wait_s,
    )
    blocked = Denied(40.0, blocked=True, bucket="cats/cdn.example")
    allowance, _, _, _ = _allowance(Granted(), blocked, many_hosts=True)
    allowance.take("cdn.example")
    with pytest.raises(HostBusy):
        allowance.take("cdn.example")

    assert heard == ["cats/cdn.example", True]


def test_a_source_of_one_host_has_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    monkeypatch.setattr(Lines, "granted", lambda _lines, bucket: heard.append(bucket.name))
    allowance, _, _, _ = _allowance(Granted())
    allowance.take("cdn.example")

    assert heard == []


# --- pauses ---


def test_a_paused_source_gets_no_token_and_charges_nothing() -> None:
    allowance, budget, _, _ = _allowance(paused=lambda source: source == "cats")

    with pytest.raises(SourcePaused, match="headrace resume cats"):
        allowance.take("cdn.example")

    assert budget.takes == []


def test_a_pause_holds_back_what_waited_for_its_token() -> None:
    answers = [False, True]
    allowance, budget, _, _ = _allowance(Reserved(2.0, "t"), paused=lambda _: answers.pop(0))

    with pytest.raises(SourcePaused):
        allowance.take("cdn.example")

    assert budget.confirms == []


# --- what became of a request ---


def test_what_was_asked_last_is_known_with_the_bucket_and_the_era_that_paid() -> None:
    allowance, _, _, _ = _allowance(Granted(era=7), many_hosts=True)

    allowance.take("cdn.example")

    assert allowance.asked == Asked("cdn.example", "cats/cdn.example", era=7)


@pytest.mark.parametrize(("troubled", "told"), [(True, ["cats"]), (False, [])])
def test_a_good_answer_is_told_where_failures_are_being_counted(
    told: list[str], *, troubled: bool
) -> None:
    allowance, budget, _, _ = _allowance(Granted(troubled=troubled))
    allowance.take("cdn.example")

    allowance.answered()

    assert budget.answers == told
    assert allowance.asked is not None
    assert allowance.asked.answered


def test_a_good_answer_is_good_also_while_nobody_can_be_told() -> None:
    allowance, budget, _, _ = _allowance(Granted(troubled=True))
    allowance.take("cdn.example")

    def down(_bucket: str) -> None:
        raise SharedStateDown("no answer")

    budget.answered = down  # type: ignore[method-assign]
    allowance.answered()

    assert allowance.asked is not None
    assert allowance.asked.answered


def test_a_request_is_logged_and_counted_once_with_its_token_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    allowance, budget, clock, _ = _allowance(Reserved(2.0, "t"), Granted(), many_hosts=True)
    allowance.take("cdn.example")
    clock.advance(0.5)

    allowance.over("https://cdn.example/1.jpg?key=***", 200)
    allowance.over("https://cdn.example/1.jpg?key=***", 200)

    (line,) = caplog.messages
    assert line == (
        "GET https://cdn.example/1.jpg?key=***: 200 in 0.50 s, "
        "after 2.00 s of waiting for its token"
    )
    assert budget.uses == [("cats", 2.0, 0.5)]
