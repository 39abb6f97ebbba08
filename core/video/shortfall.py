"""Whether a segment of a transport stream came cut: by the timestamps in its first and last packets
against the duration that its manifest tells. Blames only what is beyond doubt, and only once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.errors import DamagedPiece, Mismatch
from core.model.plan import Part, Track
from core.model.video import pieces_in_words
from core.video.heads import PACKET_BYTES, look
from core.video.pieces import Pieces

_HEAD_BYTES = 256 * 1024  # a segment begins with a frame
_TAIL_BYTES = 512 * 1024  # even at 40 Mbit/s a frame begins in it
_CLOCK_HZ = 90_000
_WRAP = 1 << 33  # a timestamp has 33 bits
_SYNC = 0x47
_SHORT = 0.2  # of what the manifest tells
_SHORT_S = 1.0
_BLAMED_S = 0.3  # once it is known that something is missing
_FEW = 3  # pieces
_MANY = 0.1  # of all pieces


@dataclass(slots=True)
class Doubts:
    """The pieces that seem to be cut. One that comes with the same size as when it was doubted
    before is what its source has: it is taken."""

    before: Mapping[int, Collection[int]] = field(default_factory=dict)  # piece -> sizes in bytes
    found: dict[int, int] = field(default_factory=dict)  # to be got again: piece -> size in bytes
    taken: set[int] = field(default_factory=set)  # short as they are

    def doubt(self, piece: int, size_bytes: int) -> None:
        """It seems to be cut."""
        if size_bytes in self.before.get(piece, ()):
            self.taken.add(piece)
        else:
            self.found[piece] = size_bytes

    def insist(self, why: str) -> None:
        """Raise `DamagedPiece` if any piece is to be got again."""
        if self.found:
            raise DamagedPiece(
                f"{pieces_in_words(self.found)} {why}; will fetch again", piece=min(self.found)
            )

    def notes(self) -> Iterator[str]:
        """In words."""
        if self.taken:
            told = pieces_in_words(self.taken)
            yield f"shorter than the manifest says, and got twice so: {told}"


class Ends:
    """The first and last bytes of a segment, as all of it passes."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._head = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        self.size_bytes += len(chunk)
        if len(self._head) < _HEAD_BYTES:
            self._head += chunk[: _HEAD_BYTES - len(self._head)]
        joined = chunk if len(chunk) >= _TAIL_BYTES else self._tail + chunk
        self._tail = joined[-_TAIL_BYTES:]

    @property
    def is_cut(self) -> bool:
        """Whether the last packet is not whole."""
        return self.size_bytes % PACKET_BYTES != 0

    def lasts_s(self) -> float | None:
        """From its first timestamp to its last; None where none tell, or they run backwards: a
        clock that is set anew on the way measures nothing."""
        first = _stamps(self._head, 0)
        last = _stamps(self._tail, -(self.size_bytes - len(self._tail)) % PACKET_BYTES)
        origin = next(first, None)
        if origin is None:
            return None
        begins = min([0, *(_since(origin, stamp) for stamp in first)])
        ends = max((_since(origin, stamp) for stamp in last), default=None)
        return None if ends is None or ends < begins else (ends - begins) / _CLOCK_HZ

    def lacks(self, duration_s: float, least_s: float = _SHORT_S) -> bool:
        """Whether it is short of what it should last by more than any sloppy manifest tells."""
        lasts_s = self.lasts_s()
        return lasts_s is not None and duration_s - lasts_s > max(least_s, _SHORT * duration_s)


def blame(error: Mismatch, tracks: Sequence[Track], pieces: Pieces, doubts: Doubts) -> Mismatch:
    """`error` with the pieces in which time is missing, once it is known that some is. Raises
    `DamagedPiece` for those that were not got twice; not for very many, which came as they are and
    have a manifest that is wrong."""
    parts = {one.part: one.duration_s for track in tracks for one in track.segments if one.part}
    short: dict[int, int] = {}
    for part, duration_s in parts.items():
        ends = _ends(part, pieces)
        if ends.lacks(duration_s, _BLAMED_S):
            short[part.piece] = ends.size_bytes
    if len(short) <= max(_FEW, _MANY * len(parts)):
        for piece, size_bytes in short.items():
            doubts.doubt(piece, size_bytes)
        doubts.insist(f"should last longer, for {error}")
    if not short:
        return error
    told = f"{error}; what is missing is missing in {pieces_in_words(short)}"
    return Mismatch(told, reason=error.reason)


def _ends(part: Part, pieces: Pieces) -> Ends:
    ends = Ends()
    for chunk in pieces.chunks(part):
        skip = 0 if ends.size_bytes else look(chunk).skip_bytes
        ends.feed(chunk[skip:])
    return ends


def _since(origin: int, stamp: int) -> int:
    """Ticks from one timestamp to the other, whichever is the later, over the end of the clock."""
    return (stamp - origin + _WRAP // 2) % _WRAP - _WRAP // 2


def _stamps(data: bytes, at: int) -> Iterator[int]:
    """When the frames play whose packets begin in `data`, in ticks; `at` is its first packet."""
    for start in range(at, len(data) - PACKET_BYTES + 1, PACKET_BYTES):
        if data[start] == _SYNC and data[start + 1] & 0x40 and data[start + 3] & 0x10:
            stamp = _stamp(data[start : start + PACKET_BYTES])
            if stamp is not None:
                yield stamp


def _stamp(packet: bytes) -> int | None:
    """The presentation timestamp of the picture or sound that begins in a packet."""
    at = 4 + (1 + packet[4] if packet[3] & 0x20 else 0)
    head = packet[at : at + 14]
    if len(head) < 14 or head[:3] != b"\0\0\1" or not _is_media(head[3]) or not head[7] & 0x80:
        return None
    high, middle, low = head[9], head[10:12], head[12:14]
    stamp = (high >> 1 & 0x07) << 30
    stamp |= (int.from_bytes(middle, "big") >> 1) << 15
    return stamp | int.from_bytes(low, "big") >> 1


def _is_media(stream: int) -> bool:
    """MPEG's own pictures and sounds, and those that came later (AC-3, VC-1)."""
    return 0xC0 <= stream <= 0xEF or stream in (0xBD, 0xFD)
