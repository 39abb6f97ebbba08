"""The outermost boxes of an fMP4 piece as it streams by: they must end where the piece ends."""

from __future__ import annotations

from core.errors import DamagedPiece

_HEADER_BYTES = 8
_LARGE_HEADER_BYTES = 16  # with a size of 64 bits


class Boxes:
    """Follows box after box without keeping what is in them."""

    def __init__(self, piece: int) -> None:
        self._piece = piece
        self._header = b""  # what has come of the next box's header
        self._left = 0  # bytes of the present box that are still to come

    def feed(self, chunk: bytes) -> None:
        """The piece goes on. Raises `DamagedPiece` where no box can begin."""
        at = 0
        while at < len(chunk):
            if self._left:
                step = min(self._left, len(chunk) - at)
                self._left -= step
            else:
                step = min(self._wanted() - len(self._header), len(chunk) - at)
                self._header += chunk[at : at + step]
                self._begin()
            at += step

    def end(self) -> None:
        """The piece ends. Raises `DamagedPiece` within a box."""
        if self._left or self._header:
            raise self._damaged("ends within a box")

    def _wanted(self) -> int:
        return _LARGE_HEADER_BYTES if self._header[:4] == b"\0\0\0\x01" else _HEADER_BYTES

    def _begin(self) -> None:
        """Enter the box whose header is whole."""
        if len(self._header) < self._wanted():
            return
        size = int.from_bytes(self._header[:4], "big")
        if size == 1:
            size = int.from_bytes(self._header[8:], "big")
        kind = self._header[4:8]
        if size < len(self._header) or not all(0x20 <= byte < 0x7F for byte in kind):
            raise self._damaged("has bytes where a box should begin")
        self._left = size - len(self._header)
        self._header = b""

    def _damaged(self, what: str) -> DamagedPiece:
        return DamagedPiece(f"piece {self._piece} {what}", piece=self._piece)
