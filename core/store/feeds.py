"""What feed ids stand for, and the newest bytes of feeds that are local files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from core.model.walk import FeedRecord
from core.store import records
from core.store.files import Disk
from core.store.paths import is_plain

_CHUNK = 1024 * 1024


class Feeds:
    """`feeds/FEED.json`, `feeds/FEED.body`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths = disk.paths

    def put(self, record: FeedRecord) -> None:
        """Keep what a feed id stands for; the same again writes nothing."""
        path = self._paths.feed(record.feed)
        content = records.encode(record)
        if self._disk.read(path) != content:
            self._disk.replace(path, [content])

    def get(self, feed: str) -> FeedRecord | None:
        """What this id stands for; None for an unknown one."""
        return records.read(self._disk, self._paths.feed(feed), FeedRecord)

    def all(self) -> Iterator[FeedRecord]:
        """Every feed, by id."""
        for name in sorted(self._disk.names(self._paths.all_feeds)):
            feed = name.removesuffix(".json")
            if feed != name and is_plain(feed):
                record = self.get(feed)
                if record is not None:
                    yield record

    def keep_body(self, feed: str, stream: BinaryIO) -> Path:
        """Keep the bytes of a feed that is a local file; walks opened from now on read these. The
        same bytes again write nothing, so that the walks go on sharing one file."""
        path = self._paths.feed_body(feed)
        start = stream.tell()
        if not self._same(path, stream):
            stream.seek(start)
            self._disk.replace(path, _chunks(stream))
        return path

    def _same(self, path: Path, stream: BinaryIO) -> bool:
        kept = self._disk.open(path)
        if kept is None:
            return False
        with kept, self._disk.told("compare", path):
            return _digest(kept) == _digest(stream)


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _digest(stream: BinaryIO) -> bytes:
    digest = hashlib.sha256()
    for chunk in _chunks(stream):
        digest.update(chunk)
    return digest.digest()
