"""Durable files: every write of the store goes through a `Disk`, which makes it survive a power
cut before it returns and turns every OSError into `StorageDown`. Knows nothing of what it writes.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from core.errors import StorageDown
from core.store.paths import Paths
from core.store.syncfs import sync_file_system

_CHUNK = 1024 * 1024
_FEW = 8  # up to so many files are synced one by one; more, with the whole file system at once
NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK})

_NEXT = {
    errno.ENOSPC: "free space on this disk, or move the store to a larger one",
    errno.EDQUOT: "the quota is used up: free space, or move the store",
    errno.EACCES: "give this user the right to read and write there",
    errno.EPERM: "give this user the right to read and write there",
    errno.EROFS: "the disk is mounted read-only: check it, and mount it for writing",
    errno.ENOENT: "a folder of the store is gone: check that its disk is mounted",
    errno.EIO: "the disk reports an error: check it before going on",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the machine's limit of open files",
    errno.ENOLCK: "this file system has no locks: put the store on one that has",
}


def storage_down(what: str, path: Path, error: OSError) -> StorageDown:
    """What could not be done, to which file, why, and what a person can do."""
    then = _NEXT.get(error.errno or 0, "check the disk of the store")
    return StorageDown(f"cannot {what} {path}: {error.strerror or error}: {then}")


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

    @contextmanager
    def told(self, what: str, path: Path) -> Iterator[None]:
        """Run one operation; the one place where an OSError becomes `StorageDown`."""
        if self._refusal is not None:
            raise StorageDown(self._refusal)
        try:
            self.before(what, path)
            yield
        except OSError as error:
            raise storage_down(what, path, error) from error

    # --- reading: what is not there is an answer, not an error ---

    def read(self, path: Path) -> bytes | None:
        """The whole content; None when there is no such file."""
        with self.told("read", path), suppress(FileNotFoundError):
            return path.read_bytes()
        return None

    def open(self, path: Path) -> BinaryIO | None:
        """The file, for reading; None when there is none."""
        with self.told("read", path), suppress(FileNotFoundError):
            return path.open("rb")
        return None

    def names(self, folder: Path) -> list[str]:
        """The names in a folder, in no order; none when there is no such folder."""
        with self.told("list", folder), suppress(FileNotFoundError, NotADirectoryError):
            return os.listdir(folder)  # noqa: PTH208 - names are all it takes
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
                if folder == self.paths.root:
                    raise
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

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        with self.told("remove", path):
            path.unlink(missing_ok=True)

    def sync(self, path: Path, *, mode: int | None = None) -> None:
        """The content of a file, or the names in a folder, survive a power cut from here on; with
        `mode`, its permissions are set on the way. A new folder's own name goes along: ext4, XFS,
        Btrfs and F2FS journal both together, and on NFS the server has written it already."""
        with self.told("sync", path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if mode is not None:
                    os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

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

    def write_unnamed(self, chunks: Iterable[bytes], *, durable: bool = True) -> Path:
        """Write a new file that has no name of its own yet. Nothing of it stays if that fails."""
        path = self.paths.unnamed / f"{self.writer}-{next(self._numbers)}"
        try:
            with self.told("write", path), path.open("xb") as file:
                for chunk in chunks:
                    file.write(chunk)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
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

    def place(self, file: Path, path: Path) -> bool:
        """Give `file` the name `path`, which nobody else can have given before: False when it is
        taken. `file` may keep its old name as well."""
        self.make_folder(path.parent)
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

    def create_exclusive(self, path: Path, content: bytes) -> bool:
        """Durable and exclusive: the first to write `path` stands; False when somebody has. Either
        way what stands there is durable when this returns."""
        file = self.write_unnamed([content])
        try:
            made = self.place(file, path)
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
