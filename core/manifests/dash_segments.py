"""The segments of one representation in one period: addresses, ranges, init part and times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from xml.etree.ElementTree import Element

from core.errors import Unsupported
from core.manifests.dash_addressing import Addressing, addressing_of, base_urls
from core.manifests.dash_reader import Addresses, Place
from core.manifests.dash_representations import Representation
from core.manifests.dash_template import Template
from core.manifests.dash_timeline import Slot, Timing
from core.manifests.dash_xml import Document
from core.manifests.playlists import ByteRange, InitPart, MediaSegment
from core.model.plan import TrackKind


@dataclass(frozen=True, slots=True)
class Position:
    """Where in the track the period's segments stand."""

    period: int  # from 0, among those that last
    most: int  # segments
    is_one_of_several: bool  # then what lies outside the period belongs to no one
    begins_s: Fraction  # after the first period does


def read_segments(
    document: Document, of: Representation, at: Position, addresses: Addresses
) -> list[MediaSegment]:
    """Its segments, at least one. Raises `Malformed`, `TooLarge`, `AddressRefused`, or
    `Unsupported` for what is protected."""
    place = Place(document, of.place)
    if of.protection:
        words = f"protected by DRM ({', '.join(of.protection)}), which Headrace does not get"
        raise place.refused(Unsupported, "drm_unsupported", words)
    found = _Reading(document, of, at, addresses).read()
    if not found:
        raise place.malformed("empty_manifest", "no segment in the whole period")
    return found


class _Reading:
    """One representation being read."""

    def __init__(
        self, document: Document, of: Representation, at: Position, addresses: Addresses
    ) -> None:
        self._of = of
        self._at = at
        self._addresses = addresses
        self._place = Place(document, of.place)
        self._bases = base_urls(document.url, of.levels, addresses)
        self._has_file = self._bases[0] != document.url
        self._addressing = addressing_of(of.levels) or Addressing("SegmentBase")
        self._timing = Timing.of(self._addressing, self._place, of.period.duration, at.most)
        self._clock_s = self._timing.seconds(self._timing.offset)
        is_text = of.kind is TrackKind.SUBTITLES
        self._shift_s = float(at.begins_s) - self._clock_s if is_text else None

    def read(self) -> list[MediaSegment]:
        ways = {
            "SegmentTemplate": self._by_template,
            "SegmentList": self._by_list,
            "SegmentBase": self._whole_file,
        }
        return ways[self._addressing.scheme]()

    # --- the schemes ---

    def _by_template(self) -> list[MediaSegment]:
        raw = self._addressing.attributes.get("media", "")
        if not raw.strip():
            raise self._place.malformed("bad_template", "a SegmentTemplate without media")
        template, init = self._template(raw), self._init()
        return [
            self._segment(slot, index, template.fill(slot.number, slot.time), None, init)
            for index, slot in enumerate(self._slots())
        ]

    def _by_list(self) -> list[MediaSegment]:
        urls, init = self._addressing.urls, self._init()
        slots = list(self._slots(len(urls))) if urls else []
        if len(slots) != len(urls):
            words = f"{len(urls)} SegmentURLs, but its timeline is for {len(slots)}"
            raise self._place.malformed("bad_timeline", words)
        return [
            self._segment(slot, index, url.get("media", ""), self._range(url, "mediaRange"), init)
            for index, (slot, url) in enumerate(zip(slots, urls, strict=True))
        ]

    def _whole_file(self) -> list[MediaSegment]:
        """All of it, in one request that goes on where it broke off, and byte for byte as its
        source has it: an index is asked for only where a period shows a part of it."""
        total = self._timing.period_units()
        init = self._init()
        if init is not None and init.url == self._bases[0]:
            init = None
        return [self._segment(Slot(1, 0, total), 0, "", None, init)]

    # --- what they have in common ---

    def _slots(self, count: int | None = None) -> Iterable[Slot]:
        timing, timeline = self._timing, self._addressing.timeline
        if timeline is None:
            return timing.even(count)
        slots: Iterable[Slot] = timing.by_timeline(timeline)
        if (last := timing.last) is not None:
            slots = takewhile(lambda slot: slot.number <= last, slots)
        if not self._at.is_one_of_several or timing.period is None or count is not None:
            return slots
        begin, end = timing.offset, timing.offset + timing.period_units()
        return [slot for slot in slots if slot.time < end and slot.time + slot.duration > begin]

    def _segment(
        self, slot: Slot, index: int, raw: str, part: ByteRange | None, init: InitPart | None
    ) -> MediaSegment:
        url, *others = self._urls(raw)
        return MediaSegment(
            url=url,
            duration_s=self._timing.seconds(slot.duration),
            sequence=index,
            discontinuity=self._at.period,
            byte_range=part,
            init=init,
            alternatives=tuple(others),
            pause_s=self._timing.seconds(slot.pause),
            clock_s=self._clock_s,
            shift_s=self._shift_s,
        )

    def _init(self) -> InitPart | None:
        """One value for all its segments."""
        if self._addressing.init_template is not None:
            template = self._template(self._addressing.init_template)
            if template.uses:
                words = "an init part whose address differs from segment to segment"
                raise self._place.malformed("bad_template", words)
            url, *others = self._urls(template.fill(0, 0))
            return InitPart(url, alternatives=tuple(others))
        element = self._addressing.init
        if element is None:
            return None
        url, *others = self._urls(element.get("sourceURL", ""))
        return InitPart(url, self._range(element, "range"), alternatives=tuple(others))

    def _template(self, raw: str) -> Template:
        of = self._of
        return Template(raw, self._place, ident=of.id, bandwidth=of.bandwidth)

    def _range(self, element: Element, name: str) -> ByteRange | None:
        raw = element.get(name)
        return None if raw is None else self._place.byte_range(raw)

    def _urls(self, raw: str) -> list[str]:
        """An address, and where its bytes lie too; an empty one is the file itself."""
        if raw.strip():
            return [self._addresses.absolute(raw, base) for base in self._bases]
        if not self._has_file:
            raise self._place.malformed("no_segments", "neither segments nor a file are named")
        return self._bases
