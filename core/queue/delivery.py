"""One delivery of one task, from the lane to its end, and the delivery of the current thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from dramatiq import Message, Middleware
from dramatiq.broker import Broker, MessageProxy

from core.model.task import Task
from core.queue.lanes import HEADRACE, split_lane
from core.queue.outcome import Outcome


class Owner(Protocol):
    """The consumer that a delivery came from."""

    def granted(self, delivery: Delivery) -> None:
        """The delivery's first token came: `delivery.prompt` says whether at once."""

    def fetched(self, delivery: Delivery) -> None:
        """The delivery needs its source no more."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a delivery came from. A tag means something to its own consumer only: after a
    reconnect tags restart at 1, and an old one would settle another message (fact 2)."""

    lane: str
    tag: int  # grows with the order of arrival
    consumer: Owner
    received_at: float  # monotonic seconds


class Delivery(MessageProxy):
    """A task in the hand of this process. It is handed on once; one that goes back to its lane's
    head is handed on again as `again()`."""

    queue_name = HEADRACE  # fact 3: another name would kill the worker thread

    def __init__(self, message: Message[None], task: Task, origin: Origin) -> None:
        super().__init__(message)
        self.task = task
        self.origin = origin
        self.outcome: Outcome | None = None  # without one it is never acknowledged (fact 1)
        self.prompt = True  # its first token came at once, or it needed none
        self.shared_state_down = False  # it failed because Redis did not answer
        self.waiting_since = origin.received_at  # monotonic seconds, in its lane's buffer

    @property
    def source(self) -> str:
        """Whose slot it takes: its lane's owner, which is `headrace` for a shared lane."""
        return split_lane(self.lane)[0]

    @property
    def lane(self) -> str:
        """The lane it waits in."""
        return self.origin.lane

    def granted(self, prompt: bool) -> None:
        """Tell that the first token came, and whether at once. Early is better: a source that is
        handed on one at a time opens again with the first prompt one."""
        self.prompt = prompt
        self.origin.consumer.granted(self)

    def fetched(self) -> None:
        """Tell that all is fetched: another may have its slot while this one is committed."""
        self.origin.consumer.fetched(self)

    def again(self, now: float) -> Delivery:
        """The same message to be handed on anew."""
        anew = Delivery(self._message, self.task, self.origin)
        anew.waiting_since = now
        return anew

    # Two deliveries of one message are equal to Dramatiq; slots are freed by identity.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    # Dramatiq logs messages: the record holds signed addresses, its id does not.
    def __str__(self) -> str:
        return f"{self.lane} {self.task.id}"

    def __repr__(self) -> str:
        return f"<Delivery {self}>"


class NoDelivery(Exception):
    """`current()` outside of a worker's run: a bug, never an input."""


_thread = threading.local()


def current() -> Delivery:
    """The delivery that this worker thread is processing."""
    delivery: Delivery | None = getattr(_thread, "delivery", None)
    if delivery is None:
        raise NoDelivery("this thread processes no delivery: only an actor's body may ask")
    return delivery


class CurrentDelivery(Middleware):
    """Keeps `current()`."""

    def before_process_message(self, _broker: Broker, message: MessageProxy) -> None:
        _thread.delivery = message

    def after_process_message(
        self,
        _broker: Broker,
        _message: MessageProxy,
        *,
        result: object | None = None,  # noqa: ARG002 - Dramatiq's signature
        exception: BaseException | None = None,  # noqa: ARG002 - Dramatiq's signature
    ) -> None:
        _thread.delivery = None

    def after_skip_message(self, _broker: Broker, _message: MessageProxy) -> None:
        _thread.delivery = None
