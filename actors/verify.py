"""The `verify` actor: joins a video whose pieces are all there."""

from __future__ import annotations

from typing import Any

import dramatiq

from actors.app import app, broker
from core.errors import HeadraceError
from core.model.task import Kind
from core.queue.lanes import HEADRACE


@dramatiq.actor(
    broker=broker, queue_name=HEADRACE, actor_name=Kind.VERIFY.value, throws=HeadraceError
)
def verify(record: dict[str, Any]) -> None:
    """Perform the task record of a `verify` message."""
    app.perform(record)
