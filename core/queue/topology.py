"""Declares every queue of lanes.py on a channel, and writes the same as rabbitmq/definitions.json.

It never changes what exists: a queue with other arguments is an error for a person to solve."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pika.exceptions import ChannelClosedByBroker

from core.errors import HeadraceError, Misconfigured
from core.queue import lanes
from core.queue.connection import translate
from core.settings import Settings

_PRECONDITION_FAILED = 406
_INEQUIVALENT = re.compile(
    r"inequivalent arg '(?P<argument>[^']+)' for (?P<what>queue|exchange) '(?P<name>[^']+)'"
    r"(?: in vhost '(?P<vhost>[^']*)')?: received (?P<wanted>.+?) but current is (?P<found>.+)"
)


def queues(sources: Iterable[str]) -> tuple[lanes.Queue, ...]:
    """Every queue, targets before what leads to them."""
    of_sources = [
        queue
        for source in sources
        if source != lanes.HEADRACE  # as a lane's first half it is no source
        for queue in (*map(lanes.lane_queue, lanes.lanes_of(source)), lanes.dead_queue(source))
    ]
    shared = map(lanes.lane_queue, lanes.lanes_of(lanes.HEADRACE))
    return (lanes.dropped_queue(), *shared, *of_sources, *map(lanes.delay_queue, lanes.DELAYS_S))


def exchanges() -> tuple[str, ...]:
    """The fanout exchanges, each bound to the delay queue of its name."""
    return tuple(lanes.delay(seconds) for seconds in lanes.DELAYS_S)


def declare(channel: Any, sources: Iterable[str], *, url: str = "") -> None:  # noqa: ANN401
    """Declare everything on a blocking channel. Raises `Misconfigured` when a queue exists with
    other arguments (the channel is closed then)."""
    try:
        for step in _steps(sources):
            step(channel, {})
    except ChannelClosedByBroker as error:
        raise explain(error, url) from error


def declare_soon(channel: Any, sources: Iterable[str], done: Callable[[], None]) -> None:  # noqa: ANN401
    """The same on a callback channel: everything goes out at once, `done` is called after the last
    answer. A refusal closes the channel; `explain` says what its reason means."""
    *first, last = _steps(sources)
    for step in first:
        step(channel, {})  # without a callback pika asks for no answer
    last(channel, {"callback": lambda _frame: done()})


Step = Callable[[Any, dict[str, Any]], object]


def _steps(sources: Iterable[str]) -> list[Step]:
    return [
        *(_queue_step(queue) for queue in queues(sources)),
        *(_exchange_step(name) for name in exchanges()),
        # An unbound delay loses what is published to it: bound before anyone can publish.
        *(_bind_step(name) for name in exchanges()),
    ]


def _queue_step(queue: lanes.Queue) -> Step:
    return lambda channel, more: channel.queue_declare(
        queue.name, durable=True, arguments=queue.arguments, **more
    )


def _exchange_step(name: str) -> Step:
    return lambda channel, more: channel.exchange_declare(name, "fanout", durable=True, **more)


def _bind_step(name: str) -> Step:
    return lambda channel, more: channel.queue_bind(name, name, routing_key="", **more)


def explain(error: BaseException, url: str) -> HeadraceError:
    """What a channel's end means: for a 406, which queue, what differs and how to migrate."""
    if not isinstance(error, ChannelClosedByBroker) or error.reply_code != _PRECONDITION_FAILED:
        return translate(error, url)
    found = _INEQUIVALENT.search(error.reply_text)
    if found is None:
        text = f"RabbitMQ refuses a queue of ours: {error.reply_text}"
        return Misconfigured(f"{text}. {_MIGRATE}", reason="queue_differs")
    name, argument = found["name"], found["argument"]
    return Misconfigured(
        f"{found['what']} {name!r} in virtual host {found['vhost'] or '/'!r} exists with another "
        f"{argument}: there {_value(found['found'])}, wanted {_value(found['wanted'])}"
        f"{_altogether(name)}. {_MIGRATE}",
        reason="queue_differs",
    )


def _altogether(name: str) -> str:
    """Everything that a queue is declared with: RabbitMQ tells only the first difference."""
    for queue in queues([name.rpartition(".")[0]]):
        if queue.name == name:
            pairs = ", ".join(f"{key}={value!r}" for key, value in queue.arguments.items())
            return f" (altogether: {pairs})"
    return ""


_MIGRATE = (
    "To migrate: stop all workers; let the queue run empty, or move its messages to a queue of "
    "another name (console: «Move messages»); delete it; start again, which declares it anew; move "
    "the messages back"
)


def _value(told: str) -> str:
    """`the value '1000' of type 'signedint'`, `'1000'` or `none`, in few words."""
    quoted = re.search(r"'([^']*)'", told)
    return (quoted[1] or "''") if quoted else told.strip()


# --- rabbitmq/definitions.json ---


def definitions(sources: Iterable[str], *, vhost: str = "/") -> dict[str, Any]:
    """Everything as the management plugin imports it. No users: they are the operator's."""
    place = {"vhost": vhost}
    return {
        "vhosts": [{"name": vhost}],
        "exchanges": [
            {"name": name, **place, "type": "fanout", **_LASTING, "internal": False, **_PLAIN}
            for name in exchanges()
        ],
        "queues": [
            {"name": queue.name, **place, **_LASTING, "arguments": queue.arguments}
            for queue in queues(sources)
        ],
        "bindings": [
            {"source": name, **place, "destination": name, **_TO_QUEUE, **_PLAIN}
            for name in exchanges()
        ],
    }


_LASTING = {"durable": True, "auto_delete": False}
_TO_QUEUE = {"destination_type": "queue", "routing_key": ""}
_PLAIN: dict[str, Any] = {"arguments": {}}


def rendered(sources: Iterable[str]) -> str:
    """The file's text."""
    return json.dumps(definitions(sources), indent=2) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """`python -m core.queue.topology --write|--check FILE`, for the default settings."""
    parser = argparse.ArgumentParser(description="Write or check rabbitmq/definitions.json.")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", type=Path, metavar="FILE")
    mode.add_argument("--check", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    text = rendered(Settings().all_sources())
    if chosen.write:
        chosen.write.write_text(text, encoding="utf-8")
        return 0
    if chosen.check.is_file() and chosen.check.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(
        f"{chosen.check} does not agree with core/queue/lanes.py: run "
        f"python -m core.queue.topology --write {chosen.check}\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
