"""What a disk's errors mean: every OSError of the store becomes `StorageDown` here, which says what
a person can do. Does no I/O."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from core.errors import StorageDown

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


class Told:
    """One operation of a disk. A class and no generator: 0.3 µs and not 1, over a dozen times
    a commit."""

    __slots__ = ("_begin", "_path", "_what")

    def __init__(self, begin: Callable[[str, Path], None], what: str, path: Path) -> None:
        self._begin, self._what, self._path = begin, what, path

    def __enter__(self) -> None:
        try:
            self._begin(self._what, self._path)
        except OSError as error:
            raise storage_down(self._what, self._path, error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            raise storage_down(self._what, self._path, error) from error
