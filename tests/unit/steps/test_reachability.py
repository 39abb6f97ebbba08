"""Whether this machine is offline, or somebody else is away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fetch.connection import NO_SUCH_HOST, OFFLINE
from core.steps import reachability
from core.steps.reachability import Reachability

REFUSED = "unreachable"


def failures(one: Reachability, *failed: tuple[str, str], reason: str = REFUSED) -> list[bool]:
    """What each failure of a (host, task) came to."""
    return [one.failed(host, task, reason) for host, task in failed]


def test_three_tasks_that_reach_nobody_are_a_machine_offline() -> None:
    told = failures(Reachability(), ("a", "1"), ("b", "2"), ("c", "3"), ("c", "4"))

    assert told == [False, False, True, True]


def test_one_task_that_fails_again_and_again_is_not() -> None:
    assert not any(failures(Reachability(), *[("a", "1")] * 20))


def test_a_host_that_used_to_answer_and_nobody_does_now_is_a_machine_offline() -> None:
    one = Reachability()
    one.answered("a")

    assert failures(one, ("dead", "1"), ("a", "2"), ("dead", "3")) == [False, False, True]


def test_hosts_that_never_answered_say_nothing_once_anybody_did() -> None:
    one = Reachability()
    one.answered("a")

    assert not any(failures(one, *(("dead", str(task)) for task in range(20))))


def test_an_answer_from_anywhere_begins_the_count_anew() -> None:
    one = Reachability()
    one.answered("a")
    failures(one, ("a", "1"), ("a", "2"))
    one.answered("a")

    assert failures(one, ("a", "3"), ("a", "4"), ("a", "5")) == [False, False, True]


def test_a_host_that_is_away_while_others_answer_is_away_itself() -> None:
    one = Reachability()
    one.answered("a")
    failures(one, ("a", "1"), ("a", "2"), ("a", "3"))
    one.answered("b")

    assert not any(failures(one, *(("a", str(task)) for task in range(20))))
    one.answered("a")
    assert failures(one, ("a", "1"), ("a", "2"), ("a", "3")) == [False, False, True]


def test_no_network_at_all_is_believed_at_once_before_any_answer() -> None:
    assert failures(Reachability(), ("a", "1"), reason=OFFLINE) == [True]


def test_no_network_at_all_is_believed_the_second_time_after_answers() -> None:
    """A busy name server fails one request in many."""
    one = Reachability()
    one.answered("a")

    assert failures(one, ("a", "1"), ("a", "1"), reason=OFFLINE) == [False, True]


def test_a_name_that_was_never_there_is_no_sign() -> None:
    told = failures(
        Reachability(), *((f"{n}.example", str(n)) for n in range(9)), reason=NO_SUCH_HOST
    )

    assert not any(told)


def test_a_name_that_is_there_no_more_is_one() -> None:
    one = Reachability()
    one.answered("a")

    told = failures(one, ("a", "1"), ("a", "2"), ("a", "3"), reason=NO_SUCH_HOST)

    assert told == [False, False, True]


def test_only_so_many_hosts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "MAX_HOSTS", 3)
    one = Reachability()
    for host in "abcdef":
        one.answered(host)

    assert list(one._answering) == ["d", "e", "f"]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["answered", REFUSED, OFFLINE, NO_SUCH_HOST]),
        st.sampled_from(["a", "b", "dead"]),
        st.sampled_from(["1", "2", "3", "4"]),
    ),
    max_size=40,
)


@given(EVENTS)
def test_once_somebody_answered_one_failure_is_never_enough(
    events: list[tuple[str, str, str]],
) -> None:
    one, since = Reachability(), 0
    one.answered("a")
    for event, host, task in events:
        if event == "answered":
            one.answered(host)
            since = 0
        else:
            since += 1
            assert not one.failed(host, task, event) or since >= 2
