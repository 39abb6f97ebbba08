"""Performs one task from lease to end, in the one order that loses nothing:

content durable in the store -> what follows published and confirmed -> the task's end durable ->
ledger moved. Acknowledging is left to whoever called. A crash between any two repeats the task,
and every part is idempotent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from core import errors
from core.clock import Clock
from core.model.end import EndState, MediaEnd
from core.model.switch import Switch
from core.model.task import DiscoverPayload, Kind, Task, subject
from core.ports import Budget, DeadLetter, Early, Held, Ledger, Publisher, Superseded, Vanished
from core.steps.actions import Action, Publish, published_by
from core.steps.ends import Observer, finish_commit, write_end
from core.steps.heartbeat import Heartbeat
from core.steps.reachability import Reachability
from core.steps.run import Run
from core.steps.slowing import Slowing
from core.store.store import Store

logger = logging.getLogger(__name__)

Step = Callable[[Run], Iterator[Action]]


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs tasks; one a process, shared by its threads."""

    store: Store
    ledger: Ledger
    budget: Budget
    publisher: Publisher
    heartbeat: Heartbeat
    steps: Mapping[Kind, Step]
    clock: Clock
    lease_s: float
    deadline_s: float  # of one run
    on_end: Observer
    reachability: Reachability = field(default_factory=Reachability)
    switch: Callable[[str], Switch] = lambda _source: Switch()
    pause: Callable[[str, str], None] = lambda _source, _reason: None

    def perform(
        self,
        task: Task,
        granted: Callable[[bool], None],
        fetched: Callable[[], None] = lambda: None,
    ) -> None:
        """Run `task`; `granted` hears whether its first token came at once, `fetched` when it needs
        its source no more. Raises a `HeadraceError` that carries the merged task and its token,
        for the retry middleware to decide on."""
        self._check_store(task)
        if self._was_purged(task):
            self.ledger.finish(task)
            return
        try:
            self._check_pause(task)
            run = self._begin(task, granted, fetched)
        except errors.Postponed:
            # Whatever keeps it from running: one that has ended needs no run. To look for its end
            # only here and under the lease, and not before the lease too, spares a failed look.
            if not self._has_ended(task):
                raise
            self.ledger.finish(task)
            return
        self.heartbeat.watch(run)
        try:
            if not self._has_ended(task):
                self._perform(run)
            self.heartbeat.forget(run)
            self.ledger.finish(task)
        except errors.HeadraceError as error:
            raise self._explained(error, run) from error.__cause__
        except Exception as error:
            logger.exception("task %s: an error that nobody foresaw", task.id)
            words = f"{type(error).__name__}, a fault of Headrace: the worker's log has the rest"
            raise self._explained(errors.Unexpected(words), run) from error
        finally:
            self.heartbeat.forget(run)

    def _perform(self, run: Run) -> None:
        started = self.clock.monotonic()
        for action in self.steps[run.task.kind](run):
            self._do(action, run)
        logger.info(
            "%s done: %s (%.2f s, %.2f s of it waiting for tokens, %d bytes)",
            run.task.kind,
            subject(run.task),
            self.clock.monotonic() - started,
            run.token_wait_s,
            run.bytes_read,
        )

    def _do(self, action: Action, run: Run) -> None:
        if isinstance(action, Publish):
            self.publisher.publish([published_by(run.task, copy) for copy in action.copies])
            return
        self._hold_lease(run)
        write_end(self.store, action)
        if isinstance(action, MediaEnd) and action.video is not None:
            self.ledger.forget_join(action.media)
        self.on_end(action)

    def _hold_lease(self, run: Run) -> None:
        """An end is written by the lease's holder only."""
        run.check()
        if not self.ledger.renew(run.task, run.token, lease_s=self.lease_s):
            run.lose()
            run.check()

    def _begin(
        self, task: Task, granted: Callable[[bool], None], fetched: Callable[[], None]
    ) -> Run:
        match self.ledger.begin(task, lease_s=self.lease_s):
            case Held(delay_s=delay_s):
                raise _of(task, errors.LeaseHeld("another delivery is running", delay_s=delay_s))
            case Early(delay_s=delay_s):
                raise _of(task, errors.TooEarly("its time has not come", delay_s=delay_s))
            case Superseded():
                raise _of(task, errors.LeaseLost("a newer copy of it was published"))
            case Vanished(task=merged):
                raise _of(merged, errors.Crashed("its last run vanished without a word"))
            case lease:
                deadline = self.clock.monotonic() + self.deadline_s
                return Run(lease.task, lease.token, deadline, granted, fetched)

    def _has_ended(self, task: Task) -> bool:
        if isinstance(task.payload, DiscoverPayload):
            return False  # a page's end is looked for by its step
        end = self.store.media.ended(task.payload.media, task.generation)
        if end is None:
            return False
        finish_commit(self.store, end)
        if _is_its_own(end, task) and end.failure is not None:
            # The letter may be what the crash took; lists merge letters by id.
            self.publisher.bury(DeadLetter(task, end.failure))
        return True

    def _was_purged(self, task: Task) -> bool:
        """Whether a person dropped what waited, and this is of it."""
        if not task.is_before(self.switch(task.source).purged_before):
            return False
        logger.info("%s dropped, %s was purged: %s", task.kind, task.source, subject(task))
        return True

    def _check_pause(self, task: Task) -> None:
        """No lease is taken for what must not go out. A join asks no source for anything."""
        pause = self.switch(task.source).pause
        if pause is not None and task.kind is not Kind.VERIFY:
            raise _of(task, errors.SourcePaused(f"{task.source} is paused: {pause.reason}"))

    def _check_store(self, task: Task) -> None:
        """A worker that sees another store must not do this store's work there."""
        if task.store not in (None, self.store.id):
            raise errors.StorageDown(
                f"task {task.id} belongs to store {task.store}, and this worker has store "
                f"{self.store.id} ({self.store.root}): start it in the right folder, or set "
                "HEADRACE_STORE or `store` in the settings",
                reason="another_store",
            )

    def _explained(self, error: errors.HeadraceError, run: Run) -> errors.HeadraceError:
        """What the failure is, with what the retry middleware needs; `LeaseLost` instead where it
        is no longer ours to tell, since the holder's end counts."""
        slowing = Slowing(self.budget, self.reachability, self.pause, self.store.root)
        error = slowing.judged(error, run.task)
        if isinstance(error, errors.Transient | errors.Permanent):
            try:
                self._hold_lease(run)
            except errors.HeadraceError as lost:
                error = lost
        error.task, error.token = run.task, run.token
        return error


def _is_its_own(end: MediaEnd, task: Task) -> bool:
    """Whether the media ended by the death of just this task. Of a video in pieces many tasks come
    after its end, each of which would be one more letter of the same."""
    if end.generation != task.generation or end.state is EndState.GOT:
        return False
    return end.video is None and task.kind in {Kind.IMAGE, Kind.MANIFEST}


def _of(task: Task, error: errors.HeadraceError) -> errors.HeadraceError:
    error.task = task
    return error
