"""What operators switch, in one small file that every worker reads again and again.

Written beside whoever has the store open, also a run that has it alone: a pause must reach it too.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import StorageDown
from core.model.switch import Switch, Switches
from core.store import records
from core.store.files import Disk


class _Kept(Switches):
    """`switches.json`."""

    format: int = records.FORMAT


class SwitchStore:
    """`switches.json` in the store's folder. Safe for threads and for processes beside."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._path = disk.paths.switches

    @property
    def root(self) -> Path:
        """The store's folder."""
        return self._disk.paths.root

    def read(self) -> Switches:
        """All switches as they stand; none where nobody ever switched anything. Raises
        `StorageDown` when that can't be told, which is not the same as no switches."""
        # Opened each time: network folders tell of a new file to whoever opens, not who looks.
        kept = records.read(self._disk, self._path, _Kept)
        if kept is not None:
            return Switches(sources=kept.sources)
        if self._disk.stat(self._disk.paths.format) is None:
            raise StorageDown(f"{self._disk.paths.root} is gone: is the store's disk mounted?")
        return Switches()

    def change(self, source: str, changed: Callable[[Switch], Switch]) -> Switch:
        """Put `changed` of the source's switches in their place, and return it. Nobody's change in
        between is lost. Raises `StorageDown`; the file is then as it was before."""
        with self._alone():
            kept = self.read()
            switch = changed(kept.of(source))
            if switch != kept.of(source):
                self._write(kept.put(source, switch))
        return switch

    @contextmanager
    def _alone(self) -> Iterator[None]:
        path = self._disk.paths.switches_lock
        with self._disk.told("open", path):
            lock = path.open("ab")
        with lock:
            with self._disk.told("lock", path):
                fcntl.flock(lock, fcntl.LOCK_EX)  # held for one write at most
            try:
                yield
            finally:  # said, and not left to closing: a forked process may have a copy
                fcntl.flock(lock, fcntl.LOCK_UN)

    def _write(self, switches: Switches) -> None:
        """In one step, and durable. Not by way of the unnamed files, which whoever opens the store
        alone sweeps without asking whose they are."""
        path = self._disk.paths.switches_new
        self._disk.remove(path)  # another user's, who died before giving it its name
        with self._disk.told("write", path), path.open("xb") as file:
            file.write(records.encode(_Kept(sources=switches.sources)))
            file.flush()
            os.fsync(file.fileno())
        self._disk.rename(path, self._path)
        self._disk.sync(path.parent)
