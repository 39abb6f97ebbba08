"""GIF: blocks to the trailer."""

from __future__ import annotations

from typing import BinaryIO

from core.fetch.structure.walk import Shape, Walker, damaged

_MAX_PIECES = 17_000_000  # 4 GB of full blocks
_IMAGE, _EXTENSION, _TRAILER = b"\x2c", b"\x21", b"\x3b"


def walk(file: BinaryIO, size: int) -> Shape:
    """The whole file. Raises `Truncated`."""
    walker = Walker(file, size, "GIF", max_pieces=_MAX_PIECES)
    walker.skip(6, "its signature")
    screen = walker.take(7, "its screen descriptor")
    _colours(walker, screen[4])
    images = 0
    while (block := walker.take(1, "its blocks, before the trailer")) != _TRAILER:
        walker.piece()
        if block == _IMAGE:
            _image(walker)
            images += 1
        elif block == _EXTENSION:
            walker.skip(1, "an extension")
            _sub_blocks(walker)
        elif block != b"\0":  # some encoders write one terminator too many
            raise damaged(f"GIF: no block at byte {walker.tell() - 1:,}")
    if not images:
        raise damaged("GIF: no image before its trailer")
    width, height = int.from_bytes(screen[:2], "little"), int.from_bytes(screen[2:4], "little")
    return walker.shape(width or None, height or None)


def _colours(walker: Walker, flags: int) -> None:
    if flags & 0x80:
        walker.skip(3 << ((flags & 7) + 1), "a colour table")


def _image(walker: Walker) -> None:
    descriptor = walker.take(9, "an image descriptor")
    _colours(walker, descriptor[8])
    walker.skip(1, "an image")
    _sub_blocks(walker)


def _sub_blocks(walker: Walker) -> None:
    while length := walker.take(1, "a block")[0]:
        walker.piece()
        walker.skip(length, "a block")
