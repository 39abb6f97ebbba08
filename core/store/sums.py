"""Checksum lists, one per writer, append-only and never synced; merged into SHA256SUMS on demand.
Derived: a list that a crash cut short is made again from the records of media/. Read as streams,
and what was counted once is not read again: a store may have many million lines."""

from __future__ import annotations

import errno
import fcntl
import itertools
import logging
import os
import secrets
import tempfile
import threading
from collections.abc import Iterable, Iterator
from copy import copy
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from core.errors import StorageDown
from core.model.end import MediaEnd
from core.store import records
from core.store.files import Disk
from core.store.media import Media
from core.store.sorting import sorted_lines
from core.store.sum_lines import Line, Tally, encode, lines_of
from core.store.sum_lists import CLOSED, REPLACES, SUFFIX, Lists, Standing

logger = logging.getLogger(__name__)

_MANY = 64  # lists of writers that ended, past which they are made one


class _Merged(BaseModel):
    """`sums/merged.json`: what SHA256SUMS was made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    lists: dict[str, int]  # how far each was read
    tallies: dict[str, Tally]
    size_bytes: int  # of SHA256SUMS as it was made
    modified_ns: int


class Sums:
    """`sums/WRITER.tsv`. The writer's lock on its list tells others that it is still at work."""

    def __init__(self, disk: Disk, media: Media) -> None:
        self._disk = disk
        self._paths = disk.paths
        self._media = media
        self._lists = Lists(disk)
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
            lines = lines_of(ends, {end.generation})
            with self._lock, self._disk.told("append to", self._paths.sums):
                self._write(b"".join(map(encode, lines)))
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
            begun.write(CLOSED)

    def _write(self, content: bytes) -> None:
        if self._list is None:
            self._list = self._begun()
        if self._torn:
            content = b"\n" + content  # ends the torn line, which then counts as none
        if self._list.write(content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _begun(self) -> BinaryIO:
        """A new list, locked before it has a name, so that it is never seen without its writer."""
        name = f"{self._disk.writer}-{secrets.token_hex(4)}{SUFFIX}"
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
        """Write SHA256SUMS: one line for each object, sorted, for `sha256sum -c` in the root. What
        lists that crashes cut short lack is added first, and an end that is written meanwhile may
        then be tallied twice, until a `rebuild`. Where no list has a line more than last time, it
        stands as it is."""
        standings = {path: self._lists.standing(path) for path in self._lists.all()}
        ended = [path for path in standings if standings[path] is not Standing.LIVING]
        if Standing.BROKEN in standings.values():
            missing = self._lines_of_records(self._noted(standings))
            self._replace(ended, itertools.chain(self._lists.lines(ended), missing))
        elif len(ended) > _MANY:
            self._replace(ended, self._lists.lines(ended))
        if not self._is_merged():
            self._merge()
        return self._paths.checksums

    def rebuild(self) -> None:
        """Make one list, from the records, of all that no living writer has in its own. An end
        that is written meanwhile may be tallied twice, until the next time."""
        lists = self._lists.all()
        ended = [path for path in lists if self._lists.standing(path) is not Standing.LIVING]
        living = [path for path in lists if path not in ended]
        self._replace(ended, self._lines_of_records(self._noted(living)))

    def is_whole(self) -> bool:
        """Whether no list was cut short by a crash: then a tally is exact."""
        return all(self._lists.standing(path) is not Standing.BROKEN for path in self._lists.all())

    def tally(self) -> dict[str, Tally]:
        """Per source, what became of its media, as far as the lists tell."""
        tallies, read_to = self._counted()
        for line in self._lists.lines(self._lists.all(), read_to):
            tallies.setdefault(line.source, Tally()).add(line)
        return tallies

    def without_file(self) -> Iterator[str]:
        """The media that may have ended without their file, sorted: by the lists, of which few
        lines tell of such; where these do not tell all, every media."""
        lists = self._lists.all()
        if not lists or not self.is_whole():
            yield from self._media.ids()
            return
        told = (
            line for line in self._lists.lines(lists) if line.sha256 == "-" and line.sign == "+"
        )
        with self._disk.told("sort in", Path(tempfile.gettempdir())):  # who only looks has no other
            for media in sorted_lines(f"{line.media}\n".encode() for line in told):
                yield media.decode().rstrip()

    def _merge(self) -> None:
        tallies: dict[str, Tally] = {}
        read_to: dict[str, int] = {}
        digests = self._digests(tallies, read_to)
        self._disk.replace(self._paths.checksums, map(self._checksum, digests))
        made = self._disk.stat(self._paths.checksums)
        assert made is not None  # noqa: S101 - it was just made
        merged = _Merged(
            lists=read_to,
            tallies=tallies,
            size_bytes=made.st_size,
            modified_ns=made.st_mtime_ns,
        )
        self._disk.replace(self._paths.merged, [records.encode(merged)], durable=False)

    def _digests(self, tallies: dict[str, Tally], read_to: dict[str, int]) -> Iterator[bytes]:
        """The digest of each object once, sorted. Counts on the way."""

        def passing() -> Iterator[bytes]:
            for line in self._lists.lines(self._lists.all(), read_to):
                tallies.setdefault(line.source, Tally()).add(line)
                if line.sha256 != "-":
                    yield f"{line.sha256}\n".encode()

        return sorted_lines(passing(), self._paths.unnamed)

    def _is_merged(self) -> bool:
        """Whether SHA256SUMS is as it was made, of just the lists that there are now."""
        merged = self._merged()
        made = self._disk.stat(self._paths.checksums)
        if merged is None or made is None:
            return False
        is_own = (made.st_size, made.st_mtime_ns) == (merged.size_bytes, merged.modified_ns)
        sizes = self._lists.sizes()
        ends = {name: {read, read + len(CLOSED)} for name, read in merged.lists.items()}
        return is_own and sizes.keys() == ends.keys() and all(sizes[x] in ends[x] for x in ends)

    def _counted(self) -> tuple[dict[str, Tally], dict[str, int]]:
        """What was counted when the lists were last merged, and how far each was read then. Lists
        only grow; where one is gone or is shorter, all are to be read."""
        merged = self._merged()
        if merged is None:
            return {}, {}
        sizes = self._lists.sizes()
        if any(sizes.get(name, 0) < read for name, read in merged.lists.items()):
            return {}, {}
        return {name: copy(one) for name, one in merged.tallies.items()}, dict(merged.lists)

    def _merged(self) -> _Merged | None:
        try:
            return records.read(self._disk, self._paths.merged, _Merged)
        except StorageDown:
            logger.debug("%s was torn by a crash and does not count", self._paths.merged)
            return None

    def _replace(self, ended: Iterable[Path], lines: Iterable[Line]) -> None:
        """Put `lines` in the place of lists. The new list says which: from then on these count no
        more, also if a crash keeps them from being removed."""
        names = [path.name for path in ended]
        head = REPLACES + "\t".join(names).encode() + b"\n"
        content = itertools.chain([head], map(encode, lines), [CLOSED])
        file = self._disk.write_unnamed(content)
        try:
            name = f"{self._disk.writer}-{secrets.token_hex(4)}{SUFFIX}"
            self._disk.place(file, self._paths.sums / name)
        finally:
            self._disk.discard(file)
        self._disk.sync(self._paths.sums)
        for name in names:
            self._disk.remove(self._paths.sums / name)

    def _noted(self, lists: Iterable[Path]) -> Iterator[tuple[str, int]]:
        """Media and generations that the lists have, sorted; negative for a line that says that one
        no longer counts: either line may be lost without the other."""
        told = (f"{x.media}\t{x.sign}{x.generation}\n".encode() for x in self._lists.lines(lists))
        for line in sorted_lines(told, self._paths.unnamed):
            media, generation = line.decode().split("\t")
            yield media, int(generation)

    def _lines_of_records(self, noted: Iterator[tuple[str, int]]) -> Iterator[Line]:
        """What the records say beside what is noted. Both come in the order of the media, and where
        the one end that a media has is noted, which is nearly always, no record is read."""
        following = next(noted, None)
        for media, generations in self._media.ended_generations():
            has: set[int] = set()
            while following is not None and following[0] <= media:
                has |= {following[1]} if following[0] == media else set()
                following = next(noted, None)
            if generations - has or len(generations) > 1:
                lines = lines_of(self._media.ends(media), generations)
                yield from (x for x in lines if int(f"{x.sign}{x.generation}") not in has)

    def _checksum(self, digest: bytes) -> bytes:
        sha256 = digest.decode().rstrip()
        path = self._paths.object(sha256).relative_to(self._paths.root)
        return f"{sha256}  {path}\n".encode()
