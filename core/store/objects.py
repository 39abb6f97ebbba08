"""Original bytes, each named by its digest, read-only and never altered or overwritten."""

from __future__ import annotations

from pathlib import Path

from core.errors import StorageDown
from core.store.files import Disk

_READ_ONLY = 0o444


class Objects:
    """`objects/sha256/ab/cd/HASH`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths = disk.paths

    def path(self, sha256: str) -> Path:
        """Where the bytes with this digest lie, or would lie."""
        return self._paths.object(sha256)

    def has(self, sha256: str) -> bool:
        """Whether they are there."""
        return self._disk.stat(self.path(sha256)) is not None

    def put(self, partial: Path, sha256: str) -> Path:
        """Make `partial`, whose digest the caller computed, the object of that name; durable when
        this returns. The partial keeps its name until its staging is cleared, so that a commit
        that stops half way needs no second download."""
        path = self.path(sha256)
        size_bytes = self._size(partial, path)
        if self.has(sha256) or not self._place(partial, path):
            self._check(path, size_bytes)
        self._disk.sync(path.parent)
        return path

    def _place(self, partial: Path, path: Path) -> bool:
        self._disk.sync(partial, mode=_READ_ONLY)
        return self._disk.place(partial, path)

    def _size(self, partial: Path, path: Path) -> int:
        """The size of the partial. Another worker that got the same media may have cleared it; its
        object then stands for both."""
        found = self._disk.stat(partial) or self._disk.stat(path)
        if found is None:
            raise StorageDown(
                f"{partial} is gone before it was committed: was the staging folder cleared by "
                "hand? the media will be fetched again"
            )
        return found.st_size

    def _check(self, path: Path, size_bytes: int) -> None:
        found = self._disk.stat(path)
        if found is None or found.st_size != size_bytes:
            held = "nothing" if found is None else f"{found.st_size:,} bytes"
            raise StorageDown(
                f"object {path} holds {held}, not the {size_bytes:,} bytes it is named for: it is "
                "damaged; check the disk, move the file away and run again"
            )
