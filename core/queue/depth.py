"""How much lies in the queues, by passive declares: exact at once, where the management API lags.

Messages that a worker holds are not counted; the ledger knows those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pika.exceptions import ChannelClosedByBroker

from core.queue import lanes
from core.queue.confirms import Job
from core.queue.connection import opened

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Depth:
    """Messages ready, by what they wait for."""

    lanes: Mapping[str, int]  # by lane, shared ones too
    dead: Mapping[str, int]  # by source
    delayed: int  # in the delay queues, all sources together
    dropped: int  # given up by RabbitMQ itself: anything but 0 wants a person


def read(url: str, sources: Iterable[str]) -> Depth:
    """Every queue's depth; a queue that does not exist yet counts 0. Raises `BrokerDown`."""
    names = list(sources)
    with opened(url, "status") as connection:
        counter = _Counter(connection)
        return Depth(
            lanes={
                lane: counter.count(lane)
                for owner in (*names, lanes.HEADRACE)
                for lane in lanes.lanes_of(owner)
            },
            dead={name: counter.count(lanes.dead(name)) for name in names},
            delayed=sum(counter.count(lanes.delay(seconds)) for seconds in lanes.DELAYS_S),
            dropped=counter.count(lanes.DROPPED),
        )


class _Counter:
    """Counts on a channel that RabbitMQ closes whenever a queue is missing."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - pika is untyped
        self._connection = connection
        self._channel = connection.channel()

    def count(self, queue: str) -> int:
        try:
            return int(self._channel.queue_declare(queue, passive=True).method.message_count)
        except ChannelClosedByBroker as error:
            if error.reply_code != _NOT_FOUND:
                raise
            self._channel = self._connection.channel()
            return 0


class Probe(Job):
    """A question for the publisher thread: how much is ready in these queues together?"""

    def __init__(self, queues: Iterable[str], submitted_at: float) -> None:
        super().__init__(submitted_at)
        self._open = set(queues)
        self.ready = 0

    def ask(self, channel: Any) -> None:  # noqa: ANN401 - pika is untyped
        """Send every question at once; the answers come in `_answer`."""
        for queue in sorted(self._open):
            channel.queue_declare(queue, passive=True, callback=self._answer)

    def _answer(self, frame: Any) -> None:  # noqa: ANN401 - pika is untyped
        self._open.discard(frame.method.queue)
        self.ready += frame.method.message_count
        if not self._open:
            self.ended.set()
