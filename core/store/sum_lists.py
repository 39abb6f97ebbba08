"""Reading checksum lists: which there are, whether their writers are still at work, their lines."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from pathlib import Path

from core.store.files import Disk
from core.store.sum_lines import Line, decode

SUFFIX = ".tsv"
CLOSED = b"closed\n"  # the last line of a list whose writer ended in good order
REPLACES = b"replaces\t"  # the first line of a list made again: the lists it stands for


class Standing(Enum):
    """Whether a list's writer is still at work, and how it ended if not."""

    LIVING = auto()
    CLOSED = auto()
    BROKEN = auto()


class Lists:
    """`sums/WRITER.tsv`, of all writers."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths = disk.paths

    def all(self) -> list[Path]:
        """Every list that counts."""
        names = self._disk.names(self._paths.sums)
        lists = [self._paths.sums / name for name in sorted(names) if name.endswith(SUFFIX)]
        replaced = {name for path in lists for name in self._replaced(path)}
        return [path for path in lists if path.name not in replaced]

    def _replaced(self, path: Path) -> list[str]:
        file = self._disk.open(path)
        if file is None:
            return []
        with file, self._disk.told("read", path):
            head = file.readline()
        if not head.startswith(REPLACES):
            return []
        return head.removeprefix(REPLACES).decode(errors="replace").split()

    def standing(self, path: Path) -> Standing:
        """Its writer holds a lock on it for as long as it lives."""
        file = self._disk.open(path)
        if file is None:
            return Standing.CLOSED
        with file, self._disk.told("read", path):
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return Standing.LIVING
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(CLOSED)))
            return Standing.CLOSED if file.read() == CLOSED else Standing.BROKEN

    def lines(self, lists: Iterable[Path], read_to: dict[str, int] | None = None) -> Iterator[Line]:
        """Every whole line; what a crash tore is no line. Begins in each list where `read_to` says,
        and notes there how far it came."""
        read_to = {} if read_to is None else read_to
        for path in lists:
            file = self._disk.open(path)
            if file is None:
                continue
            with file, self._disk.told("read", path):
                file.seek(read_to.setdefault(path.name, 0))
                for content in file:
                    if content.endswith(b"\n"):  # else its writer is just at it
                        read_to[path.name] += len(content)
                    line = decode(content)
                    if line is not None:
                        yield line

    def sizes(self) -> dict[str, int]:
        """How long each is, in bytes."""
        found = ((path, self._disk.stat(path)) for path in self.all())
        return {path.name: held.st_size for path, held in found if held is not None}
