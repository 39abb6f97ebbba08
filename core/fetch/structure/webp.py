"""WebP: the RIFF container and its chunks."""

from __future__ import annotations

from typing import BinaryIO

from core.fetch.structure.walk import Shape, Walker, damaged

_PICTURES = (b"VP8 ", b"VP8L", b"ANMF")


def walk(file: BinaryIO, size: int) -> Shape:
    """The whole file. Raises `Truncated`."""
    walker = Walker(file, size, "WebP")
    riff = walker.take(12, "its header")
    end = 8 + int.from_bytes(riff[4:8], "little")
    if end > size:
        raise walker.cut(f"its {end:,} bytes")
    pixels: tuple[int, int] | None = None
    pictures = 0
    while walker.tell() + 8 <= end:
        walker.piece()
        kind, head = _chunk(walker, end)
        pictures += kind in _PICTURES
        pixels = pixels or _pixels(kind, head)
    if not pictures or pixels is None:
        raise damaged("WebP: no picture in it")
    walker.seek(end, "its last chunk")
    return walker.shape(*pixels)


def _chunk(walker: Walker, end: int) -> tuple[bytes, bytes]:
    at = walker.tell()
    header = walker.take(8, "a chunk's header")
    length = int.from_bytes(header[4:], "little")
    if at + 8 + length > end:
        raise damaged(f"WebP: the chunk at byte {at:,} goes beyond the file's own end")
    head = walker.take(min(length, 10), "a chunk")
    walker.seek(min(at + 8 + length + length % 2, end), "a chunk")
    return header[:4], head


def _pixels(kind: bytes, head: bytes) -> tuple[int, int] | None:
    """The size as each kind of chunk tells it; None when this one does not."""
    if len(head) < (5 if kind == b"VP8L" else 10):
        return None
    if kind == b"VP8X":
        return _little(head[4:7]) + 1, _little(head[7:10]) + 1
    if kind == b"VP8 " and head[3:6] == b"\x9d\x01\x2a":
        return _little(head[6:8]) & 0x3FFF, _little(head[8:10]) & 0x3FFF
    if kind == b"VP8L" and head[0] == 0x2F:
        bits = _little(head[1:5])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
