"""RabbitMQ's own counters of one virtual host."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from scripts.servers.rabbitmq import call_api

SETTLED_S = 7.0  # by then the management API, which samples every 5 s, has counted what was before
_LEVEL_S = 3.5  # by then it knows what a queue holds


@dataclass(frozen=True, slots=True)
class Counted:
    """Since the queues were declared."""

    published: int  # copies that clients put into lanes and delay queues
    delivered: int  # to consumers of lanes
    redelivered: int  # of those: delivered once more after they went back
    acknowledged: int

    def since(self, before: Counted) -> Counted:
        return Counted(
            self.published - before.published,
            self.delivered - before.delivered,
            self.redelivered - before.redelivered,
            self.acknowledged - before.acknowledged,
        )


class Counters:
    """Asks the management API."""

    def __init__(self, api: str, vhost: str) -> None:
        self._api = api
        self._vhost = vhost

    def read(self, *sources: str) -> Counted:
        """Of these sources' lanes (of all without any), and of every delay queue; waits until the
        API is up to date."""
        time.sleep(SETTLED_S)
        lanes, delays = self._lanes(sources), self._delays()
        return Counted(
            published=_sum(lanes + delays, "publish"),
            delivered=_sum(lanes, "deliver"),
            redelivered=_sum(lanes, "redeliver"),
            acknowledged=_sum(lanes, "ack"),
        )

    def unacknowledged(self, *sources: str) -> int:
        """Deliveries that workers hold, of these sources' lanes."""
        time.sleep(_LEVEL_S)
        return sum(queue.get("messages_unacknowledged", 0) for queue in self._lanes(sources))

    def connections(self) -> int:
        """To this virtual host."""
        found = call_api(self._api, "GET", "connections")
        return sum(1 for connection in found if connection.get("vhost") == self._vhost)

    def _lanes(self, sources: tuple[str, ...]) -> list[dict[str, Any]]:
        named = [(queue["name"].partition("."), queue) for queue in self._queues()]
        return [
            queue
            for (source, dot, kind), queue in named
            if dot and source != "headrace" and kind != "dead" and source in (sources or (source,))
        ]

    def _delays(self) -> list[dict[str, Any]]:
        return [queue for queue in self._queues() if queue["name"].startswith("headrace.delay")]

    def _queues(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = call_api(self._api, "GET", f"queues/{self._vhost}")
        return found


def _sum(queues: list[dict[str, Any]], counter: str) -> int:
    return sum(queue.get("message_stats", {}).get(counter, 0) for queue in queues)
