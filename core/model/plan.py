"""What a video is made of: every address, range, key and init part that its file needs, in order.
Self-contained values; nothing here fetches, and nobody reads the manifest again to use them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import Malformed

FORMAT = 1  # the version written

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
OnAClock = Annotated[float, Field(allow_inf_nan=False)]  # seconds
Count = Annotated[int, Field(ge=0)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TrackKind(StrEnum):
    """What a track is to whoever plays the file."""

    VIDEO = "video"  # pictures, and often sound with them
    AUDIO = "audio"
    SUBTITLES = "subtitles"


class Container(StrEnum):
    """What the pieces are by the manifest's word; their bytes have the last one."""

    TS = "ts"
    FMP4 = "fmp4"
    WEBM = "webm"
    AAC = "aac"
    MP3 = "mp3"
    AC3 = "ac3"
    EAC3 = "eac3"
    VTT = "vtt"
    TTML = "ttml"
    FLV = "flv"

    @property
    def is_text(self) -> bool:
        """Whether it is a file of subtitles, and not within an MP4."""
        return self in (Container.VTT, Container.TTML)


class KeyRef(_Frozen):
    """AES-128-CBC: whence the key of 16 bytes, and the IV of this part."""

    url: str
    iv: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class Piece(_Frozen):
    """One thing that is fetched, once: a segment or an init part, as long as it is stored there."""

    url: str
    start: Count | None = None  # first byte; None: the whole resource
    length: Annotated[int, Field(ge=1)] | None = None  # bytes, when `start` is given
    alternatives: tuple[str, ...] = ()  # where the same bytes lie too, in the manifest's order
    size_bytes: Annotated[int, Field(ge=1)] | None = None  # of the whole resource, where told
    ref: str | None = None  # with which the source's adapter asks for its addresses once more
    headers: tuple[tuple[str, str], ...] = ()  # what its host wants besides; none is secret

    @model_validator(mode="after")
    def _range_is_whole(self) -> Self:
        if (self.start is None) != (self.length is None):
            raise ValueError("a range has a start and a length")
        return self


class Part(_Frozen):
    """A piece as it is used at one place: the same bytes may be there under another key."""

    piece: Count  # its index in `Plan.pieces`
    key: KeyRef | None = None


class Segment(_Frozen):
    """One stretch of a track."""

    part: Part | None  # None: the source says that it has none (EXT-X-GAP), a hole for ever
    duration_s: Seconds
    sequence: Count  # the source's own number
    discontinuity: Count = 0  # timestamps and codecs hold within one number
    init: Part | None = None  # stands before the segment wherever it differs from the one before
    clock_s: OnAClock = 0.0  # what its media's clock shows when its discontinuity begins
    shift_s: OnAClock | None = None  # from a text's own times to the video's; None: nobody tells


class Track(_Frozen):
    """Segments that are joined one after the other."""

    kind: TrackKind
    container: Container
    segments: tuple[Segment, ...]
    codecs: str | None = None  # as the manifest has them
    language: str | None = None
    name: str | None = None
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    bandwidth: int | None = None  # bits a second, at most

    @property
    def duration_s(self) -> float:
        """By the manifest, holes included."""
        return sum(segment.duration_s for segment in self.segments)

    @property
    def gaps(self) -> tuple[int, ...]:
        """The numbers of the segments that the source does not have."""
        return tuple(segment.sequence for segment in self.segments if segment.part is None)


class Plan(_Frozen):
    """A whole video. A piece's index is its fragment's number, for as long as the plan lives."""

    media: str
    source: str
    manifest_url: str  # as it was asked for, without the source's secrets
    manifest_sha256: str  # of its bytes
    final_urls: tuple[str, ...]  # of every manifest that was read, that one first
    pieces: tuple[Piece, ...]
    tracks: tuple[Track, ...]  # the pictures first
    duration_s: Seconds  # of the first track
    chosen: str  # what was selected and why, for people
    notes: tuple[str, ...] = ()  # what a person may want to know, in words
    format: int = FORMAT

    @model_validator(mode="after")
    def _parts_exist(self) -> Self:
        last = max((part.piece for part in self.parts()), default=-1)
        if last >= len(self.pieces):
            raise ValueError(f"a part is of piece {last}, but there are {len(self.pieces)}")
        return self

    def parts(self) -> Iterator[Part]:
        """Every use of a piece, track by track in playing order; an init part before each of its
        segments."""
        for track in self.tracks:
            for segment in track.segments:
                if segment.init is not None:
                    yield segment.init
                if segment.part is not None:
                    yield segment.part

    @property
    def key_urls(self) -> tuple[str, ...]:
        """Where the keys lie, each once, in the order of their first use."""
        return tuple(dict.fromkeys(part.key.url for part in self.parts() if part.key is not None))

    @property
    def has_gaps(self) -> bool:
        """Whether no file can be whole, whatever is fetched."""
        return any(segment.part is None for track in self.tracks for segment in track.segments)

    def to_json(self) -> bytes:
        """As it is kept: compact, since a long video has many thousand segments."""
        return self.model_dump_json(exclude_defaults=True).encode()


def parse_plan(content: bytes) -> Plan:
    """A kept plan. Raises `Malformed` naming the field, or the format that is above ours."""
    try:
        plan = Plan.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "plan"
        raise Malformed(f"plan: {place}: {first['msg']}", reason="bad_plan") from error
    if plan.format > FORMAT:
        raise Malformed(
            f"plan: format {plan.format}, this version of Headrace reads up to {FORMAT}",
            reason="bad_plan",
        )
    return plan
