"""What a manifest says, as values: what it offers, and of which segments one offer is made.
Every address in them is absolute and http(s)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from math import fsum

from core.model.plan import Container, KeyRef


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a resource."""

    start: int  # first byte
    length: int  # bytes

    @property
    def end(self) -> int:
        """The byte after the last."""
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class InitPart:
    """What must stand before the segments that name it (EXT-X-MAP)."""

    url: str
    byte_range: ByteRange | None = None
    key: KeyRef | None = None
    alternatives: tuple[str, ...] = ()  # where it lies too


@dataclass(frozen=True, slots=True)
class MediaSegment:
    """One segment, with everything that the tags before it mean for it."""

    url: str
    duration_s: float
    sequence: int
    discontinuity: int = 0
    byte_range: ByteRange | None = None
    init: InitPart | None = None
    key: KeyRef | None = None
    gap: bool = False  # the source does not have it
    title: str | None = None
    program_date_time: datetime | None = None  # UTC
    alternatives: tuple[str, ...] = ()  # where it lies too
    pause_s: float = 0.0  # for which nothing plays behind it, by the manifest's own word
    clock_s: float = 0.0  # what its media's clock shows when its discontinuity begins
    shift_s: float | None = None  # from a text's own times to the video's; None: nobody tells
    size_bytes: int | None = None  # of the whole resource, where told
    ref: str | None = None  # with which the source's adapter asks for its addresses once more
    headers: tuple[tuple[str, str], ...] = ()  # what its host wants with a request


@dataclass(frozen=True, slots=True)
class MediaPlaylist:
    """The segments of one track, in order; at least one."""

    url: str  # the final address
    segments: tuple[MediaSegment, ...]
    target_duration_s: int | None = None
    ended: bool = False  # nothing will be added (EXT-X-ENDLIST)
    cut: bool = False  # not ended, though it looks as if its end were missing
    container: Container | None = None  # None: only its segments tell
    notes: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """Of all segments, gaps and pauses included."""
        return fsum(segment.duration_s + segment.pause_s for segment in self.segments)


# Asks for a part of a resource that lies at any of these addresses, which has no other length.
Spans = Callable[[Sequence[str], ByteRange], bytes]
# Reads the segments that stand in the manifest itself; they may be many, and most are not wanted.
# What it asks for, if anything, is an index that the manifest names.
Inline = Callable[[Spans], MediaPlaylist]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to see the whole (EXT-X-STREAM-INF, or a Representation of pictures)."""

    url: str
    bandwidth: int = 0  # bits a second, at most; 0: not told
    average_bandwidth: int | None = None  # bits a second
    codecs: str | None = None
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    frame_rate: float | None = None
    audio_group: str | None = None
    subtitles_group: str | None = None
    language: str | None = None
    name: str | None = None  # the manifest's word for its quality
    has_sound_only: bool = False  # by the manifest's word; else its codecs may tell
    inline: Inline | None = field(default=None, compare=False, repr=False)


class RenditionKind(StrEnum):
    """TYPE of EXT-X-MEDIA."""

    AUDIO = "AUDIO"
    VIDEO = "VIDEO"
    SUBTITLES = "SUBTITLES"
    CLOSED_CAPTIONS = "CLOSED-CAPTIONS"


@dataclass(frozen=True, slots=True)
class MediaRendition:
    """One of a group that a variant names (EXT-X-MEDIA, or a Representation of sound or text)."""

    kind: RenditionKind
    group: str
    name: str | None = None
    language: str | None = None
    default: bool = False
    autoselect: bool = False
    forced: bool = False
    url: str | None = None  # None: inside the variant already
    codecs: str | None = None
    bandwidth: int = 0  # bits a second; 0: not told
    inline: Inline | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Multivariant:
    """What there is to choose from; at least one variant."""

    url: str  # the final address
    variants: tuple[Variant, ...]
    renditions: tuple[MediaRendition, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)  # what media playlists may import
    i_frame_streams: int = 0  # for seeking; nothing to download
    format: str = "hls"  # or "dash", "playurl"
    notes: tuple[str, ...] = ()
