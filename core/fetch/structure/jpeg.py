"""JPEG: segments and entropy-coded data to the end marker. The first picture counts; what follows
its end marker (a phone's second picture, a hidden archive) is trailing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO

from core.fetch.structure.walk import Shape, Walker, damaged

_SOI, _EOI, _SOS, _DNL, _TEM = 0xD8, 0xD9, 0xDA, 0xDC, 0x01
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15
_ALONE = frozenset([_TEM, *range(0xD0, 0xD8)])  # markers without a length
# Within coded data FF00 is a stuffed byte, FFD0 to FFD7 restarts, FFFF a fill byte before a marker.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


@dataclass(slots=True)
class _Picture:
    width: int | None = None
    height: int | None = None
    scans: int = 0


def walk(file: BinaryIO, size: int) -> Shape:
    """The first picture of the file. Raises `Truncated`."""
    walker = Walker(file, size, "JPEG")
    walker.skip(2, "its start marker")
    picture = _Picture()
    while (marker := _next_marker(walker)) != _EOI:
        walker.piece()
        if marker not in _ALONE:
            _segment(walker, marker, picture)
    if picture.width is None or not picture.scans:
        raise damaged("JPEG: it ends without a picture")
    return walker.shape(picture.width, picture.height)


def _next_marker(walker: Walker) -> int:
    """Move behind the next marker. Strange bytes before it are passed over, as viewers do."""
    if _MARKER.fullmatch(near := walker.peek(2)):  # as behind every segment but a scan
        walker.skip(2, "a marker")
        return near[1]
    start, carried = walker.tell(), b""
    for block in walker.rest():
        data = carried + block
        if match := _MARKER.search(data):
            walker.seek(start + match.end(), "a marker")
            return data[match.end() - 1]
        carried = b"\xff" if data.endswith(b"\xff") else b""
        start += len(data) - len(carried)
    raise walker.cut("its picture, before the end marker")


def _segment(walker: Walker, marker: int, picture: _Picture) -> None:
    start = walker.tell()
    length = int.from_bytes(walker.take(2, "a segment's length"), "big")
    if length < 2 or marker == _SOI:
        raise damaged(f"JPEG: no segment at byte {start:,}")
    if marker in _FRAMES and length >= 8:
        _frame(walker.take(5, "the frame header"), picture)
    if marker == _DNL and length == 4:  # the height, told after the first scan
        picture.height = int.from_bytes(walker.take(2, "the number of lines"), "big")
    if marker == _SOS:
        picture.scans += 1
    walker.seek(start + length, "a segment")


def _frame(header: bytes, picture: _Picture) -> None:
    picture.height = int.from_bytes(header[1:3], "big") or None
    picture.width = int.from_bytes(header[3:5], "big") or None
