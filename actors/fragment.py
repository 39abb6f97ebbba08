"""The `fragment` actor: puts one piece of a video into its staging."""

from __future__ import annotations

from typing import Any

import dramatiq

from actors.app import app, broker
from core.errors import HeadraceError
from core.model.task import Kind
from core.queue.lanes import HEADRACE


@dramatiq.actor(
    broker=broker, queue_name=HEADRACE, actor_name=Kind.FRAGMENT.value, throws=HeadraceError
)
def fragment(record: dict[str, Any]) -> None:
    """Perform the task record of a `fragment` message."""
    app.perform(record)
