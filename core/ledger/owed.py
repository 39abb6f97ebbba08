"""Leases that this process holds against its will: it could not say that it gave them up, or never
heard whether it got them. Left to run out, each would count as a crash. Asks nobody."""

from __future__ import annotations

import threading

from core.model.task import Task


class Owed:
    """Releases by token, until they can be told. Thread-safe: each is taken by one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_token: dict[str, Task] = {}

    def __len__(self) -> int:
        return len(self._by_token)

    def add(self, task: Task, token: str) -> None:
        """This lease is to end."""
        with self._lock:
            self._by_token[token] = task

    def take(self, task_id: str | None = None) -> tuple[Task, str] | None:
        """One of them, of one task or of any, for whoever tells it or adds it once more."""
        if not self._by_token:
            return None
        with self._lock:
            for token, task in self._by_token.items():
                if task_id in (None, task.id):
                    del self._by_token[token]
                    return task, token
        return None
