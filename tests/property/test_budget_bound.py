"""The one promise: in any window of any length t at most burst + rate * t grants. However late
clients wake, whoever dies, whatever is flushed, restored, refused or changed in the middle."""

from __future__ import annotations

import itertools
import secrets

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.ports import BucketKey, Granted, Reserved
from tests.support.budget_crowd import (
    ACTIONS,
    HORIZON_S,
    RARE,
    RESTARTS,
    Step,
    memory_crowd,
    play,
    redis_crowd,
    steps,
    terms,
)

NOISE = 1e-4  # what doubles lose over an example


@given(terms, steps(ACTIONS + RARE, 80))
@settings(max_examples=300)
def test_no_window_holds_more_grants_than_the_budget(terms: BucketKey, script: list[Step]) -> None:
    crowd = memory_crowd(terms)
    play(crowd, script)

    assert crowd.overrun() <= NOISE


@pytest.mark.redis
@given(terms, steps(ACTIONS + RARE + RESTARTS, 60))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_window_holds_more_grants_than_the_budget_in_redis(
    redis_url: str, terms: BucketKey, script: list[Step]
) -> None:
    crowd = redis_crowd(terms, redis_url)
    play(crowd, script)

    assert crowd.overrun() <= NOISE


@pytest.mark.redis
@given(terms, steps(ACTIONS + RARE, 60))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_memory_and_redis_grant_at_the_same_moments(
    redis_url: str, terms: BucketKey, script: list[Step]
) -> None:
    memory, shared = memory_crowd(terms), redis_crowd(terms, redis_url)
    for crowd in (memory, shared):
        numbers = itertools.count()  # of two tickets with one place the lesser name goes first
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(secrets, "token_hex", lambda _, n=numbers: f"{next(n):016x}")
            play(crowd, script)

    assert memory.grants == shared.grants
    assert memory.standing() == shared.standing()


@given(terms, steps((*ACTIONS, "change"), 80))
def test_whatever_happened_a_rest_fills_the_bucket(terms: BucketKey, script: list[Step]) -> None:
    crowd = memory_crowd(terms)
    crowd.take(0)
    play(crowd, script)
    slowest = 1 + len(crowd.tickets) + crowd.most
    crowd.clock.advance(60.0 + slowest / crowd.terms.rate)
    before = len(crowd.grants)
    for _ in range(crowd.terms.burst + 1):
        crowd.take(1)

    assert len(crowd.grants) - before == crowd.terms.burst


@given(terms, st.lists(st.integers(0, 12), min_size=1, max_size=60))
def test_whoever_wakes_in_time_waits_no_moment_longer(terms: BucketKey, pauses: list[int]) -> None:
    crowd = memory_crowd(terms)
    budget = crowd.budgets[0]
    due: list[tuple[float, str]] = []
    for pause in [*pauses, *[100] * 10]:
        until = crowd.clock.now() + pause / 10
        while due and due[0][0] <= until:
            when, ticket = due.pop(0)
            crowd.clock.advance(max(0.0, when - crowd.clock.now()))
            late = 0
            # Times are whole microseconds: at a burst of 1 each grant may lose a part of one.
            while isinstance(rest := budget.confirm([terms], ticket), Reserved):
                crowd.clock.advance(rest.wait_s)
                late += round(rest.wait_s * 1e6)
                assert late <= 1000
            assert rest == Granted()
        crowd.clock.advance(max(0.0, until - crowd.clock.now()))
        answer = budget.take([terms], horizon_s=HORIZON_S)
        if isinstance(answer, Reserved):
            due.append((crowd.clock.now() + answer.wait_s, answer.ticket))
