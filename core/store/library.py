"""Names for people: hard links to objects, else symbolic links, else copies. Derived, so nothing
here is synced and nothing that fails is more than a warning; never leaves its folder, whatever
links a hostile hand puts in it."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from core.errors import StorageDown
from core.model.end import MediaEnd
from core.store import names
from core.store.files import NO_HARD_LINKS, Disk

logger = logging.getLogger(__name__)

_ID_DIGITS = (8, 16, 32)  # more of the id where a shorter name is taken
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_ONLY = 0o444
_KEPT_OPEN = 32  # folders
_KEPT_NAMES = 64


class _Folder:
    """An open folder; closed when nobody has it any more, so that none is closed under a thread
    that is at work in it."""

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


class Library:
    """`library/SOURCE/AUTHOR/YEAR/`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths = disk.paths
        # Kept open: one system call names a file then, and not nine.
        self._folder = lru_cache(_KEPT_OPEN)(self._opened)
        # `link`, for an end whose name was asked for a moment ago: by the commit, then the screen.
        self.named = lru_cache(_KEPT_NAMES)(self.link)

    def close(self) -> None:
        """Let go of the folders that are kept open."""
        self._folder.cache_clear()
        self.named.cache_clear()

    def link(self, end: MediaEnd) -> Path | None:
        """Give what was got its readable name, once; None when it was not got or can't be named
        (a warning says why)."""
        if end.file is None:
            return None
        target = self._paths.object(end.file.sha256)
        parts = names.folders(end)
        folder = Path(f"{self._paths.library}/{'/'.join(parts)}")
        try:
            with self._disk.told("name a file in", folder):
                name = self._named_in(parts, end, target)
        except (StorageDown, UnicodeError) as error:  # a locale may not be able to say the name
            why = error if target.exists() else f"its object {target.name} is gone"
            logger.warning("media %s has no name in the library: %s", end.media, why)
            return None
        return folder / name

    def rebuild(self, ends: Iterable[MediaEnd]) -> int:
        """Name everything again, adding what is missing; how many have a name now. Removes
        nothing: whoever wants a fresh library deletes the old one first."""
        return sum(self.link(end) is not None for end in ends)

    def _named_in(self, parts: tuple[str, ...], end: MediaEnd, target: Path) -> str:
        try:
            return self._name(end, target, self._folder(parts))
        except FileNotFoundError:  # somebody removed the folder that is kept open
            self._folder.cache_clear()
            return self._name(end, target, self._folder(parts))

    def _name(self, end: MediaEnd, target: Path, folder: _Folder) -> str:
        where, size_bytes = folder.descriptor, end.file.size_bytes if end.file else 0
        for digits in _ID_DIGITS:
            name = names.name(end, digits)
            if self._place(target, name, where) or _shows(target, name, where, size_bytes):
                return name
        raise FileExistsError(errno.EEXIST, "other files have every name it could have")

    def _opened(self, parts: tuple[str, ...]) -> _Folder:
        """The folder that `parts` lead to, made and entered one by one, no link followed."""
        folder = _Folder(os.open(self._paths.library, _FOLDER))
        for part in parts:
            folder = _Folder(_enter(part, folder.descriptor))
        return folder

    def _place(self, target: Path, name: str, where: int) -> bool:
        """Put the name there, in the first way that this disk has; False when it is taken."""
        try:
            os.link(target, name, dst_dir_fd=where, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_HARD_LINKS | {errno.EXDEV}:
                raise
            return _symlink(_relative(target), name, where) or _copy(target, name, where)
        return True


def _enter(part: str, where: int) -> int:
    """A folder within the open folder `where`, made if need be."""
    try:
        return os.open(part, _FOLDER, dir_fd=where)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=where)
        return os.open(part, _FOLDER, dir_fd=where)


def _relative(target: Path) -> str:
    """From library/SOURCE/AUTHOR/YEAR/ to objects/sha256/ab/cd/HASH: stays right when the store
    moves."""
    return str(Path("../../../..", *target.parts[-5:]))


def _symlink(relative: str, name: str, where: int) -> bool:
    """False when the name is taken or the disk has no symbolic links either."""
    try:
        os.symlink(relative, name, dir_fd=where)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        return False
    return True


def _copy(target: Path, name: str, where: int) -> bool:
    try:
        descriptor = os.open(name, _NEW_FILE, _READ_ONLY, dir_fd=where)
    except FileExistsError:
        return False
    try:
        with target.open("rb") as original, os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(original, copy)
    except BaseException:
        os.unlink(name, dir_fd=where)
        raise
    return True


def _shows(target: Path, name: str, where: int, size_bytes: int) -> bool:
    """Whether what has the name is this very object, or a copy of it as far as its size tells (its
    name holds the beginning of the media's id)."""
    found = os.stat(name, dir_fd=where, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        return os.readlink(name, dir_fd=where) == _relative(target)
    if os.path.samestat(target.stat(), found):
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_size == size_bytes
