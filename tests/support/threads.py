"""The threads that a test starts, whatever earlier ones left behind in this process."""

from __future__ import annotations

import threading


class Threads:
    """Those that were started since it was made, and still run."""

    def __init__(self) -> None:
        self._before = set(threading.enumerate())

    @property
    def started(self) -> list[str]:
        """Their names."""
        return [one.name for one in threading.enumerate() if one not in self._before]

    def count(self, name: str) -> int:
        return self.started.count(name)
