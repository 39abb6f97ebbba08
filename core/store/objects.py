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
        # In a folder that is new nothing can have the name: no need to look.
        is_new = self._disk.make_folder(path.parent) or not self.has(sha256)
        if not (is_new and self._place(partial, path)):
            self._check(path, partial)
        self._disk.sync(path.parent)
        return path

    def _place(self, partial: Path, path: Path) -> bool:
        """False when the name is taken, or the partial gone: another worker that got the same media
        may have cleared it, and its object then stands for both."""
        return self._disk.seal(partial, _READ_ONLY) and self._disk.place(partial, path)

    def _check(self, path: Path, partial: Path) -> None:
        """Whether what has the name is as large as what should have it."""
        found, told = self._disk.stat(path), self._disk.stat(partial)
        if told is None and found is None:
            raise StorageDown(
                f"{partial} is gone before it was committed: was the staging folder cleared by "
                "hand? the media will be fetched again"
            )
        if told is not None and (found is None or found.st_size != told.st_size):
            held = "nothing" if found is None else f"{found.st_size:,} bytes"
            raise StorageDown(
                f"object {path} holds {held}, not the {told.st_size:,} bytes it is named for: it "
                "is damaged; check the disk, move the file away and run again"
            )
