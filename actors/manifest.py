"""The `manifest` actor: plans a video from its manifest."""

from __future__ import annotations

from typing import Any

import dramatiq

from actors.app import app, broker
from core.errors import HeadraceError
from core.model.task import Kind
from core.queue.lanes import HEADRACE


@dramatiq.actor(
    broker=broker, queue_name=HEADRACE, actor_name=Kind.MANIFEST.value, throws=HeadraceError
)
def manifest(record: dict[str, Any]) -> None:
    """Perform the task record of a `manifest` message."""
    app.perform(record)
