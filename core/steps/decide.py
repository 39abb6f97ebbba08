"""What follows when a task did not end well: one pure function, from the error's class alone.

Waiting is not failing: only a `Transient` counts as an attempt, only a vanished run as a crash.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from core import errors
from core.errors import HeadraceError
from core.fetch.lines import LOOKED_AT_S
from core.model.end import Failure
from core.model.states import Event, move
from core.model.task import State, Task

_SHUT = errors.Throttled | errors.Offline  # the whole source
# A block may be ended by a person, and nothing else brings a message out of a delay queue. Back in
# its lane it costs nothing: of a source that is shut nobody consumes it.
LANE_SHUT_S = 60.0
BUDGET_HORIZON_S = 5.0  # a first token due within it is waited for; so a task comes back that early


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait and when to give up."""

    base_s: float = 2.0
    floor_s: float = 1.0
    cap_s: float = 3600.0
    max_crashes: int = 8
    max_wait_s: float = 7 * 86_400.0
    crash_base_s: float = 2.0  # doubled by each crash: a poison task's neighbours drift away
    crash_cap_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Again:
    """Publish this copy with this delay. Its source is shut in this process for `shut_s`."""

    task: Task
    delay_s: float
    shut_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Bury:
    """Publish a dead letter and write the end."""

    task: Task
    failure: Failure


@dataclass(frozen=True, slots=True)
class BackToHead:
    """Nothing was charged: the delivery goes back to its lane's head. Its source rests for
    `rest_s`, then hands on one at a time; or it is shut for `shut_s`, `math.inf` while paused."""

    rest_s: float = 0.0
    shut_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Drop:
    """Another copy counts: acknowledge this one."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Something of ours is down: settle nothing, the delivery comes back."""


Decision = Again | Bury | BackToHead | Drop | Leave


def decide(
    task: Task, error: HeadraceError, policy: RetryPolicy, *, now: float, rng: random.Random
) -> Decision:
    """The decision for `task` after `error`. `now` is Unix time; `rng` gives the jitter."""
    match error:
        case errors.Crashed():
            return _after_crash(task, policy, now, rng)
        case errors.Postponed():
            return _uncharged(error) or _postponed(task, error, policy, now, rng)
        case errors.Transient():
            return _after_attempt(task, error, policy, now, rng)
        case errors.Trouble():
            return Leave()
        case _:
            return _bury(_counted(task, error, now), error, now)


def backoff_s(attempts: int, policy: RetryPolicy, rng: random.Random) -> float:
    """Exponential with full jitter, never under the floor nor over the cap; `attempts` from 1."""
    ceiling = min(policy.cap_s, policy.base_s * 2.0 ** min(attempts - 1, 60))
    return min(policy.cap_s, policy.floor_s + rng.uniform(0.0, ceiling))


def failure_of(task: Task, error: HeadraceError) -> Failure:
    """The record of a failure, as the dead letter and the media's end keep it."""
    cause = error.__cause__ or error
    return Failure(
        reason=error.reason,
        message=str(error),
        passing=isinstance(error, errors.Transient | errors.Postponed),
        refused=isinstance(error, errors.Refused),
        http_status=error.http_status,
        exception=type(cause).__name__,
        attempts=task.attempts,
        crashes=task.crashes,
        first_failure=task.first_failure,
        last_failure=task.last_failure,
    )


def _uncharged(error: errors.Postponed) -> Decision | None:
    match error:
        case errors.LeaseLost():
            return Drop()
        case errors.Released():
            return BackToHead()
        case errors.BudgetSpent(delay_s=delay_s):
            return BackToHead(max(0.0, (delay_s or 0.0) - BUDGET_HORIZON_S))
        case errors.SourceBlocked(delay_s=delay_s):
            return BackToHead(shut_s=delay_s or 0.0)
        case errors.SourcePaused() | errors.SignedOut():
            return BackToHead(shut_s=math.inf)
        case _:
            return None


def _counted(task: Task, error: HeadraceError, now: float) -> Task:
    """A permanent answer was an attempt too; a failure before the lease was not."""
    if task.state is not State.LEASED:
        return task
    return move(task, Event.ATTEMPT_FAILED, now=now, reason=error.reason)


def _bury(task: Task, error: HeadraceError, now: float) -> Bury:
    buried = move(task, Event.BURIED, now=now, reason=error.reason)
    return Bury(buried, failure_of(buried, error))


def _after_attempt(
    task: Task, error: HeadraceError, policy: RetryPolicy, now: float, rng: random.Random
) -> Decision:
    failed = move(task, Event.ATTEMPT_FAILED, now=now, reason=error.reason)
    if failed.attempts >= failed.max_attempts:
        return _bury(failed, error, now)
    return Again(failed, backoff_s(failed.attempts, policy, rng))


def _after_crash(task: Task, policy: RetryPolicy, now: float, rng: random.Random) -> Decision:
    crashed = move(task, Event.CRASHED, now=now)
    if crashed.crashes >= policy.max_crashes:
        killer = errors.Crashed(
            f"{crashed.crashes} runs of this task vanished without a word: it seems to kill its "
            "worker; look at the worker's log before requeueing",
            reason="kills_its_worker",
        )
        return _bury(crashed, killer, now)
    ceiling = min(policy.crash_cap_s, policy.crash_base_s * 2.0**crashed.crashes)
    return Again(crashed, policy.floor_s + rng.uniform(0.0, ceiling))


def _postponed(
    task: Task, error: errors.Postponed, policy: RetryPolicy, now: float, rng: random.Random
) -> Decision:
    waiting = move(task, Event.POSTPONED, now=now)
    delay_s = backoff_s(1, policy, rng) if error.delay_s is None else error.delay_s
    if isinstance(error, _SHUT | errors.HostBusy | errors.TooEarly):
        # The other side is shut, or what is left of a wait that was counted when it began.
        if isinstance(error, _SHUT):
            return Again(waiting, min(delay_s, LANE_SHUT_S), shut_s=delay_s)
        is_refused = error.reason == errors.Throttled.reason
        return Again(waiting, min(delay_s, LOOKED_AT_S) if is_refused else delay_s)
    waiting = waiting.model_copy(update={"waited_s": waiting.waited_s + delay_s})
    if waiting.waited_s > policy.max_wait_s:
        return _bury(waiting, _too_old(waiting, error), now)
    return Again(waiting, delay_s)


def _too_old(task: Task, error: HeadraceError) -> HeadraceError:
    days = task.waited_s / 86_400
    return errors.Postponed(
        f"waited {days:.1f} days while its source was open, last: {error}", reason="waited_too_long"
    )
