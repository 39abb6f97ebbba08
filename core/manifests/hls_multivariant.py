"""An HLS multivariant playlist: the variants and the renditions that go with them."""

from __future__ import annotations

import re
from collections.abc import Callable

from core.errors import TooLarge, Truncated
from core.manifests.hls_reader import Reader, line_of, whole_number
from core.manifests.hls_text import Line, Text
from core.manifests.playlists import MediaRendition, Multivariant, RenditionKind, Variant

MAX_VARIANTS = 500
MAX_RENDITIONS = 500

_MOST_BANDWIDTH = 10**12  # bits a second
_MOST_PIXELS = 100_000  # of a side
_RESOLUTION = re.compile(r"(\d{1,6})[xX](\d{1,6})", re.ASCII)
_FRAME_RATE = re.compile(r"\d{1,4}(?:\.\d{1,10})?", re.ASCII)


class MultivariantReader:
    """Reads one multivariant playlist."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._reader = Reader(text, {})
        self._variants: list[Variant] = []
        self._renditions: list[MediaRendition] = []
        self._next: Line | None = None  # the EXT-X-STREAM-INF of the address to come
        self._i_frame_streams = 0
        self._tags: dict[str, Callable[[Line], None]] = {
            "EXT-X-STREAM-INF": self._read_stream,
            "EXT-X-MEDIA": self._read_rendition,
            "EXT-X-I-FRAME-STREAM-INF": self._read_i_frames,
            "EXT-X-DEFINE": self._read_define,
        }

    def read(self) -> Multivariant:
        """The whole. Raises `Malformed`, `TooLarge`, or `Truncated` when it breaks off within a
        variant."""
        for line in self._text.lines():
            if not line.tag:
                self._read_address(line)
            elif tag := self._tags.get(line.tag):
                tag(line)
        if self._next is not None:
            words = "EXT-X-STREAM-INF without the address of its variant"
            raise self._text.refused(Truncated, self._next.number, Truncated.reason, words)
        if not self._variants:
            raise self._text.malformed(1, "empty_manifest", "no variant in the whole manifest")
        return Multivariant(
            url=self._text.url,
            variants=tuple(self._variants),
            renditions=tuple(self._renditions),
            variables=dict(self._reader.variables.defined),
            i_frame_streams=self._i_frame_streams,
            notes=tuple(self._text.notes),
        )

    def _read_stream(self, line: Line) -> None:
        if self._next is not None:
            words = "a second EXT-X-STREAM-INF where the variant's address should be"
            raise self._text.malformed(line.number, "stream_inf_without_address", words)
        self._next = line

    def _read_address(self, line: Line) -> None:
        if self._next is None:
            self._text.note(f"line {line.number}: an address without its EXT-X-STREAM-INF")
            return
        tag, self._next = self._next, None
        if len(self._variants) >= MAX_VARIANTS:
            raise self._too_many(line, f"{MAX_VARIANTS} variants")
        attributes = self._reader.attributes(tag)
        width, height = _resolution(attributes.get("RESOLUTION"))
        bandwidth = whole_number(attributes.get("BANDWIDTH"), _MOST_BANDWIDTH)
        if bandwidth is None:
            self._text.note(
                f"line {tag.number}: a variant without a BANDWIDTH that can be believed"
            )
        average = whole_number(attributes.get("AVERAGE-BANDWIDTH"), _MOST_BANDWIDTH)
        variant = Variant(
            url=self._reader.absolute(line.value, line.number),
            bandwidth=bandwidth or 0,
            average_bandwidth=average,
            codecs=line_of(attributes.get("CODECS")),
            width=width,
            height=height,
            frame_rate=_frame_rate(attributes.get("FRAME-RATE")),
            audio_group=attributes.get("AUDIO"),
            subtitles_group=attributes.get("SUBTITLES"),
            name=line_of(attributes.get("NAME")),  # in no standard, and in many playlists
        )
        self._variants.append(variant)

    def _read_rendition(self, line: Line) -> None:
        if len(self._renditions) >= MAX_RENDITIONS:
            raise self._too_many(line, f"{MAX_RENDITIONS} renditions")
        attributes = self._reader.attributes(line)
        kind, group, uri = (attributes.get(name) for name in ("TYPE", "GROUP-ID", "URI"))
        if kind not in set(RenditionKind) or group is None:
            self._text.note(f"line {line.number}: EXT-X-MEDIA without a TYPE and GROUP-ID we know")
            return
        rendition = MediaRendition(
            kind=RenditionKind(kind),
            group=group,
            name=line_of(attributes.get("NAME")),
            language=line_of(attributes.get("LANGUAGE")),
            default=attributes.get("DEFAULT") == "YES",
            autoselect=attributes.get("AUTOSELECT") == "YES",
            forced=attributes.get("FORCED") == "YES",
            url=self._reader.absolute(uri, line.number) if uri else None,
        )
        self._renditions.append(rendition)

    def _read_i_frames(self, _line: Line) -> None:
        self._i_frame_streams += 1

    def _read_define(self, line: Line) -> None:
        self._reader.variables.define(self._reader.attributes(line), line.number)

    def _too_many(self, line: Line, bound: str) -> TooLarge:
        words = f"more than {bound}"
        return self._text.refused(TooLarge, line.number, "manifest_too_large", words)


def _resolution(raw: str | None) -> tuple[int | None, int | None]:
    found = _RESOLUTION.fullmatch(raw.strip()) if raw else None
    if found is None:
        return None, None
    width, height = int(found[1]), int(found[2])
    believable = 0 < width <= _MOST_PIXELS and 0 < height <= _MOST_PIXELS
    return (width, height) if believable else (None, None)


def _frame_rate(raw: str | None) -> float | None:
    return float(raw) or None if raw and _FRAME_RATE.fullmatch(raw.strip()) else None
