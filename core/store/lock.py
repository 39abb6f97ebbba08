"""Who has a store open: one process alone, or workers together. Holds no data."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from core.errors import StorageDown
from core.store.faults import storage_down


class StoreLock:
    """A lock on `lock`, held until `close` or until the process ends, however it ends."""

    def __init__(self, path: Path, *, exclusive: bool, writer: str) -> None:
        """Take it at once. Raises `StorageDown` saying who has it and what to do."""
        try:
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise storage_down("open", path, error) from error
        try:
            fcntl.flock(self._file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            self._sign(writer if exclusive else "")
        except BlockingIOError:
            with self._file:
                raise self._held(path, exclusive=exclusive) from None
        except OSError as error:
            with self._file:
                raise storage_down("lock", path, error) from error

    def close(self) -> None:
        """Give it back, also for copies of it in processes that were forked from this one."""
        if not self._file.closed:
            with self._file:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def forget(self) -> None:
        """In a forked process: let go of the copy, without giving back what is the parent's."""
        self._file.close()

    def _sign(self, name: str) -> None:
        """Whoever is alone writes its name; workers wipe what a killed one left."""
        os.ftruncate(self._file.fileno(), 0)
        self._file.write(name.encode())

    def _held(self, path: Path, *, exclusive: bool) -> StorageDown:
        self._file.seek(0)
        holder = self._file.read(200).decode(errors="replace").strip()
        store = path.parent
        if holder:
            return StorageDown(
                f"the store {store} is in use by {holder}, which needs it alone: wait until it "
                "ends, or stop it, or choose another folder"
            )
        alone = "this command needs it alone" if exclusive else "another process needs it alone"
        return StorageDown(
            f"the store {store} is in use by workers, and {alone}: stop them first, or submit the "
            "feed to them, or choose another folder"
        )


class NoLock:
    """What stands in the lock's place for somebody who only looks."""

    def close(self) -> None:
        """Nothing is held."""

    def forget(self) -> None:
        """Nothing is held."""
