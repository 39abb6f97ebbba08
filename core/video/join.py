"""The pieces of a track, in playing order, as files: one for each stretch in which time and codecs
hold. Bytes are copied as they are but for what does not belong to them, which is noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import BinaryIO

from core.errors import DamagedPiece, Mismatch, StorageDown
from core.model.plan import Container, Part, Segment, Track
from core.video.boxes import Boxes
from core.video.heads import Head, look
from core.video.pieces import Pieces
from core.video.shortfall import Doubts, Ends

_PACKED = frozenset([Container.AAC, Container.MP3, Container.AC3, Container.EAC3])


@dataclass(frozen=True, slots=True)
class Stretch:
    """A file in the workspace that plays on its own."""

    path: Path
    container: Container  # by its bytes
    discontinuity: int = 0
    start_s: float | None = None  # of packed sound, where its ID3 tag tells
    clock_s: float = 0.0  # what its clock shows when the stretch begins, by the manifest


@dataclass(frozen=True, slots=True)
class Joined:
    """A track as files, in order."""

    track: Track
    stretches: tuple[Stretch, ...]

    @property
    def container(self) -> Container:
        """Of its first file; the others are alike or are made so."""
        return self.stretches[0].container

    @property
    def discontinuities(self) -> tuple[int, ...]:
        """The source's numbers, by which tracks find each other."""
        return tuple(stretch.discontinuity for stretch in self.stretches)


@dataclass(slots=True)
class Oddities:
    """What was seen while joining that a person may want to know."""

    pictures: Counter[str] = field(default_factory=Counter)
    cut_packets: int = 0
    doubts: Doubts = field(default_factory=Doubts)

    def notes(self) -> Iterator[str]:
        """In words."""
        for name, count in self.pictures.items():
            yield f"a {name} picture before the transport stream of {_segments(count)} was stripped"
        if self.cut_packets:
            yield f"the last packet of {_segments(self.cut_packets)} is cut"
        yield from self.doubts.notes()


def join(track: Track, name: str, pieces: Pieces, folder: Path, oddities: Oddities) -> Joined:
    """Write `track` into files called after `name`. Raises `DamagedPiece` for a piece that can't be
    what it should, `Mismatch` for a track with a hole."""
    packed = track.container in _PACKED  # every frame stands for itself: no stretch needs a start
    stretches = []
    for number, (_, group) in enumerate(groupby(track.segments, _nothing if packed else _stretch)):
        path = folder / f"{name}-{number:06d}"
        stretches.append(_write(list(group), track, path, pieces, oddities))
    return Joined(track, tuple(stretches))


def _nothing(_: Segment) -> object:
    return None


def _stretch(segment: Segment) -> object:
    """A file holds one init part: no reader looks for a second."""
    return segment.discontinuity, segment.init


def _write(
    segments: list[Segment], track: Track, path: Path, pieces: Pieces, oddities: Oddities
) -> Stretch:
    first = segments[0]
    writer = _Writer(pieces, oddities, Container.FMP4 if first.init else track.container)
    try:
        with path.open("xb") as file:
            if first.init is not None:
                writer.copy(first.init, file)
            for segment in segments:
                writer.copy(_part(segment, track), file, segment.duration_s)
    except OSError as error:
        raise cannot_write(path, error) from error
    return Stretch(path, writer.container, first.discontinuity, writer.start_s, first.clock_s)


def cannot_write(path: Path, error: OSError) -> StorageDown:
    """The workspace's disk said no."""
    return StorageDown(
        f"cannot write {path}: {error.strerror or error}: joining a video needs up to three times "
        "its size: free space on the disk of the store"
    )


def _part(segment: Segment, track: Track) -> Part:
    if segment.part is None:
        raise Mismatch(
            f"segment {segment.sequence} of the {track.kind} track is a hole: a video with a hole "
            "is not joined",
            reason="incomplete",
        )
    return segment.part


class _Writer:
    """Copies one part after the other, each checked to be of the stretch's container."""

    def __init__(self, pieces: Pieces, oddities: Oddities, container: Container) -> None:
        self._pieces = pieces
        self._oddities = oddities
        self._is_first = True
        self.container = container
        self.start_s: float | None = None

    def copy(self, part: Part, file: BinaryIO, duration_s: float = 0.0) -> None:
        """Append one part, which should last so long."""
        chunks = self._pieces.chunks(part)
        start = next(chunks, b"")
        head = self._checked(look(start), part)
        if head.picture is not None:
            self._oddities.pictures[head.picture] += 1
        clean = chain([start[head.skip_bytes :]], chunks)
        if self.container is Container.TS:
            self._copy_packets(clean, part, file, duration_s)
        elif self.container is Container.FMP4:
            _copy_boxes(clean, part, file)
        else:
            file.writelines(clean)

    def _copy_packets(
        self, chunks: Iterator[bytes], part: Part, file: BinaryIO, duration_s: float
    ) -> None:
        """No length stands in a transport stream, and a segment may end within a packet and be all
        there is; but not long before its time as well."""
        ends, seen = Ends(), self._oddities
        for chunk in chunks:
            file.write(chunk)
            ends.feed(chunk)
        if ends.is_cut:
            seen.cut_packets += 1
            if ends.lacks(duration_s):
                seen.doubts.doubt(part.piece, ends.size_bytes)

    def _checked(self, head: Head, part: Part) -> Head:
        """The first part tells what the stretch is; the others must be the same."""
        if self._is_first and head.container is not None:
            self.start_s = head.start_s
            self.container = _told(head.container, self.container)
        self._is_first = False
        if head.container is None or _told(head.container, self.container) != self.container:
            found = head.container or "nothing known"
            raise DamagedPiece(
                f"piece {part.piece} should be {self.container} and is {found}: cut, or encrypted "
                "under another key",
                piece=part.piece,
            )
        return head


def _told(found: Container, told: Container) -> Container:
    """AC-3 and E-AC-3 begin alike: the manifest tells which."""
    alike = {Container.AC3, Container.EAC3}
    return told if {found, told} == alike else found


def _copy_boxes(chunks: Iterator[bytes], part: Part, file: BinaryIO) -> None:
    boxes = Boxes(part.piece)
    for chunk in chunks:
        boxes.feed(chunk)
        file.write(chunk)
    boxes.end()


def _segments(count: int) -> str:
    return "one segment" if count == 1 else f"{count:,} segments"
