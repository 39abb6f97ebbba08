"""Plain TTML (W3C, also called DFXP) as cues: texts, line breaks and times. Colours and places are
left out: an MP4's text track has none that players agree on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from io import BytesIO
from xml.etree.ElementTree import Element

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, parse

from core.errors import Malformed
from core.video.cues import Cue

_MAX_DEPTH = 40  # a text needs five
_FRAMES = 30  # a second, where nobody tells
_CLOCK = re.compile(r"(\d{1,4}):(\d{2}):(\d{2})(?:(\.\d{1,9})|:(\d{1,4}))?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s|f|t)", re.ASCII)
_RATE = re.compile(r"(\d{1,6})\s+(\d{1,6})", re.ASCII)
_UNITS = {"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1), "ms": Fraction(1, 1000)}
_TIMED = ("begin", "end", "dur")


def read_ttml(content: bytes) -> Iterator[Cue]:
    """Its cues, in its order and on its own time. Raises `Malformed` for what is no TTML."""
    try:
        root = parse(BytesIO(content), forbid_dtd=True).getroot()
    except (ParseError, DefusedXmlException, LookupError, ValueError) as error:
        raise _no_ttml(f"no XML that can be read ({error})") from error
    if root is None or _name(root) != "tt":
        raise _no_ttml("their XML is no TTML")
    clock = _Clock.of(root)
    for body in root:
        if _name(body) == "body":
            yield from _Reading(clock).cues(body, Fraction(0), None, 0)


@dataclass(frozen=True, slots=True)
class _Clock:
    """What a document's own units of time last."""

    frame_s: Fraction
    tick_s: Fraction

    @classmethod
    def of(cls, root: Element) -> _Clock:
        told = {name.rpartition("}")[2]: value for name, value in root.attrib.items()}
        rate = Fraction(_number(told.get("frameRate")) or _FRAMES)
        times = _RATE.fullmatch(told.get("frameRateMultiplier", "").strip())
        if times and int(times[1]) and int(times[2]):
            rate *= Fraction(int(times[1]), int(times[2]))
        ticks = _number(told.get("tickRate")) or (rate if "frameRate" in told else 1)
        return cls(1 / rate, 1 / Fraction(ticks))

    def seconds(self, raw: str | None) -> Fraction | None:
        """A time expression; None for what is none."""
        text = (raw or "").strip()
        if found := _CLOCK.fullmatch(text):
            whole = (int(found[1]) * 60 + int(found[2])) * 60 + int(found[3])
            return whole + Fraction(f"0{found[4] or '.0'}") + int(found[5] or 0) * self.frame_s
        if found := _OFFSET.fullmatch(text):
            own = {"f": self.frame_s, "t": self.tick_s}
            return Fraction(found[1]) * (own | _UNITS)[found[2]]
        return None


@dataclass(frozen=True, slots=True)
class _Reading:
    """A document's elements, whose times count from when the element around them begins."""

    clock: _Clock

    def cues(
        self, element: Element, begin: Fraction, end: Fraction | None, depth: int
    ) -> Iterator[Cue]:
        """What shows within an element, which itself stands in one that shows so long."""
        if depth > _MAX_DEPTH:
            raise _no_ttml("their XML nests too deep")
        begin, end = self._times(element, begin, end)
        if _name(element) in ("p", "span") and not any(map(_is_timed, element)):
            if end is not None and end > begin and (text := _text(element)):
                yield Cue(float(begin), float(end), text)
            return
        for child in element:
            if _name(child) in ("div", "p", "span"):
                yield from self.cues(child, begin, end, depth + 1)

    def _times(
        self, element: Element, begin: Fraction, end: Fraction | None
    ) -> tuple[Fraction, Fraction | None]:
        told = {name: self.clock.seconds(element.get(name)) for name in _TIMED}
        start = begin + (told["begin"] or 0)
        own = None if told["end"] is None else begin + told["end"]
        lasting = None if told["dur"] is None else start + told["dur"]
        ends = [one for one in (own, lasting, end) if one is not None]
        return start, min(ends, default=None)


def _is_timed(element: Element) -> bool:
    """Whether it, or anything in it, has times of its own."""
    return any(one.get("begin") or one.get("end") or one.get("dur") for one in element.iter())


def _text(element: Element) -> str:
    """As lines, each without the blanks that only lay out the XML."""
    lines = (" ".join(line.split()) for line in "".join(_said(element, 0)).split("\n"))
    return escape("\n".join(filter(None, lines)), quote=False)


def _said(element: Element, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        raise _no_ttml("their XML nests too deep")
    yield (element.text or "").replace("\n", " ")
    for child in element:
        if _name(child) == "br":
            yield "\n"
        elif _name(child) == "span":
            yield from _said(child, depth + 1)
        yield (child.tail or "").replace("\n", " ")


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _number(raw: str | None) -> int | None:
    text = (raw or "").strip()
    return int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else None


def _no_ttml(why: str) -> Malformed:
    return Malformed(f"they are no plain TTML: {why}", reason="no_plain_ttml")
