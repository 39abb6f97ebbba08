"""What must not happen before its time: a heap by due time. Pure; its owner reads the clock."""

from __future__ import annotations

import heapq
import itertools
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Waiting(Generic[Item]):
    """Items by the moment they are due; equals leave in the order they came."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Item]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, due: float, item: Item) -> None:
        """Keep `item` until `due`."""
        heapq.heappush(self._heap, (due, next(self._order), item))

    def take_due(self, now: float) -> list[Item]:
        """Remove and return what is due, the earliest first."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            due.append(heapq.heappop(self._heap)[2])
        return due

    def take_all(self) -> list[Item]:
        """Remove and return everything, due or not."""
        return self.take_due(float("inf"))

    def wait_s(self, now: float, limit_s: float) -> float:
        """Seconds until the next item is due, `limit_s` at most."""
        if not self._heap:
            return limit_s
        return min(limit_s, max(0.0, self._heap[0][0] - now))
