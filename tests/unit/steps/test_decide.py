from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import errors
from core.fetch.lines import LOOKED_AT_S
from core.model.states import Event, move
from core.model.task import State
from core.steps.decide import (
    LANE_SHUT_S,
    Again,
    BackToHead,
    Bury,
    Drop,
    Leave,
    RetryPolicy,
    backoff_s,
    decide,
)
from tests.support.tasks import an_image_task

POLICY = RetryPolicy()


def decided(error, *, policy=POLICY, state=State.LEASED, seed=1, **fields):
    task = an_image_task(state=state, **fields)
    return decide(task, error, policy, now=100.0, rng=random.Random(seed))


def test_a_transient_failure_counts_and_waits():
    decision = decided(errors.ServerTrouble("502"))

    assert isinstance(decision, Again)
    assert decision.task.attempts == 1
    assert decision.delay_s >= POLICY.floor_s


def test_the_last_attempt_ends_in_the_dead_letters_as_a_passing_fault():
    decision = decided(errors.Timeout("idle"), attempts=4, max_attempts=5)

    assert isinstance(decision, Bury)
    assert (decision.failure.attempts, decision.failure.passing) == (5, True)
    assert decision.task.state is State.DEAD


def test_a_permanent_failure_is_buried_at_once_and_was_an_attempt():
    decision = decided(errors.Gone("404", http_status=404))

    assert isinstance(decision, Bury)
    assert (decision.failure.attempts, decision.failure.passing) == (1, False)
    assert decision.failure.http_status == 404


def test_a_refusal_says_that_a_rule_of_ours_said_no():
    assert decided(errors.AddressRefused("private")).failure.refused


@pytest.mark.parametrize(
    "error",
    [
        errors.Throttled("429", delay_s=8.0, http_status=429),
        errors.Offline("nobody answers", delay_s=8.0),
        errors.HostBusy("of a list", delay_s=8.0),
        errors.LeaseHeld("held", delay_s=8.0),
        errors.TooEarly("early", delay_s=8.0),
        errors.Backpressure("full", delay_s=8.0),
    ],
)
def test_waiting_counts_nothing(error):
    decision = decided(error, attempts=4, max_attempts=5)

    assert isinstance(decision, Again)
    assert (decision.task.attempts, decision.delay_s) == (4, 8.0)


@pytest.mark.parametrize("shut", [errors.Throttled, errors.Offline, errors.HostBusy])
def test_time_that_the_other_side_was_shut_does_not_age_a_task(shut):
    assert decided(shut("429", delay_s=1e9)).task.waited_s == 0.0


@pytest.mark.parametrize(
    ("shut", "shut_s"), [(errors.Throttled, 8.0), (errors.Offline, 8.0), (errors.HostBusy, 0.0)]
)
def test_a_source_is_shut_in_this_process_by_what_shuts_it_whole(shut, shut_s):
    assert decided(shut("429", delay_s=8.0)).shut_s == shut_s


def test_a_task_that_waited_too_long_while_its_source_was_open_is_buried():
    policy = RetryPolicy(max_wait_s=60.0)

    decision = decided(errors.LeaseHeld("held", delay_s=30.0), policy=policy, waited_s=40.0)

    assert isinstance(decision, Bury)
    assert decision.failure.reason == "waited_too_long"
    assert decision.failure.passing


def test_out_of_budget_goes_to_the_head_and_comes_back_when_a_reservation_is_in_reach():
    assert decided(errors.BudgetSpent("spent", delay_s=12.0)) == BackToHead(7.0)


def test_a_blocked_source_is_shut_until_its_block_ends():
    assert decided(errors.SourceBlocked("blocked", delay_s=40.0)) == BackToHead(shut_s=40.0)


@pytest.mark.parametrize("error", [errors.SourcePaused("by hand"), errors.SignedOut("401")])
def test_a_paused_source_is_shut_until_it_is_resumed(error):
    assert decided(error, attempts=4, max_attempts=5) == BackToHead(shut_s=math.inf)


def test_an_orderly_hand_over_costs_nothing():
    assert decided(errors.Released("stopping")) == BackToHead()


def test_a_copy_whose_lease_is_anothers_is_dropped():
    assert decided(errors.LeaseLost("other")) == Drop()


@pytest.mark.parametrize(
    "error",
    [errors.StorageDown("full"), errors.BrokerDown("gone"), errors.SharedStateDown("gone")],
)
def test_our_own_trouble_settles_nothing(error):
    assert decided(error) == Leave()


def test_a_crash_counts_apart_from_attempts():
    decision = decided(errors.Crashed("vanished"), state=State.PENDING, attempts=2)

    assert isinstance(decision, Again)
    assert (decision.task.attempts, decision.task.crashes) == (2, 1)


def test_a_task_that_keeps_killing_its_worker_is_buried_and_says_so():
    decision = decided(errors.Crashed("vanished"), state=State.PENDING, crashes=7)

    assert isinstance(decision, Bury)
    assert decision.failure.reason == "kills_its_worker"


@given(attempts=st.integers(1, 10_000), seed=st.integers())
def test_backoff_stays_between_floor_and_cap(attempts, seed):
    assert POLICY.floor_s <= backoff_s(attempts, POLICY, random.Random(seed)) <= POLICY.cap_s


FAULTS = st.sampled_from(
    [
        errors.ServerTrouble("x"),
        errors.Throttled("x", delay_s=5.0),
        errors.LeaseHeld("x", delay_s=5.0),
        errors.Released("x"),
        errors.BudgetSpent("x", delay_s=9.0),
        errors.BrokerDown("x"),
    ]
)


@given(st.lists(FAULTS, max_size=60))
def test_over_any_history_only_the_sources_own_failures_count(faults):
    task, counted = an_image_task(max_attempts=1000), 0

    for fault in faults:
        running = move(task, Event.LEASED, now=1.0)
        decision = decide(running, fault, POLICY, now=1.0, rng=random.Random(1))
        counted += isinstance(fault, errors.Transient)
        task = decision.task if isinstance(decision, Again) else task

        assert task.attempts == counted


def test_what_is_left_of_a_wait_is_not_counted_a_second_time():
    early = decided(errors.TooEarly("early", delay_s=1e9))

    assert early.task.waited_s == 0.0


@pytest.mark.parametrize("shut", [errors.Throttled, errors.Offline])
def test_what_waits_for_a_long_block_is_back_in_its_lane_before_should_a_person_end_it(shut):
    assert decided(shut("429", delay_s=86_400.0)).delay_s == LANE_SHUT_S
    assert decided(shut("429", delay_s=86_400.0)).shut_s == 86_400.0


def test_what_a_host_refused_for_long_is_looked_at_before_too():
    busy = errors.HostBusy("429", delay_s=86_400.0, reason=errors.Throttled.reason)

    assert decided(busy).delay_s == LOOKED_AT_S
