"""The `discover` actor: reads one page of a feed."""

from __future__ import annotations

from typing import Any

import dramatiq

from actors.app import app, broker
from core.errors import HeadraceError
from core.model.task import Kind
from core.queue.lanes import HEADRACE


@dramatiq.actor(
    broker=broker, queue_name=HEADRACE, actor_name=Kind.DISCOVER.value, throws=HeadraceError
)
def discover(record: dict[str, Any]) -> None:
    """Perform the task record of a `discover` message."""
    app.perform(record)
