"""The whole state machine as one table, and the one pure function that moves a task.

No order of events leaves a final state without a person (`REQUEUED`) or counts an attempt that
is nobody's fault."""

from __future__ import annotations

from enum import StrEnum

from core.model.task import State, Task


class Event(StrEnum):
    """What can happen to a task."""

    LEASED = "leased"  # a worker began it
    FINISHED = "finished"  # its end is durable
    ATTEMPT_FAILED = (
        "attempt_failed"  # the source's answer or the content made it fail; another try is left
    )
    BURIED = "buried"  # a permanent failure, or the last attempt, crash or hour
    POSTPONED = "postponed"  # throttled, early, held, released: waits, costs nothing
    CRASHED = "crashed"  # a lease ran out without a word
    REQUEUED = "requeued"  # a person's decision: the one way out of `dead`


TABLE: dict[tuple[State, Event], State] = {
    (State.PENDING, Event.LEASED): State.LEASED,
    (State.FAILED, Event.LEASED): State.LEASED,
    (State.LEASED, Event.FINISHED): State.DONE,
    (State.LEASED, Event.ATTEMPT_FAILED): State.FAILED,
    (State.LEASED, Event.BURIED): State.DEAD,
    (State.LEASED, Event.POSTPONED): State.PENDING,
    (State.LEASED, Event.CRASHED): State.FAILED,
    (State.PENDING, Event.POSTPONED): State.PENDING,  # never leased: held, early, over budget
    (State.FAILED, Event.POSTPONED): State.FAILED,
    (State.PENDING, Event.CRASHED): State.FAILED,  # the crash is found at the next delivery
    (State.FAILED, Event.CRASHED): State.FAILED,
    (State.PENDING, Event.BURIED): State.DEAD,  # the last crash, found at the next delivery
    (State.FAILED, Event.BURIED): State.DEAD,
    (State.DEAD, Event.REQUEUED): State.PENDING,
}


class IllegalMove(Exception):
    """An event that its state does not allow: a bug, never an input."""


def move(task: Task, event: Event, *, now: float, reason: str | None = None) -> Task:
    """The task after `event`. Raises `IllegalMove` where the table has no entry."""
    try:
        state = TABLE[task.state, event]
    except KeyError:
        raise IllegalMove(f"task {task.id}: {event} while {task.state}") from None
    changes: dict[str, object] = {"state": state}
    if event in (Event.ATTEMPT_FAILED, Event.BURIED):
        changes |= {
            "last_failure": now,
            "last_reason": reason,
            "first_failure": task.first_failure or now,
        }
    if event is Event.ATTEMPT_FAILED:
        changes["attempts"] = task.attempts + 1
    if event is Event.CRASHED:
        changes["crashes"] = task.crashes + 1
    if event is Event.REQUEUED:
        changes |= {
            "generation": task.generation + 1,
            "attempts": 0,
            "crashes": 0,
            "waited_s": 0.0,
            "first_failure": None,
            "last_failure": None,
            "last_reason": None,
            "not_before": None,
            "serial": 0,
        }
    if event is not Event.LEASED:
        changes["lease_until"] = None
    return task.model_copy(update=changes)
