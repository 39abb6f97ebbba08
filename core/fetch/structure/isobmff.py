"""MP4, MOV, HEIC, AVIF: boxes to the end of the file. Media data is passed over, not decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from core.fetch.structure.walk import Shape, Walker, damaged

_CONTAINERS = {b"moov": 0, b"trak": 0, b"meta": 4, b"iprp": 0, b"ipco": 0}  # -> bytes before boxes
_MAX_DEPTH = 4  # moov/trak/tkhd, meta/iprp/ipco/ispe
# What may stand at the top after the file is complete. Anything else that claims more bytes than
# there are is not a cut box but something appended.
_TOP = frozenset(
    b"ftyp styp moov moof mfra mdat meta free skip wide uuid udta sidx ssix prft emsg pnot".split()
)


@dataclass(frozen=True, slots=True)
class _Box:
    kind: bytes
    body: int  # offset of its content
    end: int

    @property
    def is_named(self) -> bool:
        """A type of printable ASCII (or QuickTime's copyright sign) and a sane length."""
        printable = all(0x20 <= byte < 0x7F or byte == 0xA9 for byte in self.kind)
        return printable and self.end >= self.body


@dataclass(slots=True)
class _Found:
    kinds: set[bytes] = field(default_factory=set)
    pixels: list[tuple[int, int]] = field(default_factory=list)


def walk_video(file: BinaryIO, size: int) -> Shape:
    """An MP4 or MOV: its index and its data must be there. Raises `Truncated`."""
    return _walk(Walker(file, size, "MP4"), {b"moov", b"mdat"}.issubset)


def walk_image(file: BinaryIO, size: int) -> Shape:
    """A HEIC or AVIF: an index, and data of its own or within it. Raises `Truncated`."""
    return _walk(Walker(file, size, "HEIF"), _is_whole_image)


def _is_whole_image(kinds: set[bytes]) -> bool:
    return b"meta" in kinds and not kinds.isdisjoint((b"mdat", b"idat"))


def _walk(walker: Walker, is_whole: Callable[[set[bytes]], bool]) -> Shape:
    found = _Found()
    end = 0
    while end < walker.size:
        box = _top_box(walker, end, whole=is_whole(found.kinds))
        if box is None:
            break
        found.kinds.add(box.kind)
        if box.kind in _CONTAINERS:
            _inside(walker, box, found, depth=1)
        end = box.end
    if not is_whole(found.kinds):
        raise walker.cut("its boxes, before index and data were both there")
    width, height = max(found.pixels, key=lambda pair: pair[0] * pair[1], default=(0, 0))
    return Shape(end, width or None, height or None)


def _top_box(walker: Walker, start: int, *, whole: bool) -> _Box | None:
    """The box at `start`; None where the file is whole and something else is appended to it."""
    if start + 8 > walker.size:
        if whole:
            return None
        raise walker.cut("a box's header")
    box = _box(walker, start, walker.size)
    if not box.is_named:
        if whole:
            return None
        raise damaged(f"{walker.name}: no box at byte {start:,}")
    if box.end > walker.size:
        if whole and box.kind not in _TOP:
            return None
        raise walker.cut(f"its {box.kind.decode('latin-1')} box")
    return box


def _box(walker: Walker, start: int, end: int) -> _Box:
    walker.piece()
    walker.seek(start, "a box")
    header = walker.take(8, "a box's header")
    length, kind = int.from_bytes(header[:4], "big"), header[4:]
    if length == 0:  # to the end
        return _Box(kind, start + 8, end)
    if length == 1:
        wide = int.from_bytes(walker.take(8, "a box's length"), "big")
        return _Box(kind, start + 16, start + wide)
    return _Box(kind, start + 8, start + length)


def _inside(walker: Walker, parent: _Box, found: _Found, *, depth: int) -> None:
    """Look for sizes. What can't be read here proves nothing: the parent is there as a whole."""
    for box in _inner_boxes(walker, parent):
        found.kinds.add(box.kind)
        if box.kind in _CONTAINERS and depth < _MAX_DEPTH:
            _inside(walker, box, found, depth=depth + 1)
        elif box.kind == b"tkhd":
            _track(walker, box, found)
        elif box.kind == b"ispe":
            _extent(walker, box, found)


def _inner_boxes(walker: Walker, parent: _Box) -> Iterator[_Box]:
    start = parent.body + _CONTAINERS[parent.kind]
    while start + 16 <= parent.end:
        box = _box(walker, start, parent.end)
        if not box.is_named or box.end > parent.end:
            return
        yield box
        start = box.end


def _track(walker: Walker, box: _Box, found: _Found) -> None:
    """Width and height close a track header, in 16.16 fixed point."""
    if box.end - box.body >= 84:
        walker.seek(box.end - 8, "a track header")
        both = walker.take(8, "a track header")
        found.pixels.append((int.from_bytes(both[:2], "big"), int.from_bytes(both[4:6], "big")))


def _extent(walker: Walker, box: _Box, found: _Found) -> None:
    if box.end - box.body >= 12:
        walker.seek(box.body + 4, "a picture's size")
        both = walker.take(8, "a picture's size")
        found.pixels.append((int.from_bytes(both[:4], "big"), int.from_bytes(both[4:], "big")))
