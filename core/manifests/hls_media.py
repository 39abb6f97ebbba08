"""An HLS media playlist: each segment with everything that the tags before it mean for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.errors import Malformed, TooLarge, Truncated, Unsupported
from core.manifests.hls_keys import Keys
from core.manifests.hls_reader import Reader, line_of, whole_number
from core.manifests.hls_text import Line, Text
from core.manifests.playlists import ByteRange, InitPart, MediaPlaylist, MediaSegment

MAX_SEGMENTS = 100_000
MAX_SEQUENCE = 2**62  # IVs are made of it: a number that can't be believed must not pass
MAX_DURATION_S = 1_000_000.0  # of one segment: eleven days

_DURATION = re.compile(
    r"(\d{1,9}(?:\.\d{0,20})?|\.\d{1,20})[ \t]*+(?:,(.*))?", re.ASCII | re.DOTALL
)


@dataclass(slots=True)
class _Next:
    """What was said of the segment to come."""

    duration_s: float | None = None
    title: str | None = None
    byte_range: tuple[int, int | None] | None = None  # length, and start if it was given
    gap: bool = False
    line: int = 0  # of its EXTINF


class MediaReader:
    """Reads one media playlist."""

    def __init__(self, text: Text, imported: Mapping[str, str]) -> None:
        self._text = text
        self._reader = Reader(text, imported)
        self._keys = Keys(self._reader)
        self._segments: list[MediaSegment] = []
        self._next = _Next()
        self._init: InitPart | None = None
        self._sequence = 0
        self._discontinuity = 0
        self._clock: datetime | None = None  # when the segment to come was recorded
        self._target_duration_s: int | None = None
        self._ended = False
        self._on_demand = False  # by its own word
        self._tags: dict[str, Callable[[Line], None]] = {
            "EXTINF": self._read_duration,
            "EXT-X-BYTERANGE": self._read_range,
            "EXT-X-KEY": self._keys.read,
            "EXT-X-MAP": self._read_map,
            "EXT-X-GAP": self._read_gap,
            "EXT-X-DISCONTINUITY": self._read_discontinuity,
            "EXT-X-DISCONTINUITY-SEQUENCE": self._read_discontinuity_sequence,
            "EXT-X-MEDIA-SEQUENCE": self._read_sequence,
            "EXT-X-PROGRAM-DATE-TIME": self._read_clock,
            "EXT-X-DEFINE": self._read_define,
            "EXT-X-TARGETDURATION": self._read_target_duration,
            "EXT-X-PLAYLIST-TYPE": self._read_type,
            "EXT-X-ENDLIST": self._read_end,
            "EXT-X-SKIP": self._read_skip,
            "EXT-X-I-FRAMES-ONLY": self._read_i_frames_only,
        }

    def read(self) -> MediaPlaylist:
        """The whole. Raises `Malformed`, `Unsupported`, `TooLarge`, or `Truncated` when it breaks
        off within a segment."""
        for line in self._text.lines():
            if not line.tag:
                self._read_address(line)
            elif tag := self._tags.get(line.tag):
                tag(line)
        self._check_last()
        cut = not self._ended and (self._on_demand or self._text.ends_open)
        return MediaPlaylist(
            url=self._text.url,
            segments=tuple(self._segments),
            target_duration_s=self._target_duration_s,
            ended=self._ended,
            cut=cut,
            notes=tuple(self._text.notes),
        )

    def _check_last(self) -> None:
        said = self._next
        if said.duration_s is not None:
            kind = Malformed if self._ended else Truncated
            words = "an EXTINF without the address of its segment"
            raise self._text.refused(kind, said.line, kind.reason, words)
        if not self._segments:
            raise self._text.malformed(1, "empty_manifest", "no segment in the whole manifest")

    # --- a segment ---

    def _read_address(self, line: Line) -> None:
        said, self._next = self._next, _Next()
        if said.duration_s is None:
            words = f"an address without its EXTINF: {line.value[:60]!r}"
            raise self._text.malformed(line.number, "address_without_extinf", words)
        if len(self._segments) >= MAX_SEGMENTS:
            words = f"more than {MAX_SEGMENTS:,} segments"
            raise self._text.refused(TooLarge, line.number, "manifest_too_large", words)
        url = self._reader.absolute(line.value, line.number)
        segment = MediaSegment(
            url=url,
            duration_s=said.duration_s,
            sequence=self._sequence,
            discontinuity=self._discontinuity,
            byte_range=self._range(said, url, line.number),
            init=self._init,
            key=None if said.gap else self._keys.of_segment(self._sequence, line.number),
            gap=said.gap,
            title=said.title,
            program_date_time=self._clock,
        )
        self._segments.append(segment)
        self._sequence += 1  # gaps have a number too
        self._clock = _later(self._clock, segment.duration_s)

    def _range(self, said: _Next, url: str, line: int) -> ByteRange | None:
        if said.byte_range is None:
            return None
        length, start = said.byte_range
        if start is None:
            start = self._end_before(url, line)
        return self._reader.checked_range(start, length, line)

    def _end_before(self, url: str, line: int) -> int:
        """Where the range before ends. RFC 8216, 4.3.2.2: it must be one of the same resource."""
        before = self._segments[-1] if self._segments else None
        if before is None or before.byte_range is None or before.url != url:
            words = "a byte range without offset whose predecessor is no range of the same resource"
            reason = "byterange_without_previous_same_resource"
            raise self._text.malformed(line, reason, words)
        return before.byte_range.end

    def _read_duration(self, line: Line) -> None:
        found = _DURATION.fullmatch(line.value.strip())
        duration_s = float(found[1]) if found else -1.0
        if found is None or duration_s > MAX_DURATION_S:
            words = f"no duration: {line.value[:40]!r}"
            raise self._text.malformed(line.number, "bad_duration", words)
        if self._next.duration_s is not None:
            words = "a second EXTINF where the segment's address should be"
            raise self._text.malformed(line.number, "extinf_without_address", words)
        self._next.duration_s = duration_s
        self._next.title = line_of(found[2])
        self._next.line = line.number

    def _read_range(self, line: Line) -> None:
        self._next.byte_range = self._reader.byte_range(line.value, line.number)

    def _read_gap(self, _line: Line) -> None:
        self._next.gap = True

    # --- what holds from here on ---

    def _read_map(self, line: Line) -> None:
        attributes = self._reader.attributes(line)
        if "URI" not in attributes:
            raise self._text.malformed(line.number, "bad_map", "EXT-X-MAP without a URI")
        byte_range = None
        if "BYTERANGE" in attributes:
            # The offset is demanded since draft 8 of the second edition, and missing in the wild.
            length, start = self._reader.byte_range(attributes["BYTERANGE"], line.number)
            byte_range = self._reader.checked_range(start or 0, length, line.number)
        url = self._reader.absolute(attributes["URI"], line.number)
        self._init = InitPart(url, byte_range, self._keys.of_init(line.number))

    def _read_discontinuity(self, _line: Line) -> None:
        self._discontinuity += 1

    def _read_discontinuity_sequence(self, line: Line) -> None:
        self._discontinuity = self._base(line)

    def _read_sequence(self, line: Line) -> None:
        self._sequence = self._base(line)

    def _base(self, line: Line) -> int:
        number = whole_number(line.value, MAX_SEQUENCE)
        if number is None:
            words = f"{line.tag}: no number: {line.value[:40]!r}"
            raise self._text.malformed(line.number, "bad_sequence", words)
        if self._segments:
            words = f"{line.tag} after the first segment: which numbers hold?"
            raise self._text.malformed(line.number, "bad_sequence", words)
        return number

    def _read_clock(self, line: Line) -> None:
        try:
            told = datetime.fromisoformat(line.value.strip())
            zoned = told if told.tzinfo else told.replace(tzinfo=UTC)
            self._clock = zoned.astimezone(UTC)
        except (ValueError, OverflowError):
            self._clock = None  # informative: nothing is fetched by it

    def _read_define(self, line: Line) -> None:
        self._reader.variables.define(self._reader.attributes(line), line.number)

    # --- the whole playlist ---

    def _read_target_duration(self, line: Line) -> None:
        self._target_duration_s = whole_number(line.value, int(MAX_DURATION_S))

    def _read_type(self, line: Line) -> None:
        self._on_demand = line.value.strip() == "VOD"

    def _read_end(self, _line: Line) -> None:
        self._ended = True

    def _read_i_frames_only(self, _line: Line) -> None:
        self._text.note("only I-frames: pictures for seeking, not the video")

    def _read_skip(self, line: Line) -> None:
        words = "EXT-X-SKIP: a delta update that was not asked for leaves segments out"
        raise self._text.refused(Unsupported, line.number, "delta_update", words)


def _later(clock: datetime | None, duration_s: float) -> datetime | None:
    try:
        return clock + timedelta(seconds=duration_s) if clock else None
    except OverflowError:
        return None
