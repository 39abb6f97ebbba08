"""What a segment's first bytes say: which container it is, and what stands before it that does not
belong to it. Reads heads only."""

from __future__ import annotations

from dataclasses import dataclass

from core.model.plan import Container

PACKET_BYTES = 188  # of a transport stream
_SYNC = 0x47
_PACKETS = 5  # so many in a row are no accident

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
)
_BOXES = frozenset(
    b"ftyp styp moov moof mdat sidx ssix emsg prft free skip uuid pdin meta wide".split()
)
_EBML = (b"\x1a\x45\xdf\xa3", b"\x1f\x43\xb6\x75", b"\x1c\x53\xbb\x6b")  # head, cluster, cues
_CLOCK_HZ = 90_000
_TIMESTAMP_OWNER = b"com.apple.streaming.transportStreamTimestamp\0"  # RFC 8216, 3.4
_ID3_HEADER_BYTES = 10


@dataclass(frozen=True, slots=True)
class Head:
    """Where the segment's own bytes begin, and what they are; `container` None: nothing known."""

    container: Container | None
    skip_bytes: int = 0
    picture: str | None = None  # what stood before it: a picture's name
    start_s: float | None = None  # when it plays, where its ID3 tag tells


def look(head: bytes) -> Head:
    """What a segment that begins with `head` is."""
    if head[4:8] in _BOXES:
        return Head(Container.FMP4)
    if head.startswith(_EBML):
        return Head(Container.WEBM)
    if head.startswith(b"FLV\x01"):
        return Head(Container.FLV)
    if is_transport_stream(head):
        return Head(Container.TS)
    if head.removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
        return Head(Container.VTT)
    return _behind_picture(head) or _packed(head)


def is_transport_stream(head: bytes, at: int = 0) -> bool:
    """Whether packets of a transport stream follow from `at` on, as far as `head` shows."""
    syncs = head[at : at + _PACKETS * PACKET_BYTES : PACKET_BYTES]
    return len(head) - at >= PACKET_BYTES and set(syncs) == {_SYNC}


def _behind_picture(head: bytes) -> Head | None:
    """Some hosts take pictures only: a small one then stands before each segment."""
    name = next((name for magic, name in _PICTURES if head.startswith(magic)), None)
    if name is None:
        return None
    at = head.find(_SYNC)
    while at >= 0 and len(head) - at >= PACKET_BYTES:
        is_alone = PACKET_BYTES < len(head) - at <= 2 * PACKET_BYTES  # one sync byte, rest cut
        if not is_alone and is_transport_stream(head, at):
            return Head(Container.TS, at, name)
        at = head.find(_SYNC, at + 1)
    return None


def _packed(head: bytes) -> Head:
    """Sound without a container: its frames, mostly behind an ID3 tag."""
    length, start_s = _id3(head)
    return Head(_sound(head[length : length + 2]), length, start_s=start_s)


def _sound(sync: bytes) -> Container | None:
    if len(sync) < 2:
        return None
    if sync == b"\x0b\x77":
        return Container.AC3
    if sync[0] != 0xFF or sync[1] & 0xE0 != 0xE0:
        return None
    return Container.AAC if sync[1] & 0xF6 == 0xF0 else Container.MP3


def _id3(head: bytes) -> tuple[int, float | None]:
    """How long the ID3 tags are, and the time that they give the first frame."""
    at, start_s = 0, None
    while head[at : at + 3] == b"ID3" and len(head) >= at + _ID3_HEADER_BYTES:
        size = 0
        for byte in head[at + 6 : at + _ID3_HEADER_BYTES]:
            size = size << 7 | byte & 0x7F
        end = at + _ID3_HEADER_BYTES + size
        start_s = _timestamp(head[at:end]) if start_s is None else start_s
        at = end
    return at, start_s


def _timestamp(tag: bytes) -> float | None:
    _, owner, rest = tag.partition(_TIMESTAMP_OWNER)
    if not owner or len(rest) < 8:
        return None
    return (int.from_bytes(rest[:8], "big") & (1 << 33) - 1) / _CLOCK_HZ
