"""PNG: chunk by chunk to IEND, every checksum checked."""

from __future__ import annotations

import zlib
from typing import BinaryIO

from core.fetch.structure.walk import Shape, Walker, damaged


def walk(file: BinaryIO, size: int) -> Shape:
    """The whole file. Raises `Truncated`."""
    walker = Walker(file, size, "PNG")
    walker.skip(8, "its signature")
    kind, header = _chunk(walker)
    if kind != b"IHDR" or len(header) != 13:
        raise damaged("PNG: it does not begin with its header")
    seen_data = False
    while kind != b"IEND":
        kind, _ = _chunk(walker)
        seen_data |= kind == b"IDAT"
    if not seen_data:
        raise damaged("PNG: no image data before its end")
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    if not width or not height:
        raise damaged("PNG: it is told to have no pixels")
    return walker.shape(width, height)


def _chunk(walker: Walker) -> tuple[bytes, bytes]:
    """Check one chunk; its type and first bytes."""
    walker.piece()
    at = walker.tell()
    length = int.from_bytes(walker.take(4, "a chunk's length"), "big")
    kind = walker.take(4, "a chunk's type")
    if not kind.isalpha():
        raise damaged(f"PNG: no chunk at byte {at:,}")
    if at + length + 12 > walker.size:
        raise walker.cut(f"its {kind.decode('ascii')} chunk")
    head, checksum = b"", zlib.crc32(kind)
    for block in walker.blocks(length, "a chunk"):
        checksum = zlib.crc32(block, checksum)
        head = head or block[:16]
    if checksum != int.from_bytes(walker.take(4, "a checksum"), "big"):
        raise damaged(f"PNG: the checksum of the chunk at byte {at:,} is wrong")
    return kind, head
