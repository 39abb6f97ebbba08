from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.states import TABLE, Event, IllegalMove, move
from core.model.task import State
from tests.support.tasks import an_image_task

FINAL = {State.DONE, State.DEAD}


def test_every_event_has_a_place_in_the_table():
    assert {event for _, event in TABLE} == set(Event)


def test_an_event_that_its_state_does_not_allow_is_refused():
    done = an_image_task(state=State.DONE)

    with pytest.raises(IllegalMove, match="leased while done"):
        move(done, Event.LEASED, now=1.0)


def test_only_a_person_leads_out_of_a_final_state():
    ways_out = {(state, event) for state, event in TABLE if state in FINAL}

    assert ways_out == {(State.DEAD, Event.REQUEUED)}


def test_a_requeue_begins_a_new_generation_with_a_clean_history():
    dead = an_image_task(state=State.DEAD, attempts=5, crashes=3, serial=9, waited_s=7.0)

    again = move(dead, Event.REQUEUED, now=1.0)

    assert (again.generation, again.attempts, again.crashes) == (2, 0, 0)
    assert (again.serial, again.waited_s, again.state) == (0, 0.0, State.PENDING)


def test_the_first_failure_is_remembered_and_the_last_one_moves_on():
    task = an_image_task(state=State.LEASED)

    once = move(task, Event.ATTEMPT_FAILED, now=10.0, reason="timeout")
    twice = move(move(once, Event.LEASED, now=11.0), Event.ATTEMPT_FAILED, now=20.0, reason="gone")

    assert (twice.first_failure, twice.last_failure, twice.last_reason) == (10.0, 20.0, "gone")


@given(st.lists(st.sampled_from(Event), max_size=40))
def test_no_order_of_events_leaves_a_final_state_without_a_person(events: list[Event]):
    task = an_image_task()

    for event in events:
        before = task.state
        try:
            task = move(task, event, now=1.0)
        except IllegalMove:
            continue

        assert before not in FINAL or event is Event.REQUEUED


@given(st.lists(st.sampled_from(Event), max_size=40))
def test_only_failed_attempts_count_and_only_crashes_count_as_crashes(events: list[Event]):
    task, attempts, crashes = an_image_task(), 0, 0

    for event in events:
        try:
            task = move(task, event, now=1.0)
        except IllegalMove:
            continue
        attempts += event is Event.ATTEMPT_FAILED
        crashes += event is Event.CRASHED
        if event is Event.REQUEUED:
            attempts = crashes = 0

        assert (task.attempts, task.crashes) == (attempts, crashes)
