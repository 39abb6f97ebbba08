"""Empties a source's lanes of what a person no longer wants, and of nothing else: a task of another
source, one that was submitted since, or one that can't be read goes back where it stood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pika.exceptions import ChannelClosedByBroker

from core.errors import Malformed
from core.model.task import NewerFormat, Task
from core.queue import lanes
from core.queue.connection import opened
from core.queue.message import decode

_NOT_FOUND = 404
_HELD = 2000  # messages at a time on their way to us, or held
_PATIENCE_S = 2.0  # for the next message of those that were counted
_SILENCE_S = 0.2  # after so long nothing more is on its way

Drop = Callable[[Task], bool]
"""Whether a task is dropped; whatever else knows of it has forgotten it when this says so."""


def drain(url: str, source: str, drop: Drop) -> dict[str, int]:
    """How many tasks were dropped from each lane that the source's tasks wait in, shared ones too.
    Bounded by the depths at the start, so it ends while others publish. Raises `BrokerDown`; what
    was looked at and not dropped by then is back."""
    names = (*lanes.lanes_of(source), *lanes.lanes_of(lanes.HEADRACE))
    with opened(url, "purge") as connection:
        return {name: _drained(connection.channel(), name, source, drop) for name in names}


def _drained(channel: Any, lane: str, source: str, drop: Drop) -> int:  # noqa: ANN401
    """Consumed, since asking for one after the other takes eight times as long. What is kept is
    held until the end; behind `_HELD` of those nobody looks, which workers do then."""
    dropped = held = 0
    depth = _depth(channel, lane)
    if not depth:
        return 0
    channel.basic_qos(prefetch_count=_HELD)
    try:
        while dropped + held < depth and held < _HELD:
            method, body = _next(channel, lane, _PATIENCE_S)
            if method is None:
                break  # workers took the rest
            held += 1
            task = _readable(body)
            if task is not None and task.source == source and drop(task):
                channel.basic_ack(method.delivery_tag)
                dropped, held = dropped + 1, held - 1
    finally:
        _put_back(channel, lane, held)
    return dropped


def _put_back(channel: Any, lane: str, held: int) -> None:  # noqa: ANN401 - pika is untyped
    """In its order: all in one, since a channel that just closes returns its messages in none
    (3.10); and with what is on its way to us, since pika would return that before."""
    if not channel.is_open:
        return
    if held or channel.get_waiting_message_count():
        while held < _HELD and _next(channel, lane, _SILENCE_S)[0] is not None:
            held += 1
    channel.cancel()
    if held:
        channel.basic_nack(0, multiple=True, requeue=True)
    channel.close()  # answered only after everything before it


def _next(channel: Any, lane: str, patience_s: float) -> tuple[Any, bytes]:  # noqa: ANN401
    """The next delivery, nothing when none comes in time. (A lane that is deleted meanwhile ends
    its consumer.)"""
    deliveries = channel.consume(lane, inactivity_timeout=patience_s)
    method, _properties, body = next(deliveries, (None, None, b""))
    return method, body


def _depth(channel: Any, lane: str) -> int:  # noqa: ANN401 - pika is untyped
    try:
        return int(channel.queue_declare(lane, passive=True).method.message_count)
    except ChannelClosedByBroker as error:
        if error.reply_code != _NOT_FOUND:
            raise
        return 0  # nobody has declared it yet


def _readable(body: bytes) -> Task | None:
    try:
        return decode(body)[1]
    except (Malformed, NewerFormat):
        return None
