"""Whether the store's disk has room for what a request would bring: asked before the request goes
out, since the source pays for it, and again when its size is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import StorageDown


@dataclass(frozen=True, slots=True)
class Room:
    """Of one store's disk."""

    free_bytes: Callable[[], int]
    min_free_bytes: int  # stay free

    def check(self, needed_bytes: int = 0) -> None:
        """Raises `StorageDown` when so many more bytes would be too many."""
        free = self.free_bytes()
        if free - needed_bytes < self.min_free_bytes:
            wanted = f"{needed_bytes:,} are needed and " if needed_bytes else ""
            raise StorageDown(
                f"the store's disk has {free:,} bytes free: {wanted}{self.min_free_bytes:,} stay "
                "free (fetch.min_free_bytes); make room"
            )
