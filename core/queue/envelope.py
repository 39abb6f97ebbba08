"""What travels beside a body: exchange, routing key, properties and headers that an operator
understands.

Always made afresh: a received message's `x-death` in a new publish makes RabbitMQ drop it as a
cycle on its second delay."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pika

from core.model.end import Failure
from core.model.task import Task, subject
from core.ports import Copy, DeadLetter
from core.queue import lanes
from core.queue.message import encode

APP_ID = "headrace"
_PERSISTENT = 2
_LONGEST_TEXT = 2000  # characters of a header: the headers' frame has at most 128 KiB together


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message as it is handed to the publisher thread."""

    exchange: str  # "" is the default exchange: the routing key is the queue
    routing_key: str
    body: bytes
    properties: Any  # pika.BasicProperties


def for_copy(copy: Copy, now: float) -> Outgoing:
    """A task on its way to its lane, at once or through the longest delay that fits."""
    task = copy.task
    headers = _about(task) | {
        "attempts": task.attempts,
        "crashes": task.crashes,
        "serial": task.serial,
        "not_before": iso(task.not_before),
    }
    properties = _properties(task.id, task.kind, headers, now)
    lane = lanes.lane(task.source, task.kind)
    return Outgoing(_exchange(copy.delay_s), lane, encode(task), properties)


def for_letter(letter: DeadLetter, now: float) -> Outgoing:
    """A dead letter on its way to its source's dead queue."""
    task = letter.task
    headers = _about(task) | _why(letter.failure)
    properties = _properties(task.id, task.kind, headers, now)
    return Outgoing("", lanes.dead(task.source), encode(task), properties)


def for_unreadable(lane: str, body: bytes, reason: str, message: str, now: float) -> Outgoing:
    """A body that no task can be read from, on its way to the dead queue of its lane's source; from
    a shared lane, where nothing tells the source, to where `status` alarms."""
    source, kind = lanes.split_lane(lane)
    headers = {
        "source": source,
        "kind": kind.value,
        "reason": reason,
        "message": message,
        "passing": False,
        "last_failure": iso(now),
    }
    properties = _properties(unreadable_id(body), kind, headers, now)
    queue = lanes.DROPPED if source == lanes.HEADRACE else lanes.dead(source)
    return Outgoing("", queue, body, properties)


def for_rest(lane: str, body: bytes, delay_s: float, now: float) -> Outgoing:
    """A body of a newer format: it rests and comes back to its lane, for a worker that can read
    it."""
    source, kind = lanes.split_lane(lane)
    headers = {"source": source, "kind": kind.value, "reason": "newer_format"}
    properties = _properties(unreadable_id(body), kind, headers, now)
    return Outgoing(_exchange(delay_s), lane, body, properties)


def unreadable_id(body: bytes) -> str:
    """What stands for a task's id where none can be read: the same body, the same id."""
    return f"unreadable-{hashlib.sha256(body).hexdigest()[:32]}"


def iso(at: float | None) -> str | None:
    """Unix seconds as people read them."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _exchange(delay_s: float) -> str:
    return lanes.delay(lanes.longest_delay(delay_s)) if delay_s > 0 else ""


def _about(task: Task) -> dict[str, Any]:
    return {
        "source": task.source,
        "kind": task.kind.value,
        "subject": subject(task),
        "generation": task.generation,
    }


def _why(failure: Failure) -> dict[str, Any]:
    return failure.model_dump() | {
        "first_failure": iso(failure.first_failure),
        "last_failure": iso(failure.last_failure),
    }


def _properties(ident: str, kind: str, headers: dict[str, Any], now: float) -> Any:  # noqa: ANN401
    told = {name: _told(value) for name, value in headers.items() if value is not None}
    return pika.BasicProperties(
        content_type="application/json",
        delivery_mode=_PERSISTENT,
        message_id=ident,
        type=str(kind),
        timestamp=int(now),
        app_id=APP_ID,
        headers=told,
    )


def _told(value: object) -> object:
    """A header's value: text is cut, and what UTF-8 can't hold (a lone surrogate from a feed) is
    written out."""
    if not isinstance(value, str):
        return value
    return value[:_LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()
