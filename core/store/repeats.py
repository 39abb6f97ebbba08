"""Which posts the same bytes were filed for: tells a picture that people post again from one that a
source shows in the place of what it removed. Derived from media/: never synced, repaired on
demand."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from core.errors import StorageDown
from core.model.end import MediaEnd
from core.store.files import Disk
from core.store.sorting import sorted_lines

logger = logging.getLogger(__name__)

_LINE = re.compile(rb"([0-9a-f]{64}) ([A-Za-z0-9_-]{1,100}) ([A-Za-z0-9_-]{1,100})")
_ENOUGH = 1000  # posts that are noted of one object: no limit is higher


class Repeats:
    """`repeats/SOURCE/abcd`: a line «object media post» for each media that was filed, in the file
    of the first digits of the object's digest: of ten million media, a file has 150 lines."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def posts(self, sha256: str, *, source: str, media: str, post: str) -> int:
        """For how many posts of the source an object was filed that have neither `post` nor `media`
        in common."""
        noted = self._noted(self._path(source, sha256), sha256)
        return len({other for other_media, other in noted if other_media != media} - {post})

    def note(self, sha256: str, *, source: str, media: str, post: str) -> None:
        """Note that the object is filed for this media of this post; twice is once. Never raises: a
        line that is lost costs one more stand-in that is filed."""
        path = self._path(source, sha256)
        try:
            noted = list(self._noted(path, sha256))
            if len(noted) < _ENOUGH and media not in dict(noted):
                self._append(path, f"{sha256} {media} {post}")
        except StorageDown as error:
            logger.warning("media %s is not noted under its object: %s", media, error)

    def repair(self, ends: Iterable[MediaEnd], sources: Collection[str]) -> int:
        """Note what is missing of the media of `sources` that were got as plain files; how many
        there are. Each file is read once, however many media there are."""
        filed = 0

        def told() -> Iterator[bytes]:
            nonlocal filed
            for end in ends:
                if end.source in sources and end.file is not None and end.video is None:
                    filed += 1
                    line = f"{end.file.sha256} {end.media} {end.post}"
                    path = os.fsencode(self._path(end.source, end.file.sha256))
                    yield path + f"\0{line}\n".encode()

        folder = self._disk.paths.unnamed
        with self._disk.told("sort in", folder):
            by_file = groupby(sorted_lines(told(), folder), lambda line: line.partition(b"\0")[0])
            for path, lines in by_file:
                to_note = (line.partition(b"\0")[2] for line in lines)
                self._complete(Path(os.fsdecode(path)), to_note)
        return filed

    def _complete(self, path: Path, lines: Iterable[bytes]) -> None:
        noted = set((self._disk.read(path) or b"").split(b"\n"))
        of_object = Counter(map(_object, noted))
        missing = []
        for line in map(bytes.rstrip, lines):
            if line not in noted and of_object[_object(line)] < _ENOUGH:
                of_object[_object(line)] += 1
                missing.append(line.decode())
        if missing:
            self._append(path, "\n".join(missing))

    def _noted(self, path: Path, sha256: str) -> Iterator[tuple[str, str]]:
        """Media and post of every whole line about the object; what a crash tore is no line. Most
        objects are in no line, and then none is looked at."""
        content, wanted = self._disk.read(path) or b"", sha256.encode()
        for line in content.split(b"\n") if wanted in content else ():
            if line.startswith(wanted) and (found := _LINE.fullmatch(line)) is not None:
                yield found[2].decode(), found[3].decode()

    def _append(self, path: Path, line: str) -> None:
        """In one write, so that lines of several writers do not mix; the line end before it ends
        one that a crash tore."""
        self._disk.make_folder(path.parent)
        with self._disk.told("append to", path), path.open("ab", buffering=0) as file:
            file.write(f"\n{line}\n".encode())

    def _path(self, source: str, sha256: str) -> Path:
        return self._disk.paths.repeats_of(source, sha256)


def _object(line: bytes) -> bytes:
    return line.partition(b" ")[0]
