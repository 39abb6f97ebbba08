"""Checksum lists, one per writer, append-only and never synced; merged into SHA256SUMS on demand.
Derived: a list that a crash cut short is made again from the records of media/."""

from __future__ import annotations

import errno
import fcntl
import itertools
import logging
import os
import re
import secrets
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import BinaryIO, NamedTuple, assert_never

from core.errors import StorageDown
from core.model.end import EndState, MediaEnd
from core.store.files import Disk
from core.store.media import Media, counted

logger = logging.getLogger(__name__)

_SUFFIX = ".tsv"
_CLOSED = b"closed\n"  # the last line of a list whose writer ended in good order
_REPLACES = b"replaces\t"  # the first line of a list made again: the lists it stands for
_LINE = re.compile(
    r"([+-])\t([a-z0-9_-]+)\t(got|dead|incomplete|refused)\t"
    r"([0-9]+)\t([0-9a-f]{64}|-)\t([\w-]+)\t([0-9]+)\n"
)
_SHARE_BYTES = 16 * 1024**2  # of lists, whose digests are sorted together: about 20 MB of memory
_MANY = 64  # lists of writers that ended, past which they are made one


class _Line(NamedTuple):
    """`+ source state bytes sha256 media generation`: an end that counts from now on; `-`: one that
    no longer does, because a newer one of the same media follows."""

    sign: str
    source: str
    state: EndState
    size_bytes: int
    sha256: str  # "-" where nothing was got
    media: str
    generation: int


@dataclass(slots=True)
class Tally:
    """What became of a source's media, each counted by the end that counts."""

    got: int = 0
    dead: int = 0
    refused: int = 0
    incomplete: int = 0
    bytes: int = 0  # of what was got, equal bytes counted for each media

    def add(self, line: _Line) -> None:
        """Count one line."""
        by = 1 if line.sign == "+" else -1
        match line.state:
            case EndState.GOT:
                self.got += by
                self.bytes += by * line.size_bytes
            case EndState.DEAD:
                self.dead += by
            case EndState.REFUSED:
                self.refused += by
            case EndState.INCOMPLETE:
                self.incomplete += by
            case _ as never:
                assert_never(never)


class _Standing(Enum):
    """Whether a list's writer is still at work, and how it ended if not."""

    LIVING = auto()
    CLOSED = auto()
    BROKEN = auto()


class Sums:
    """`sums/WRITER.tsv`. The writer's lock on its list tells others that it is still at work."""

    def __init__(self, disk: Disk, media: Media) -> None:
        self._disk = disk
        self._paths = disk.paths
        self._media = media
        self._lock = threading.Lock()
        self._list: BinaryIO | None = None
        self._torn = False

    # --- this writer's own list ---

    def begin(self) -> None:
        """Begin this writer's list, unless it is begun: before its first record, so that a list
        without its closing line tells of every crash that can have cost a line, and of no other."""
        with self._lock, self._disk.told("begin a list in", self._paths.sums):
            self._list = self._list or self._begun()

    def append(self, end: MediaEnd) -> None:
        """Note an end that was just created. Never raises: a line that is lost is a warning now,
        and is made again from the records."""
        try:
            ends = [end]
            if end.generation > 1:
                earlier = self._media.ends(end.media)
                ends = [old for old in earlier if old.generation < end.generation] + ends
            lines = _lines(ends, {end.generation})
            with self._lock, self._disk.told("append to", self._paths.sums):
                self._write(b"".join(map(_encode, lines)))
        except StorageDown as error:
            self._torn = True
            logger.warning("media %s is not in the checksum list yet: %s", end.media, error)

    def close(self) -> None:
        """End this writer's list, in good order unless a line was lost; an empty one is removed."""
        with self._lock:
            try:
                if self._list is not None and not self._torn:
                    self._end(self._list)
            except (OSError, StorageDown) as error:
                logger.warning("the checksum list is left open, and made again later: %s", error)
            self.forget()

    def forget(self) -> None:
        """Let go of the list without a word, as after a fork: it is the other process's."""
        if self._list is not None:
            self._list.close()
            self._list = None

    def _end(self, begun: BinaryIO) -> None:
        if os.fstat(begun.fileno()).st_size == 0:
            self._disk.remove(self._paths.sums / Path(begun.name).name)
        else:
            begun.write(_CLOSED)

    def _write(self, content: bytes) -> None:
        if self._list is None:
            self._list = self._begun()
        if self._torn:
            content = b"\n" + content  # ends the torn line, which then counts as none
        if self._list.write(content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _begun(self) -> BinaryIO:
        """A new list, locked before it has a name, so that it is never seen without its writer."""
        name = f"{self._disk.writer}-{secrets.token_hex(4)}{_SUFFIX}"
        unnamed = self._paths.unnamed / name
        begun = unnamed.open("xb", buffering=0)
        try:
            fcntl.flock(begun, fcntl.LOCK_EX)
            self._disk.place(unnamed, self._paths.sums / name)
            self._disk.discard(unnamed)
        except BaseException:
            begun.close()
            raise
        return begun

    # --- all lists together ---

    def merge(self) -> Path:
        """Write SHA256SUMS: one line for each object, sorted, for `sha256sum -c` in the root. Lists
        that crashes cut short are made again first."""
        standings = {path: self._standing(path) for path in self._lists()}
        ended = [path for path in standings if standings[path] is not _Standing.LIVING]
        if _Standing.BROKEN in standings.values():
            self.rebuild()
        elif len(ended) > _MANY:
            self._replace(ended, self._lines_in(ended))
        self._disk.replace(self._paths.checksums, map(self._checksum, self._digests()))
        return self._paths.checksums

    def rebuild(self) -> None:
        """Make one list, from the records, of all that no living writer has in its own. An end
        that is written meanwhile may be tallied twice, until the next time."""
        lists = self._lists()
        ended = [path for path in lists if self._standing(path) is not _Standing.LIVING]
        living = [path for path in lists if path not in ended]
        noted = {(line.media, line.generation) for line in self._lines_in(living)}
        self._replace(ended, self._lines_of_records(noted))

    def is_whole(self) -> bool:
        """Whether no list was cut short by a crash: then a tally is exact."""
        return all(self._standing(path) is not _Standing.BROKEN for path in self._lists())

    def tally(self) -> dict[str, Tally]:
        """Per source, what became of its media, as far as the lists tell."""
        tallies: dict[str, Tally] = {}
        for line in self._lines_in(self._lists()):
            tallies.setdefault(line.source, Tally()).add(line)
        return tallies

    def _replace(self, ended: Iterable[Path], lines: Iterable[_Line]) -> None:
        """Put `lines` in the place of lists. The new list says which: from then on these count no
        more, also if a crash keeps them from being removed."""
        names = [path.name for path in ended]
        head = _REPLACES + "\t".join(names).encode() + b"\n"
        content = itertools.chain([head], map(_encode, lines), [_CLOSED])
        file = self._disk.write_unnamed(content)
        try:
            name = f"{self._disk.writer}-{secrets.token_hex(4)}{_SUFFIX}"
            self._disk.place(file, self._paths.sums / name)
        finally:
            self._disk.discard(file)
        self._disk.sync(self._paths.sums)
        for name in names:
            self._disk.remove(self._paths.sums / name)

    def _lines_of_records(self, noted: Collection[tuple[str, int]]) -> Iterator[_Line]:
        for media in self._media.ids():
            ends = list(self._media.ends(media))
            missing = {end.generation for end in ends if (media, end.generation) not in noted}
            yield from _lines(ends, missing)

    def _digests(self) -> Iterator[bytes]:
        """The digest of each object once, sorted; in shares that are read one after the other, so
        that a million take no more memory than the first."""
        lists = self._lists()
        sizes = (found.st_size for path in lists if (found := self._disk.stat(path)) is not None)
        shares = 1 + sum(sizes) // _SHARE_BYTES
        for share in range(shares):
            got = (bytes.fromhex(x.sha256) for x in self._lines_in(lists) if x.sha256 != "-")
            yield from sorted({d for d in got if int.from_bytes(d[:4]) * shares >> 32 == share})

    def _lists(self) -> list[Path]:
        """Every list that counts."""
        names = self._disk.names(self._paths.sums)
        lists = [self._paths.sums / name for name in sorted(names) if name.endswith(_SUFFIX)]
        replaced = {name for path in lists for name in self._replaced(path)}
        return [path for path in lists if path.name not in replaced]

    def _replaced(self, path: Path) -> list[str]:
        file = self._disk.open(path)
        if file is None:
            return []
        with file, self._disk.told("read", path):
            head = file.readline()
        if not head.startswith(_REPLACES):
            return []
        return head.removeprefix(_REPLACES).decode(errors="replace").split()

    def _standing(self, path: Path) -> _Standing:
        file = self._disk.open(path)
        if file is None:
            return _Standing.CLOSED
        with file, self._disk.told("read", path):
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _Standing.LIVING
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_CLOSED)))
            return _Standing.CLOSED if file.read() == _CLOSED else _Standing.BROKEN

    def _lines_in(self, lists: Iterable[Path]) -> Iterator[_Line]:
        """Every whole line; what a crash tore is no line."""
        for path in lists:
            file = self._disk.open(path)
            if file is None:
                continue
            with file, self._disk.told("read", path):
                yield from filter(None, map(_decode, file))

    def _checksum(self, digest: bytes) -> bytes:
        path = self._paths.object(digest.hex()).relative_to(self._paths.root)
        return f"{digest.hex()}  {path}\n".encode()


def _lines(ends: Iterable[MediaEnd], wanted: Collection[int]) -> Iterator[_Line]:
    """What the `wanted` generations change about which end of a media counts."""
    before: MediaEnd | None = None
    for end in ends:
        after = counted(before, end)
        if after is end and end.generation in wanted:
            if before is not None:
                yield _line("-", before)
            yield _line("+", end)
        before = after


def _line(sign: str, end: MediaEnd) -> _Line:
    size_bytes, sha256 = (end.file.size_bytes, end.file.sha256) if end.file else (0, "-")
    return _Line(sign, end.source, end.state, size_bytes, sha256, end.media, end.generation)


def _encode(line: _Line) -> bytes:
    return "\t".join(map(str, line)).encode() + b"\n"


def _decode(line: bytes) -> _Line | None:
    found = _LINE.fullmatch(line.decode(errors="replace"))
    if found is None:
        return None
    sign, source, state, size_bytes, sha256, media, generation = found.groups()
    return _Line(sign, source, EndState(state), int(size_bytes), sha256, media, int(generation))
