"""Which messages await RabbitMQ's confirm, and whose windows they belong to. Pure bookkeeping:
sends nothing, waits for nothing."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence

from core.errors import BrokerDown, HeadraceError
from core.queue.envelope import Outgoing

IN_FLIGHT = 256  # unconfirmed messages at most: 100 give 20,000/s, more only cost memory


class Job:
    """Something a caller waits for while the publisher thread does it."""

    def __init__(self, submitted_at: float) -> None:
        self.submitted_at = submitted_at  # monotonic seconds
        self.ended = threading.Event()
        self.error: HeadraceError | None = None

    def fail(self, error: HeadraceError) -> None:
        """End it badly; a first error stands."""
        if not self.ended.is_set():
            self.error = error
            self.ended.set()

    def result(self) -> None:
        """Raise what made it fail, in the caller's thread and as an exception of its own."""
        if self.error is not None:
            raise type(self.error)(str(self.error), reason=self.error.reason) from self.error


class Window(Job):
    """Messages that one caller hands over together and whose confirms it awaits as a whole."""

    def __init__(self, messages: Sequence[Outgoing], submitted_at: float) -> None:
        super().__init__(submitted_at)
        self._unsent = deque(messages)
        self._unconfirmed = len(messages)
        self.begun = False

    def next(self) -> Outgoing | None:
        """The next message to send; None when there is none, or when the window has failed."""
        if self.ended.is_set() or not self._unsent:
            return None
        self.begun = True
        return self._unsent.popleft()

    def confirmed(self) -> None:
        """One of its messages is safe."""
        self._unconfirmed -= 1
        if self._unconfirmed == 0:
            self.ended.set()


class Confirms:
    """The windows of one channel: who sends next, and what a tag stands for."""

    def __init__(self, in_flight: int = IN_FLIGHT) -> None:
        self._limit = in_flight
        self._windows: deque[Window] = deque()  # with something unsent, in the order of their turns
        self._in_flight: dict[int, tuple[Window, Outgoing]] = {}  # by tag, ascending
        self._last_tag = 0

    @property
    def waiting(self) -> bool:
        """Whether anybody waits for anything."""
        return bool(self._windows or self._in_flight)

    def add(self, window: Window) -> None:
        """One more caller."""
        self._windows.append(window)

    def to_send(self) -> Iterator[Outgoing]:
        """What may go out now, a message of each window in turn, so that a long one holds up
        nobody. Each must be sent: its tag is counted."""
        while self._windows and len(self._in_flight) < self._limit:
            window = self._windows.popleft()
            message = window.next()
            if message is None:
                continue
            self._last_tag += 1
            self._in_flight[self._last_tag] = (window, message)
            self._windows.append(window)
            yield message

    def confirm(self, tag: int, *, multiple: bool) -> None:
        """RabbitMQ has one message, or all up to it, on disk."""
        for window, _ in self._settle(tag, multiple=multiple):
            window.confirmed()

    def refuse(self, tag: int, *, multiple: bool) -> None:
        """RabbitMQ did not take it: the queue is full. That is no lost connection: the answer is
        to wait."""
        for window, message in self._settle(tag, multiple=multiple):
            window.fail(
                BrokerDown(
                    f"RabbitMQ refused a message for {message.routing_key}: queue full (a length "
                    "limit by a policy?); nothing is lost, it will be published again",
                    reason="queue_full",
                )
            )

    def returned(self, exchange: str, routing_key: str) -> None:
        """RabbitMQ has no queue for a message. Its confirm still comes, so the tag stays."""
        for window, message in self._in_flight.values():
            if (message.exchange, message.routing_key) == (exchange, routing_key):
                name = exchange or routing_key
                window.fail(
                    BrokerDown(
                        f"RabbitMQ has no queue {name!r} (somebody deleted it?): it is declared "
                        "again, and the message will be published again",
                        reason="unroutable",
                    )
                )

    def lost(self, error: HeadraceError) -> None:
        """The channel is gone: every window that has begun fails (publishing again is harmless),
        the others wait for the next channel, whose tags start at 1."""
        for window, _ in self._in_flight.values():
            window.fail(error)
        self._in_flight.clear()
        self._last_tag = 0
        for window in self._windows:
            if window.begun:
                window.fail(error)
        self._windows = deque(w for w in self._windows if not w.ended.is_set())

    def give_up(self, error: HeadraceError, *, submitted_before: float = float("inf")) -> None:
        """Fail the windows that have waited long enough for a channel."""
        for window in self._windows:
            if window.submitted_at <= submitted_before:
                window.fail(error)
        self._windows = deque(w for w in self._windows if not w.ended.is_set())

    def holds(self, window: Job) -> bool:
        """Whether messages of `window` are out unconfirmed."""
        return any(owner is window for owner, _ in self._in_flight.values())

    def _settle(self, tag: int, *, multiple: bool) -> list[tuple[Window, Outgoing]]:
        if not multiple:
            entry = self._in_flight.pop(tag, None)
            return [entry] if entry else []
        tags = [sent for sent in self._in_flight if sent <= tag]
        return [self._in_flight.pop(sent) for sent in tags]
