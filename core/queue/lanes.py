"""The only list of queues: lanes, dead queues, delays, and the arguments each is declared with.

Everything here is data; rabbitmq/definitions.json is generated from it and checked by the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.model.task import Kind

# The one Dramatiq queue, whose consumer holds every lane. As a lane's first half it stands for all
# sources: what is done there costs no request, but keeps a core busy.
HEADRACE = "headrace"
DROPPED = "headrace.dropped"  # where the delivery limit leads: `status` alarms on it
DELIVERY_LIMIT = (
    1_000_000  # 4.x has 20 by default, and six looks in the console would drop a letter
)
DELAYS_S = (1, 5, 15, 60, 300, 900, 3600, 21_600)
# How late a task may come back. Without it the milliseconds that a round takes would turn what is
# left of 30 s after 15 s into seven shorter rounds.
LATE_S = 0.25

_SHARED = (Kind.VERIFY,)  # one lane for every source's
_OWN = tuple(kind for kind in Kind if kind not in _SHARED)  # in the order of their turns

_QUORUM: dict[str, Any] = {"x-queue-type": "quorum"}


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue as it is declared: durable, quorum."""

    name: str
    arguments: dict[str, Any] = field(default_factory=lambda: dict(_QUORUM))


def lane(source: str, kind: Kind) -> str:
    """`weibo.image`, `headrace.verify`: where the tasks of one source and kind wait."""
    return f"{HEADRACE if kind in _SHARED else source}.{kind}"


def split_lane(name: str) -> tuple[str, Kind]:
    """The owner of a lane's slots, a source or `headrace`, and its kind. Raises ValueError for any
    other name."""
    source, _, kind = name.rpartition(".")
    if not source:
        raise ValueError(f"{name!r} is no lane: expected SOURCE.KIND")
    return source, Kind(kind)


def dead(source: str) -> str:
    """`weibo.dead`: where a source's dead letters stay until a person acts."""
    return f"{source}.dead"


def delay(seconds: int) -> str:
    """`headrace.delay.5s`: both the fanout exchange and its queue."""
    return f"{HEADRACE}.delay.{seconds}s"


def lanes_of(owner: str) -> tuple[str, ...]:
    """Every lane whose slots are `owner`'s, a source or `headrace`, in the order of their turns."""
    return tuple(lane(owner, kind) for kind in (_SHARED if owner == HEADRACE else _OWN))


def with_shared(slots: Mapping[str, int | None]) -> dict[str, int | None]:
    """The owners of slots among whom the shared lanes' is, whether named or not."""
    return dict(slots) | {HEADRACE: slots.get(HEADRACE)}


def lane_queue(name: str) -> Queue:
    """A lane: no length limit (one full lane would freeze every source's delays), drops go where
    `status` sees them."""
    return Queue(
        name,
        _QUORUM
        | {
            "x-delivery-limit": DELIVERY_LIMIT,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": DROPPED,
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",
        },
    )


def delay_queue(seconds: int) -> Queue:
    """A delay: the message rests for the TTL, then goes to the lane that its routing key names."""
    return Queue(
        delay(seconds),
        _QUORUM
        | {
            "x-message-ttl": seconds * 1000,
            "x-dead-letter-exchange": "",
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",
        },
    )


def dead_queue(source: str) -> Queue:
    """A dead queue: no TTL; letters stay until a person requeues or discards them."""
    return lane_queue(dead(source))


def dropped_queue() -> Queue:
    """The last resort: whatever the broker itself gave up on."""
    return Queue(DROPPED)


def longest_delay(remaining_s: float) -> int:
    """The longest delay that fits in what remains, or nearly does; the shortest where none does."""
    fit = (seconds for seconds in DELAYS_S if seconds <= remaining_s + LATE_S)
    return max(fit, default=DELAYS_S[0])
