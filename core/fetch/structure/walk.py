"""What the walkers share: reading that ends in `Truncated` instead of short, and their result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from core.errors import Truncated

BLOCK_BYTES = 256 * 1024
_FIRST_BLOCK_BYTES = 64
MAX_PIECES = 1_000_000  # chunks, boxes or segments of one file: some seconds of walking at worst


@dataclass(frozen=True, slots=True)
class Shape:
    """A whole file: where its format ends, and its size in pixels where it tells one."""

    end: int  # offset of the first byte after the end marker
    width: int | None = None
    height: int | None = None


def damaged(what: str) -> Truncated:
    """A file whose bytes contradict its format: like a cut one, it may come whole next time."""
    return Truncated(f"damaged {what}", reason="damaged")


class Walker:
    """A file under inspection. Counts its pieces, so that no input makes it walk for ever."""

    def __init__(
        self, file: BinaryIO, size: int, name: str, *, max_pieces: int = MAX_PIECES
    ) -> None:
        self._file = file
        self.size = size
        self.name = name  # of the format, for messages
        self._pieces = 0
        self._max_pieces = max_pieces

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._file.tell()

    def piece(self) -> None:
        """One more chunk, box or block."""
        self._pieces += 1
        if self._pieces > self._max_pieces:
            raise damaged(f"{self.name}: more than {self._max_pieces:,} pieces")

    def peek(self, count: int) -> bytes:
        """Up to so many bytes, to be read again."""
        data = self._file.read(count)
        self._file.seek(-len(data), os.SEEK_CUR)
        return data

    def take(self, count: int, what: str) -> bytes:
        """Exactly `count` bytes."""
        data = self._file.read(count)
        if len(data) < count:
            raise self.cut(what)
        return data

    def seek(self, offset: int, what: str) -> None:
        """Go to `offset`, which must lie within the file."""
        if offset > self.size:
            raise self.cut(what)
        self._file.seek(offset)

    def skip(self, count: int, what: str) -> None:
        """Pass over `count` bytes that must be there."""
        self.seek(self._file.tell() + count, what)

    def blocks(self, count: int, what: str) -> Iterator[bytes]:
        """`count` bytes, in blocks."""
        while count:
            data = self.take(min(count, BLOCK_BYTES), what)
            count -= len(data)
            yield data

    def rest(self) -> Iterator[bytes]:
        """Blocks up to the end of the file, small ones first: what is looked for is often near."""
        length = _FIRST_BLOCK_BYTES
        while data := self._file.read(length):
            yield data
            length = min(length * 4, BLOCK_BYTES)

    def cut(self, what: str) -> Truncated:
        """The error of a file that ends too early."""
        return Truncated(f"{self.name} of {self.size:,} bytes ends within {what}")

    def shape(self, width: int | None = None, height: int | None = None) -> Shape:
        """The file is whole and ends here."""
        return Shape(self.tell(), width, height)
