"""The `image` actor: gets one plain file, picture or video."""

from __future__ import annotations

from typing import Any

import dramatiq

from actors.app import app, broker
from core.errors import HeadraceError
from core.model.task import Kind
from core.queue.lanes import HEADRACE


@dramatiq.actor(
    broker=broker, queue_name=HEADRACE, actor_name=Kind.IMAGE.value, throws=HeadraceError
)
def image(record: dict[str, Any]) -> None:
    """Perform the task record of a `image` message."""
    app.perform(record)
