"""Durable files: every write of the store goes through a `Disk`, which makes it survive a power
cut before it returns, and tells every OSError as `StorageDown`. Knows nothing of what it writes.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from core.errors import StorageDown
from core.store import blocks
from core.store.faults import Told
from core.store.paths import Paths
from core.store.syncfs import sync_file_system

_CHUNK = 1024 * 1024
_FEW = 8  # up to so many files are synced one by one; more, with the whole file system at once
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})
NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK})


class Disk:
    """The file operations of one open store. Safe for threads; useless after `refuse`."""

    NAMING = "naming.lock"  # among the unnamed files: makes names exclusive where links don't

    def __init__(self, paths: Paths, writer: str) -> None:
        self.paths = paths
        self.writer = writer
        self._numbers = itertools.count(1)
        self._refusal: str | None = None

    def refuse(self, why: str) -> None:
        """From now on every operation raises `StorageDown` with these words."""
        self._refusal = why

    def before(self, what: str, path: Path) -> None:
        """Called before each operation: the seam at which tests let disks fail and die."""

    def begin(self, what: str, path: Path) -> None:
        """An operation begins. Raises `StorageDown` after `refuse`."""
        if self._refusal is not None:
            raise StorageDown(self._refusal)
        self.before(what, path)

    def told(self, what: str, path: Path) -> Told:
        """Run one operation within this; the one place where an OSError becomes `StorageDown`."""
        return Told(self.begin, what, path)

    # --- reading: what is not there is an answer, not an error ---

    def read(self, path: Path) -> bytes | None:
        """The whole content; None when there is no such file."""
        with self.told("read", path), suppress(FileNotFoundError):
            return blocks.read(path)
        return None

    def open(self, path: Path) -> BinaryIO | None:
        """The file, for reading; None when there is none."""
        with self.told("read", path), suppress(FileNotFoundError):
            return path.open("rb")
        return None

    def names(self, folder: Path, *, make: bool = False) -> list[str]:
        """The names in a folder, in no order; none when there is no such folder, which `make` makes
        then: cheaper than to ask for it each time."""
        with self.told("list", folder), suppress(FileNotFoundError, NotADirectoryError):
            return os.listdir(folder)  # noqa: PTH208 - names are all it takes
        if make:
            self.make_folder(folder)
        return []

    def stat(self, path: Path) -> os.stat_result | None:
        """Size, links and kind, of the link itself where it is one; None when nothing is there."""
        with self.told("look at", path), suppress(FileNotFoundError):
            return path.lstat()
        return None

    def free_bytes(self) -> int:
        """What this user may still write to the store's disk."""
        with self.told("measure", self.paths.root):
            vfs = os.statvfs(self.paths.root)
            return vfs.f_bavail * vfs.f_frsize

    # --- single steps ---

    def make_folder(self, folder: Path) -> bool:
        """Create it, and what leads to it; False when it is there already."""
        with self.told("create", folder):
            try:
                folder.mkdir()
            except FileExistsError:
                if folder.is_dir():
                    return False
                raise
            except FileNotFoundError:
                if self.paths.root in (folder, folder.parent):
                    raise  # the store itself is gone: it is not made anew in the middle of a run
                self.make_folder(folder.parent)
                return self.make_folder(folder)
            return True

    def rename(self, path: Path, target: Path) -> bool:
        """Rename within the store; False when `path` is not there (any more)."""
        with self.told("rename", path):
            try:
                path.rename(target)
            except FileNotFoundError:
                return False
            return True

    def name_folder(self, folder: Path, target: Path) -> bool:
        """Rename a folder that was filled apart, so that `target` is there whole or not at all;
        False when somebody was first. The name is not yet durable."""
        with self.told("create", target):
            try:
                folder.rename(target)
            except OSError as error:
                if error.errno not in _NOT_EMPTY:
                    raise
                return False
            return True

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        with self.told("remove", path):
            path.unlink(missing_ok=True)

    def remove_tree(self, path: Path) -> None:
        """Remove a folder and all that is in it, if it is there. Follows no link."""
        held = self.stat(path)
        if held is None or not stat.S_ISDIR(held.st_mode):
            self.remove(path)
            return
        for name in self.names(path):
            self.remove_tree(path / name)
        with self.told("remove", path), suppress(FileNotFoundError):
            path.rmdir()

    def sync(self, path: Path) -> None:
        """The content of a file, or the names in a folder, survive a power cut from here on. A new
        folder's own name goes along: ext4, XFS, Btrfs and F2FS journal both together, and on NFS
        the server has written it already."""
        with self.told("sync", path):
            blocks.sync(path)

    def seal(self, path: Path, mode: int) -> bool:
        """Give a file that is complete these permissions and make it durable; False when it is not
        there (any more)."""
        with self.told("sync", path), suppress(FileNotFoundError):
            blocks.sync(path, mode)
            return True
        return False

    def sync_all(self, paths: Collection[Path]) -> None:
        """Each of these is durable. Many are so in one call, with all that the file system has
        pending besides."""
        if len(paths) > _FEW:
            with self.told("sync", self.paths.root):
                if sync_file_system(self.paths.root):
                    return
        for path in paths:
            self.sync(path)

    # --- writing: a file gets its name only when its content is complete ---

    def write_unnamed(
        self, chunks: Iterable[bytes], *, durable: bool = True, mode: int = 0o666
    ) -> Path:
        """Write a new file that has no name of its own yet. Nothing of it stays if that fails."""
        path = self.paths.unnamed / f"{self.writer}-{next(self._numbers)}"
        try:
            with self.told("write", path):
                blocks.write_new(path, chunks, mode, durable=durable)
        except BaseException:
            self.discard(path)
            raise
        return path

    def write_careless(self, path: Path, content: bytes) -> None:
        """Write what may be lost or torn by a crash: its reader takes it for nothing then."""
        with self.told("write", path):
            path.write_bytes(content)

    def discard(self, path: Path) -> None:
        """Remove an unnamed file; one that stays is swept when the store is next opened."""
        with suppress(StorageDown):
            self.remove(path)

    def place(self, file: Path, path: Path, *, make_folder: bool = True) -> bool:
        """Give `file` the name `path`, which nobody else can have given before: False when it is
        taken. `file` may keep its old name as well."""
        try:
            return self._place(file, path)
        except StorageDown as error:
            if not make_folder or not isinstance(error.__cause__, FileNotFoundError):
                raise
        # Most folders are there: making them each time would be one system call more.
        self.make_folder(path.parent)
        return self._place(file, path)

    def _place(self, file: Path, path: Path) -> bool:
        with self.told("create", path):
            try:
                os.link(file, path, follow_symlinks=False)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in NO_HARD_LINKS:
                    raise
                return self._place_by_rename(file, path)
            return True

    def _place_by_rename(self, file: Path, path: Path) -> bool:
        """Exclusive also where a disk knows no hard links (exFAT, some network shares)."""
        with (self.paths.unnamed / self.NAMING).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return False
            file.rename(path)
            return True

    def share(self, file: Path, path: Path) -> bool:
        """Let a file that never changes stand under a second name; a copy where there are no links.
        False when `path` is taken. The name is not yet durable."""
        self.make_folder(path.parent)
        with self.told("create", path):
            try:
                os.link(file, path, follow_symlinks=False)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in NO_HARD_LINKS:
                    raise
            else:
                return True
        with self.told("copy", file), file.open("rb") as stream:
            copy = self.write_unnamed(iter(lambda: stream.read(_CHUNK), b""))
        try:
            return self.place(copy, path)
        finally:
            self.discard(copy)

    def create_exclusive(self, path: Path, content: bytes, *, make_folder: bool = True) -> bool:
        """Durable and exclusive: the first to write `path` stands; False when somebody has. Either
        way what stands there is durable when this returns."""
        file = self.write_unnamed([content])
        try:
            made = self.place(file, path, make_folder=make_folder)
        finally:
            self.discard(file)
        self.sync(path.parent)
        return made

    def replace(self, path: Path, chunks: Iterable[bytes], *, durable: bool = True) -> None:
        """Write `path` anew in one step: readers see the old content or the new one."""
        file = self.write_unnamed(chunks, durable=durable)
        try:
            self.make_folder(path.parent)
            self.rename(file, path)
        except BaseException:
            self.discard(file)
            raise
        if durable:
            self.sync(path.parent)

    def copy(self, path: Path, target: Path, *, max_bytes: int) -> bool:
        """Copy the first `max_bytes` into a file of its own; False when `path` is gone. Not
        synced."""
        source = self.open(path)
        if source is None:
            return False
        with source, self.told("copy to", target), target.open("wb") as copy:
            while max_bytes > 0 and (chunk := source.read(min(_CHUNK, max_bytes))):
                copy.write(chunk)
                max_bytes -= len(chunk)
        return True
