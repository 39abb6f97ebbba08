"""Whether the store's disk has room for what a request would bring: asked before the request goes
out, since the source pays for it, and again when its size is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from core.clock import Clock
from core.errors import StorageDown

# A look that found plenty holds for a moment: nobody fills so much in so short a time. Two looks
# an image were two system calls, and each of those hands the interpreter to another thread.
_PLENTY_BYTES = 4 * 1024**3
_MOMENT_S = 0.25


@dataclass(slots=True)
class Room:
    """Of one store's disk."""

    free_bytes: Callable[[], int]
    min_free_bytes: int  # stay free
    clock: Clock
    _plenty_until: float = field(default=-math.inf, init=False)  # monotonic

    def check(self, needed_bytes: int = 0) -> None:
        """Raises `StorageDown` when so many more bytes would be too many."""
        now = self.clock.monotonic()
        if now < self._plenty_until and needed_bytes < _PLENTY_BYTES // 2:
            return
        free = self.free_bytes()
        if free - self.min_free_bytes >= _PLENTY_BYTES:
            self._plenty_until = now + _MOMENT_S
        if free - needed_bytes < self.min_free_bytes:
            wanted = f"{needed_bytes:,} are needed and " if needed_bytes else ""
            raise StorageDown(
                f"the store's disk has {free:,} bytes free: {wanted}{self.min_free_bytes:,} stay "
                "free (fetch.min_free_bytes); make room"
            )
