"""Which posts the same bytes were filed for: tells a picture that people post again from one that a
source shows in the place of what it removed. Derived from media/: never synced, repaired on
demand."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from core.errors import StorageDown
from core.model.end import MediaEnd
from core.store.files import Disk

logger = logging.getLogger(__name__)

_LINE = re.compile(rb"([0-9a-f]{64}) ([A-Za-z0-9_-]{1,100}) ([A-Za-z0-9_-]{1,100})")
_ENOUGH = 1000  # posts that are noted of one object: no limit is higher


class Repeats:
    """`repeats/SOURCE/abc`: a line «object media post» for each media that was filed, in the file
    of the first digits of the object's digest."""

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
        there are."""
        filed = 0
        for end in ends:
            if end.source in sources and end.file is not None and end.video is None:
                self.note(end.file.sha256, source=end.source, media=end.media, post=end.post)
                filed += 1
        return filed

    def _noted(self, path: Path, sha256: str) -> Iterator[tuple[str, str]]:
        """Media and post of every whole line about the object; what a crash tore is no line."""
        content, wanted = self._disk.read(path) or b"", sha256.encode()
        for line in content.split(b"\n"):
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
