"""The one place that decides what follows a task's run. It publishes retries and dead letters, and
only then sets the outcome without which nothing is acknowledged."""

from __future__ import annotations

import logging
import os
import random
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol, assert_never, cast, runtime_checkable

from dramatiq import Middleware
from dramatiq.broker import Broker, MessageProxy
from dramatiq.worker import Worker

from core.clock import Clock
from core.errors import Crashed, HeadraceError, Postponed, SharedStateDown
from core.model.end import Failure
from core.model.task import Task, subject
from core.ports import Copy, DeadLetter, Ledger, Publisher
from core.queue.delivery import Delivery
from core.queue.outcome import Outcome, Settled, ToHead
from core.steps.decide import (
    Again,
    BackToHead,
    Bury,
    Decision,
    Drop,
    Leave,
    RetryPolicy,
    decide,
)

logger = logging.getLogger(__name__)

EndDead = Callable[[Task, Failure], None]


def worker_name() -> str:
    """`host:pid`, as dead letters name who wrote them."""
    return f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True, slots=True)
class _Ended:
    """A run that did not end well: the record as it was merged, and the lease it ran under."""

    task: Task
    token: str | None


@dataclass(eq=False)
class Retry(Middleware):
    """Decides after every run. `end_dead` makes a dead end durable in the store."""

    publisher: Publisher
    ledger: Ledger
    policy: RetryPolicy
    end_dead: EndDead
    clock: Clock
    rng: random.Random = field(default_factory=random.Random)

    def ask_shared_state(self) -> None:
        """Raise `SharedStateDown` while no task could be begun, or a lease that was given up is not
        released: it would count as a crash once lanes are open again."""
        self.ledger.catch_up()

    @property
    def actor_options(self) -> set[str]:
        """`throws`: the errors that Dramatiq shall not log as crashes."""
        return {"throws"}

    def after_process_message(
        self,
        _broker: Broker,
        message: MessageProxy,
        *,
        result: object | None = None,  # noqa: ARG002 - Dramatiq's signature
        exception: BaseException | None = None,
    ) -> None:
        delivery = cast("Delivery", message)
        if exception is None:
            delivery.outcome = Settled(delivery.prompt, done=True)
        elif isinstance(exception, HeadraceError):
            self._conclude(delivery, exception)
        else:
            logger.warning(
                "%s: ended by %s, which no step may raise: the delivery goes back",
                delivery,
                type(exception).__name__,
            )

    def _conclude(self, delivery: Delivery, error: HeadraceError) -> None:
        ended = _Ended(error.task or delivery.task, error.token)
        try:
            delivery.outcome = self._act(delivery, ended, error)
            trouble: HeadraceError | None = error if delivery.outcome is None else None
        except HeadraceError as fault:
            trouble = fault
        if trouble is None:
            return
        logger.warning("%s: %s: the delivery goes back", delivery, trouble)
        away = isinstance(trouble, SharedStateDown)
        delivery.shared_state_down = self._give_up(ended, later=away) or away

    def _act(self, delivery: Delivery, ended: _Ended, error: HeadraceError) -> Outcome | None:
        decision = decide(ended.task, error, self.policy, now=self.clock.now(), rng=self.rng)
        _say(decision, error)
        match decision:
            case Again(task=task, delay_s=delay_s, shut_s=shut_s):
                self._publish_again(task, delay_s, ended.token)
                return Settled(delivery.prompt, shut_s=shut_s)
            case Bury(task=task, failure=failure):
                self._bury(task, failure.model_copy(update={"worker": worker_name()}))
                return Settled(delivery.prompt)
            case BackToHead(rest_s=rest_s, shut_s=shut_s):
                self._release(ended)
                return ToHead(rest_s, shut_s)
            case Drop():
                return Settled(delivery.prompt)
            case Leave():
                return None
            case _ as never:
                assert_never(never)

    def _publish_again(self, task: Task, delay_s: float, token: str | None) -> None:
        not_before = self.clock.now() + delay_s if delay_s > 0 else None
        copy = task.model_copy(update={"serial": task.serial + 1, "not_before": not_before})
        began = self.clock.monotonic()
        self.publisher.publish([Copy(copy, delay_s)])
        # The delay runs since then; reckoned from the confirm, the copy would come back too early.
        left_s = max(0.0, delay_s - (self.clock.monotonic() - began))
        self.ledger.published(copy, delay_s=left_s, token=token)

    def _bury(self, task: Task, failure: Failure) -> None:
        """A crash after any line repeats the letter at most; lists merge letters by id."""
        self.publisher.bury(DeadLetter(task, failure))
        self.end_dead(task, failure)
        self.ledger.finish(task)

    def _release(self, ended: _Ended) -> None:
        if ended.token is not None:
            self.ledger.release(ended.task, ended.token)

    def _give_up(self, ended: _Ended, *, later: bool) -> bool:
        """Trouble of ours is no crash of the task: a lease left to run out would count as one.
        Whether the ledger was found away."""
        if ended.token is None:
            return False
        if later:
            self.ledger.release_later(ended.task, ended.token)
            return False
        try:
            self.ledger.release(ended.task, ended.token)
        except SharedStateDown as error:  # the ledger keeps it in mind
            logger.debug("%s: lease not released yet: %s", ended.task.id, error)
            return True
        return False


def _say(decision: Decision, error: HeadraceError) -> None:
    """One line about what a person may want to know of; waiting is none of it."""
    match decision:
        case Again(task=task, delay_s=delay_s):
            level = logging.DEBUG if isinstance(error, Postponed) else logging.INFO
            level = logging.WARNING if isinstance(error, Crashed) else level
            words = "%s again in %.0f s: %s: %s (%s)"
            logger.log(level, words, task.kind, delay_s, error.reason, error, subject(task))
        case Bury(task=task):
            words = "%s dead: %s: %s (%s)"
            logger.info(words, task.kind, error.reason, error, subject(task))
        case _:
            logger.debug("%s: %s", error.reason, error)


@runtime_checkable
class HandsBack(Protocol):
    """A broker that can stop handing on."""

    def hand_back(self) -> None:
        """Hand nothing on any more; what is buffered goes back at once."""


@dataclass(eq=False)
class Shutdown(Middleware):
    """Tells the process that it ends: steps look at `stop` and hand over what they hold."""

    stop: threading.Event

    def after_worker_boot(self, _broker: Broker, _worker: Worker) -> None:
        if threading.current_thread() is threading.main_thread():
            hear_once(signal.SIGTERM)

    def before_worker_shutdown(self, broker: Broker, _worker: Worker) -> None:
        self.stop.set()
        if isinstance(broker, HandsBack):
            broker.hand_back()


def hear_once(number: signal.Signals) -> None:
    """Pass the signal on to its handler once. A supervisor that signals the whole group lets each
    worker hear it twice, from it and from Dramatiq's parent, and Dramatiq's handler takes a second
    one for «kill»: leases would be left to run out. Whoever means it has SIGKILL."""
    handler = signal.getsignal(number)
    if not callable(handler):
        return

    def once(received: int, frame: FrameType | None) -> None:
        signal.signal(number, lambda _number, _frame: None)
        handler(received, frame)

    signal.signal(number, once)
