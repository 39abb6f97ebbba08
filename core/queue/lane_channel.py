"""Every lane on one channel of one connection: the consumer's side of pika, and none of its
rules. One thread drives it; `wake` alone may be called from others.

Pika's errors leave here as Dramatiq's, which make Dramatiq start the consumer again."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pika
from dramatiq.errors import ConnectionClosed, ConnectionFailed
from pika.exceptions import AMQPError, ChannelWrongStateError

from core.errors import HeadraceError, Misconfigured
from core.queue.connection import FOREIGN, close_quietly, parameters, translate
from core.queue.lanes import split_lane
from core.queue.topology import declare

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message as it came off its lane."""

    lane: str
    tag: int
    body: bytes


class LaneChannel:
    """Connects and declares at once. Raises `ConnectionFailed`, later `ConnectionClosed`, and
    `Misconfigured` when the address or an existing queue is another than we need."""

    def __init__(
        self, url: str, lanes: Iterable[str], on_arrival: Callable[[Arrived], None]
    ) -> None:
        self._url = url
        self._on_arrival = on_arrival
        self._consumed: dict[str, str] = {}  # consumer tags by lane
        self._count = itertools.count(1)
        self._lost: list[str] = []  # cancelled by RabbitMQ
        try:
            self._connection = pika.BlockingConnection(parameters(url, "consumer"))
        except FOREIGN as error:
            raise _not_opened(translate(error, url)) from error
        try:
            self._prepare(sorted({split_lane(lane)[0] for lane in lanes}))
        except HeadraceError as error:
            close_quietly(self._connection)
            raise _not_opened(error) from error
        except FOREIGN as error:
            raise _not_opened(translate(error, url)) from error

    def _prepare(self, sources: list[str]) -> None:
        # A channel of its own: a refusal closes the channel that it comes on.
        with self._connection.channel() as channel:
            declare(channel, sources, url=self._url)
        self._channel = self._connection.channel()
        self._channel.add_on_cancel_callback(self._on_cancelled)

    @property
    def lanes(self) -> set[str]:
        """What is consumed now."""
        return set(self._consumed)

    def consume(self, lane: str, prefetch: int) -> None:
        """Consume the lane. The prefetch is the lane's own: it is what basic.qos
        said last before basic.consume, and can't be changed later (fact 14)."""
        with self._translated():
            # Never the same tag again: 3.10.8 closes the channel (541) over a quorum queue that is
            # consumed anew under a tag whose messages are still out.
            tag = f"{lane}#{next(self._count)}"
            self._channel.basic_qos(prefetch_count=prefetch)
            self._channel.basic_consume(lane, self._on_message, consumer_tag=tag)
            self._consumed[lane] = tag

    def cancel(self, lane: str) -> None:
        """Consume the lane no more; what pika has not yet shown goes back by itself."""
        tag = self._consumed.pop(lane, None)  # RabbitMQ may have cancelled it meanwhile
        if tag is not None:
            with self._translated():
                self._channel.basic_cancel(tag)

    def ack(self, tag: int) -> None:
        """The message is done with."""
        with self._translated():
            self._channel.basic_ack(tag)

    def give_back(self, tag: int) -> None:
        """The message goes back to its lane."""
        with self._translated():
            self._channel.basic_nack(tag, requeue=True)

    def process(self, seconds: float) -> None:
        """Read and write until something happened, for so long at most."""
        with self._translated():
            self._connection.process_data_events(time_limit=seconds)
            if not self._channel.is_open:
                raise self._why_closed()
        if self._lost:
            raise ConnectionClosed(f"RabbitMQ cancelled {', '.join(self._lost)}")  # type: ignore[no-untyped-call]

    def wake(self) -> None:
        """End `process` soon. From any thread."""
        with suppress(AMQPError):  # closed: whoever drives it learns that by itself
            self._connection.add_callback_threadsafe(_nothing)

    def close(self) -> None:
        """Close the connection; what is unacknowledged goes back to its lanes."""
        close_quietly(self._connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except FOREIGN as error:
            raise _closed(translate(error, self._url)) from error

    def _why_closed(self) -> AMQPError:
        """RabbitMQ closes a channel whose connection lives on (`consumer_timeout`); pika keeps the
        reason and tells it to nobody who only listens."""
        reason = getattr(self._channel, "_closing_reason", None)
        return reason if isinstance(reason, AMQPError) else ChannelWrongStateError("channel closed")

    def _on_message(self, _channel: Any, method: Any, _properties: Any, body: bytes) -> None:  # noqa: ANN401 - pika is untyped
        self._on_arrival(Arrived(_lane_of(method.consumer_tag), method.delivery_tag, body))

    def _on_cancelled(self, frame: Any) -> None:  # noqa: ANN401 - pika is untyped
        """The lane was deleted; or a delivery was out for longer than `consumer_timeout` (4.3), and
        then 4.3.6 keeps the consumer, wakes it with our late ack and sends it messages that pika
        drops. So the connection ends; the next one declares every lane."""
        lane = _lane_of(frame.method.consumer_tag)
        logger.warning("lane %s: RabbitMQ cancelled it; connecting again", lane)
        self._lost.append(lane)


def _lane_of(consumer_tag: str) -> str:
    return consumer_tag.rpartition("#")[0]


def _not_opened(error: HeadraceError) -> Exception:
    """What a person must mend stays what it is; anything else is tried again by Dramatiq."""
    if isinstance(error, Misconfigured):
        return error
    return ConnectionFailed(str(error))  # type: ignore[no-untyped-call]


def _closed(error: HeadraceError) -> ConnectionClosed:
    return ConnectionClosed(str(error))  # type: ignore[no-untyped-call]


def _nothing() -> None:
    """A callback for its arrival's sake."""
