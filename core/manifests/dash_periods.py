"""When a presentation's periods begin and end, exactly; refuses what is live or lies elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from xml.etree.ElementTree import Element

from core.errors import Malformed, TooLarge, Unsupported
from core.manifests.dash_reader import NO_FRAME_S, Place
from core.manifests.dash_xml import Document

MAX_PERIODS = 2_000

_HREF = "{http://www.w3.org/1999/xlink}href"
_TO_NOTHING = "urn:mpeg:dash:resolve-to-zero:2013"  # the element is as if it were not there


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of a presentation with tracks of its own."""

    number: int  # from 1, in the manifest
    element: Element
    start: Fraction  # seconds
    duration: Fraction | None  # seconds; None: nobody tells

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        return f"period {self.number}"


def read_periods(document: Document) -> list[Period]:
    """The periods that last, in order; at least one. Raises `Unsupported` for a live presentation
    and for what is to be fetched from elsewhere."""
    root = document.root
    if root.get("type", "static").strip() == "dynamic":
        words = "a live manifest (type dynamic); Headrace gets what has an end"
        raise document.refused(Unsupported, "live_manifest", words)
    elements = [element for element in root.findall("Period") if not is_nothing(element)]
    if len(elements) > MAX_PERIODS:
        words = f"more than {MAX_PERIODS:,} periods"
        raise document.refused(TooLarge, "manifest_too_large", words)
    _refuse_remote(document)
    periods = _timed(document, elements) if elements else []
    lasting = [one for one in periods if one.duration is None or one.duration >= NO_FRAME_S]
    if len(lasting) < len(periods):
        document.note("periods that last no time are left out")
    if not lasting:
        raise document.malformed("empty_manifest", "no period in the whole manifest")
    return lasting


def is_nothing(element: Element) -> bool:
    """Whether an element is there only to say that it is not."""
    return element.get(_HREF, "").strip() == _TO_NOTHING


def _refuse_remote(document: Document) -> None:
    """Parts of the manifest that lie elsewhere: who lets them in lets the manifest decide what is
    asked for, as often as it likes."""
    for element in document.root.iter():
        if _HREF in element.keys() and not is_nothing(element):  # noqa: SIM118 - of an element
            words = f"its {str(element.tag)[:40]} lies elsewhere (xlink:href), which is not read"
            raise document.refused(Unsupported, "xlink_unsupported", words)


def _timed(document: Document, elements: list[Element]) -> list[Period]:
    """Start: its own, else the end of the one before, else 0. End: the next start; the last's by
    its own duration, else by the presentation's."""
    starts: list[Fraction] = []
    after: Fraction | None = Fraction(0)  # where the one before ends by its own word
    for number, element in enumerate(elements, 1):
        place = Place(document, f"period {number}")
        start = place.duration(element.attrib, "start")
        start = after if start is None else start
        if start is None:
            raise place.malformed("bad_period", "neither it nor the one before tells its start")
        if starts and start < starts[-1]:
            raise place.malformed("bad_period", "it begins before the one before it")
        starts.append(start)
        own = place.duration(element.attrib, "duration")
        after = None if own is None else start + own
    if after is None:
        after = Place(document, "MPD").duration(document.root.attrib, "mediaPresentationDuration")
    ends = [*starts[1:], after]
    return [
        Period(number, element, start, _length(document, number, start, end))
        for number, (element, start, end) in enumerate(zip(elements, starts, ends, strict=True), 1)
    ]


def _length(
    document: Document, number: int, start: Fraction, end: Fraction | None
) -> Fraction | None:
    if end is not None and end < start:
        words = "it begins after the end of the presentation"
        raise document.refused(Malformed, "bad_period", f"period {number}: {words}")
    return None if end is None else end - start
