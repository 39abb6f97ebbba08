"""The `sidx` box of a file (ISO/IEC 14496-12, 8.16.3): which bytes of it play when. Asks for
nothing: the bytes of the box are given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from struct import Struct

from core.errors import TooLarge, Unsupported
from core.manifests.dash_reader import MAX_OFFSET, Place
from core.manifests.playlists import ByteRange

MAX_INDEX_BYTES = 4 * 1024**2  # of 12 bytes a segment: a year and more
MAX_INDEXED = 100_000  # segments of one file
MAX_DEPTH = 4  # of an index of indexes
MAX_READS = 10 * MAX_INDEXED  # of heads and references: many may lead to the same index

_BOX = Struct(">II")  # size, name
_VERSION = Struct(">B3xII")  # version, flags, reference_ID, timescale
_TIMES = {0: Struct(">II2xH"), 1: Struct(">QQ2xH")}  # first time, first_offset, count
_REFERENCE = Struct(">III")
_IS_INDEX = 1 << 31
_NAME = int.from_bytes(b"sidx", "big")


@dataclass(frozen=True, slots=True)
class Indexed:
    """A stretch of a file that plays by itself behind the file's init part."""

    byte_range: ByteRange
    start: Fraction  # seconds, on the media's own clock
    duration: Fraction  # seconds

    @property
    def end(self) -> Fraction:
        """When it has played."""
        return self.start + self.duration


def read_index(body: bytes, offset: int, place: Place) -> list[Indexed]:
    """Every stretch that the index `body` names, which begins at the byte `offset` of its file; at
    least one. Raises `Malformed`, `TooLarge`, or `Unsupported` for one whose other levels lie
    elsewhere."""
    found: list[Indexed] = []
    for one in _Index(body, offset, place).level(0, 0):
        found.append(one)
        if len(found) > MAX_INDEXED:
            words = f"its index names more than {MAX_INDEXED:,} segments"
            raise place.refused(TooLarge, "manifest_too_large", words)
    if not found:
        raise place.malformed("bad_index", "its index names no segment")
    return found


@dataclass(slots=True)
class _Index:
    """The bytes that an indexRange names: one box, or one above others."""

    body: bytes
    offset: int  # of its first byte in the file
    place: Place
    reads: int = field(default=0, init=False)

    def level(self, at: int, depth: int) -> Iterator[Indexed]:
        """What the box at `at` names, those of the levels below it in their place."""
        if depth > MAX_DEPTH:
            raise self.place.malformed("bad_index", "its index nests too deep")
        at, end = self._box(at)
        version, _, timescale = self._unpack(_VERSION, at)
        times = _TIMES.get(version)
        if times is None or not timescale:
            raise self.place.malformed("bad_index", "an index of a kind that is not known")
        time, first_offset, count = self._unpack(times, at + _VERSION.size)
        at += _VERSION.size + times.size
        if at + count * _REFERENCE.size > end:
            raise self.place.malformed("bad_index", f"no room in its index for {count} segments")
        media = self.offset + end + first_offset
        for number in range(count):
            size, duration, _ = self._unpack(_REFERENCE, at + number * _REFERENCE.size)
            if size & _IS_INDEX:
                yield from self._below(media, depth)
            elif size:
                yield self._indexed(media, size, Fraction(time, timescale), duration, timescale)
            media, time = media + (size & ~_IS_INDEX), time + duration

    def _indexed(
        self, first: int, size: int, start: Fraction, duration: int, timescale: int
    ) -> Indexed:
        if first + size > MAX_OFFSET:
            raise self.place.malformed("bad_index", f"a segment at byte {first:,} of a file")
        return Indexed(ByteRange(first, size), start, Fraction(duration, timescale))

    def _below(self, first: int, depth: int) -> Iterator[Indexed]:
        """An index that begins at a byte of the file: read where it was got with this one."""
        at = first - self.offset
        if at >= len(self.body):
            words = "its index leads to others that lie elsewhere in the file, which is not read"
            raise self.place.refused(Unsupported, "nested_index", words)
        return self.level(at, depth + 1)

    def _box(self, at: int) -> tuple[int, int]:
        """Where the next index's own fields begin and end; other boxes before it are passed."""
        while True:
            size, name = self._unpack(_BOX, at)
            if size < _BOX.size or at + size > len(self.body):
                words = "what its indexRange names is no index, or is one of a WebM"
                raise self.place.malformed("bad_index", words)
            if name == _NAME:
                return at + _BOX.size, at + size
            at += size

    def _unpack(self, layout: Struct, at: int) -> tuple[int, ...]:
        if at < 0 or at + layout.size > len(self.body):
            raise self.place.malformed("bad_index", "its index breaks off")
        self.reads += 1
        if self.reads > MAX_READS:
            raise self.place.malformed("bad_index", "its index leads to the same places too often")
        return layout.unpack_from(self.body, at)
