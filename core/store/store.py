"""One open store: the folder that is the truth, its parts, and the lock on it."""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import weakref
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from core.clock import Clock
from core.errors import StorageDown
from core.store import records
from core.store.faults import storage_down
from core.store.feeds import Feeds
from core.store.files import Disk
from core.store.library import Library
from core.store.lock import NoLock, StoreLock
from core.store.looks import Looks
from core.store.media import Media
from core.store.objects import Objects
from core.store.paths import Paths
from core.store.posts import Posts
from core.store.repeats import Repeats
from core.store.staging import Staging
from core.store.sums import Sums
from core.store.switches import SwitchStore
from core.store.videos import Videos
from core.store.walks import Walks

_STALE_S = 86_400.0  # an unnamed file this old has no living writer
_BEGUN = frozenset({"lock", "staging", "lost+found"})  # what is made before store.json


class StoreFormat(BaseModel):
    """`store.json`."""

    model_config = ConfigDict(frozen=True)

    format: int = records.FORMAT
    id: str = Field(default_factory=lambda: secrets.token_hex(8))  # tasks name it


class Store:
    """Open with `Store.open`; safe for threads, not for use after a fork."""

    def __init__(self, disk: Disk, clock: Clock, lock: StoreLock | NoLock) -> None:
        self._disk = disk
        self._lock = lock
        self.objects = Objects(disk)
        self.media = Media(disk, clock, self._begin_sums)
        self.walks = Walks(disk)
        self.looks = Looks(disk)
        self.posts = Posts(disk, clock, self.walks.completed)
        self.feeds = Feeds(disk)
        self.staging = Staging(disk)
        self.videos = Videos(disk, clock)
        self.library = Library(disk)
        self.sums = Sums(disk, self.media)
        self.repeats = Repeats(disk)
        self.switches = SwitchStore(disk)
        _open_stores.add(self)

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        exclusive: bool,
        clock: Clock,
        writer: str,
        disk: type[Disk] = Disk,
    ) -> Store:
        """Open the store in `root`, made if need be, for this process alone or beside others.
        Raises `StorageDown` when it is in use, newer, no store at all, or out of reach."""
        paths = Paths(root.resolve())
        files = disk(paths, re.sub(r"[^A-Za-z0-9_-]", "_", writer)[:100])
        _make_root(files)
        _refuse_foreign(files)
        lock = StoreLock(paths.lock, exclusive=exclusive, writer=writer)
        try:
            _lay_out(files)
            _sweep(files, older_than=math.inf if exclusive else clock.now() - _STALE_S)
            store = cls(files, clock, lock)
        except BaseException:
            lock.close()
            raise
        return store

    @classmethod
    def look(cls, root: Path, *, clock: Clock) -> Store:
        """A store to read beside whoever uses it: no lock is taken and nothing is made. Never write
        through it; only switches may be changed, which have a lock of their own. Raises
        `StorageDown` when none is there, or one of a newer format."""
        files = Disk(Paths(root.resolve()), "looking")
        if records.read(files, files.paths.format, StoreFormat) is None:
            raise StorageDown(
                f"there is no store in {files.paths.root} yet: crawl or submit a feed first, or "
                "name another folder"
            )
        return cls(files, clock, NoLock())

    @cached_property
    def id(self) -> str:
        """The store's own, wherever it is moved: what tells its tasks from another store's."""
        kept = records.read(self._disk, self._disk.paths.format, StoreFormat)
        if kept is None:
            raise StorageDown(f"{self._disk.paths.format} is gone: is the store's disk mounted?")
        return kept.id

    @property
    def root(self) -> Path:
        """The store's folder."""
        return self._disk.paths.root

    def close(self) -> None:
        """End this writer's list and give the store back; twice is harmless."""
        self.sums.close()
        self.library.close()
        self._disk.refuse(f"the store {self.root} was closed by this process: open it again")
        self._lock.close()

    def _begin_sums(self) -> None:
        self.sums.begin()

    def leave_to_parent(self) -> None:
        """In a forked child: let go of what the parent holds, and refuse to work through it."""
        self._disk.refuse(
            f"the store {self.root} was opened before a fork: each process opens it for itself"
        )
        self.sums.forget()
        self.library.close()
        self._lock.forget()


_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for store in list(_open_stores):
        store.leave_to_parent()


os.register_at_fork(after_in_child=_leave_all_to_parent)


def _make_root(disk: Disk) -> None:
    root = disk.paths.root
    if root.is_dir():
        return
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_down("create", root, error) from error
    with contextlib.suppress(StorageDown):  # a parent that we may write to but not read
        disk.sync(root.parent)


def _refuse_foreign(disk: Disk) -> None:
    """A folder that holds anything and is no store is left alone."""
    if disk.stat(disk.paths.format) is not None:
        return
    taken = sorted(set(disk.names(disk.paths.root)) - _BEGUN)
    if taken:
        shown = ", ".join(taken[:3]) + (", ..." if len(taken) > 3 else "")
        raise StorageDown(
            f"{disk.paths.root} is no Headrace store, but holds {shown}: choose an empty folder or "
            "a new one"
        )


def _lay_out(disk: Disk) -> None:
    """`store.json` first, so that whatever else is there is known to be ours."""
    path = disk.paths.format
    if disk.stat(path) is None:
        disk.make_folder(disk.paths.unnamed)
        disk.create_exclusive(path, records.encode(StoreFormat()))
    records.read(disk, path, StoreFormat)
    for folder in disk.paths.folders():
        disk.make_folder(folder)


def _sweep(disk: Disk, *, older_than: float) -> None:
    """Remove what crashed writers left without a name. Alone in the store, that is all of it."""
    folder = disk.paths.unnamed
    for name in disk.names(folder):
        found = disk.stat(folder / name)
        if found is not None and found.st_mtime < older_than and name != disk.NAMING:
            with contextlib.suppress(StorageDown):
                disk.remove(folder / name)
