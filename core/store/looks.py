"""The answers that a walk's page already has while it is not read to its end. They may be lost:
then they are asked for once more."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from core.errors import StorageDown
from core.model.look import KeptLooks
from core.store import records
from core.store.files import Disk

logger = logging.getLogger(__name__)

_OWNERS_ALONE = 0o600  # sources sign what they answer to whom they know


class Looks:
    """`walks/FEED/WALK/000001.looks`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def of(self, feed: str, walk: str, page: int) -> PageLooks:
        """Those of one page."""
        record = self._disk.paths.page(feed, walk, page)
        return PageLooks(self._disk, record.with_suffix(".looks"))


@dataclass(frozen=True, slots=True)
class PageLooks:
    """One page's file."""

    _disk: Disk
    _path: Path

    def read(self) -> KeptLooks:
        """What an earlier run left; nothing where that can't be read."""
        try:
            return records.read(self._disk, self._path, KeptLooks) or KeptLooks()
        except StorageDown as error:
            logger.debug("%s does not count: %s", self._path, error)
            return KeptLooks()

    def keep(self, looks: KeptLooks) -> None:
        """In the place of what was kept before."""
        content = [records.encode_compact(looks)]
        file = self._disk.write_unnamed(content, durable=False, mode=_OWNERS_ALONE)
        try:
            self._disk.rename(file, self._path)
        except BaseException:
            self._disk.discard(file)
            raise

    def remove(self) -> None:
        """The page has all that it needs."""
        self._disk.remove(self._path)
