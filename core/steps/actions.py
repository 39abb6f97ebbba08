"""What a step asks for, in order. A step is a generator of these: it says what should happen next,
and whoever performs it makes it happen, durably, before the step goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.model.end import MediaEnd
from core.model.task import Task
from core.model.walk import WalkEnd, WalkPage
from core.ports import Copy


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish these and wait for their confirms."""

    copies: tuple[Copy, ...]


def published_by(parent: Task, copy: Copy) -> Copy:
    """`copy` as a run of `parent` publishes it: in the same store, and no older than the parent, so
    that what a person submits anew goes before whatever the ledger remembers of lost copies. It
    follows from the same submission, however late it is: a purge that means one means both."""
    serial = max(copy.task.serial, parent.serial)
    changes = {"store": parent.store, "serial": serial, "submitted_ms": parent.origin_ms}
    return replace(copy, task=copy.task.model_copy(update=changes))


Action = Publish | MediaEnd | WalkPage | WalkEnd
