"""Tells the budget when a source says «slower» or is in trouble, and says what a task's failure is
in that light: its own, its source's, or this machine's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core import errors
from core.errors import HeadraceError, SharedStateDown
from core.fetch.connection import NO_CONNECTION
from core.model.request import Asked
from core.model.task import Task
from core.ports import Budget, Slowdown
from core.steps.reachability import Reachability
from core.steps.unblocking import LONG_S, command

logger = logging.getLogger(__name__)

ENOUGH_TASKS = 3  # distinct ones in trouble slow a source; one broken address does not


@dataclass(frozen=True, slots=True)
class Slowing:
    """For every task of this process."""

    budget: Budget
    reachability: Reachability
    pause: Callable[[str, str], None]  # a source, for a reason
    store: Path | None = None  # where a person's commands shall be kept

    def judged(self, error: HeadraceError, task: Task) -> HeadraceError:
        """`error`, or what it is in truth; with a wait for as long as its source is shut."""
        match error:
            case errors.Throttled():
                return self._throttled(error, task)
            case errors.SignedOut():
                return self._signed_out(error, task)
            case errors.Unreachable() | errors.Timeout() | errors.ServerTrouble():
                asked = error.asked
                unanswered = asked is not None and not asked.answered
                return self._troubled(error, task, asked) if asked and unanswered else error
            case _:
                return error

    def _throttled(self, error: errors.Throttled, task: Task) -> HeadraceError:
        bucket, era = (error.asked.bucket, error.asked.era) if error.asked else (task.source, 0)
        slowdown = self._told(
            bucket, error, lambda: self.budget.throttled(bucket, era=era, seconds=error.delay_s)
        )
        if slowdown is not None:
            error.delay_s = slowdown.blocked_s
        if bucket == task.source:
            return error
        return errors.HostBusy(
            str(error),
            delay_s=error.delay_s,
            reason=error.reason,  # it said so itself: others of its tasks only hear of it
            http_status=error.http_status,
        )

    def _signed_out(self, error: errors.SignedOut, task: Task) -> HeadraceError:
        try:
            self.pause(task.source, str(error))
        except HeadraceError as fault:
            return fault  # nobody could resume what is not written down as paused
        return error

    def _troubled(self, error: HeadraceError, task: Task, asked: Asked) -> HeadraceError:
        if _got_no_connection(error) and self.reachability.failed(
            asked.host, task.id, error.reason
        ):
            return self._offline(error, task, asked)
        self._told(
            asked.bucket,
            error,
            lambda: self.budget.failed(
                asked.bucket, era=asked.era, task=task.id, enough=ENOUGH_TASKS
            ),
        )
        return error

    def _offline(self, error: HeadraceError, task: Task, asked: Asked) -> errors.Offline:
        """The whole source rests, and tries one task now and then."""
        offline = errors.Offline(f"no host can be reached, so this machine may be offline: {error}")
        slowdown = self._told(
            task.source,
            offline,
            lambda: self.budget.failed(task.source, era=asked.era, task=task.id, enough=1),
        )
        if slowdown is not None:
            offline.delay_s = slowdown.blocked_s
        return offline

    def _told(
        self, bucket: str, error: HeadraceError, tell: Callable[[], Slowdown | None]
    ) -> Slowdown | None:
        try:
            slowdown = tell()
        except SharedStateDown as fault:
            # Nothing goes out without the shared state anyway; the source may say it once more.
            logger.warning("source %s was not slowed (%s): %s", bucket, error.reason, fault)
            return None
        if slowdown is not None and slowdown.is_news:
            words = "source %s is slowed to %.3g %% of its rate, and gets nothing for %.0f s: %s%s"
            way_out = self._way_out(bucket) if slowdown.blocked_s > LONG_S else ""
            logger.warning(words, bucket, 100 * slowdown.pace, slowdown.blocked_s, error, way_out)
        return slowdown

    def _way_out(self, bucket: str) -> str:
        where = ("--store", str(self.store)) if self.store else ()
        return f"; should that be a mistake of its: {command(bucket, *where)}"


def _got_no_connection(error: HeadraceError) -> bool:
    return isinstance(error, errors.Unreachable) or error.reason == NO_CONNECTION


def rest(budget: Budget, asked: Asked, seconds: float) -> None:
    """A source's own figures say that it will refuse soon: that is its word, before it has to be a
    refusal. Raises `SharedStateDown`."""
    slowdown = budget.throttled(asked.bucket, era=asked.era, seconds=seconds)
    if slowdown.is_news:
        logger.warning(
            "%s is close to its limit by its own figures: nothing for %.0f s, then %.0f %% of its "
            "rate",
            asked.bucket,
            slowdown.blocked_s,
            100 * slowdown.pace,
        )
