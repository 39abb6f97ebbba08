"""How a representation's segments are addressed: what each level says, merged from the period to
the representation; and what relative addresses resolve against."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from core.manifests.dash_reader import Addresses

MAX_BASES = 4  # ways to the same bytes: levels multiply them

_SCHEMES = ("SegmentTemplate", "SegmentList", "SegmentBase")  # as one is believed over another


@dataclass(slots=True)
class Addressing:
    """One scheme with its attributes and parts, each as the innermost level that has it says."""

    scheme: str  # the element's name
    attributes: dict[str, str] = field(default_factory=dict)
    init_template: str | None = None
    init: Element | None = None
    timeline: Element | None = None  # None: a duration, or one segment
    urls: list[Element] = field(default_factory=list)  # of a SegmentList

    def add(self, element: Element) -> None:
        """What one more level says, inwards."""
        self.attributes |= element.attrib
        self._add_init(element)
        timeline = element.find("SegmentTimeline")
        if timeline is not None:
            self.timeline = timeline
        elif "duration" in element.attrib:
            self.timeline = None
        self.urls = element.findall("SegmentURL") or self.urls

    def _add_init(self, element: Element) -> None:
        template, init = element.get("initialization"), element.find("Initialization")
        if template or init is not None:
            self.init_template = template or None
            self.init = None if template else init


def addressing_of(levels: tuple[Element, ...]) -> Addressing | None:
    """The scheme that the innermost level with one has; None where there is only a file."""
    for level in reversed(levels):
        for scheme in _SCHEMES:
            if level.find(scheme) is not None:
                return _merged(scheme, levels)
    return None


def _merged(scheme: str, levels: tuple[Element, ...]) -> Addressing:
    merged = Addressing(scheme)
    for level in levels:
        if (element := level.find(scheme)) is not None:
            merged.add(element)
    return merged


def base_urls(manifest_url: str, levels: tuple[Element, ...], addresses: Addresses) -> list[str]:
    """Each level's BaseURL against the level above, beginning with the manifest's own address.
    Several are ways to the same bytes, the first the preferred one."""
    bases = [manifest_url]
    for level in levels:
        given = [one.text or "" for one in level.findall("BaseURL")]
        given = [text for text in given if text.strip()]
        if given:
            ways = [(text, base) for base in bases for text in given][:MAX_BASES]
            bases = [addresses.absolute(text, base) for text, base in ways]
    return list(dict.fromkeys(bases))
