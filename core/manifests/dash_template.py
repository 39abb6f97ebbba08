"""The addresses that a SegmentTemplate makes: `$Number%05d$` and its kin (ISO/IEC 23009-1,
5.3.9.4.4)."""

from __future__ import annotations

import re

from core.manifests.dash_reader import Place

_IDENTIFIER = re.compile(r"\$(?:([A-Za-z]{1,20})(?:%(0?)(\d{0,2})d)?)?\$", re.ASCII)
_OF_SEGMENT = frozenset(["Number", "Time"])
_KNOWN = _OF_SEGMENT | {"RepresentationID", "Bandwidth"}


class Template:
    """One template; what does not change from segment to segment is filled in at once."""

    def __init__(self, raw: str, place: Place, *, ident: str, bandwidth: int) -> None:
        self._parts: list[tuple[str, str]] = []  # text, and the identifier after it, as a format
        self.uses: set[str] = set()
        fixed: dict[str, str | int] = {"RepresentationID": ident, "Bandwidth": bandwidth}
        at, text = 0, ""
        for found in _IDENTIFIER.finditer(raw):
            text += _plain(raw[at : found.start()], raw, place)
            at = found.end()
            name = found[1]
            if name is None:
                text += "$"
            elif name not in _KNOWN:
                raise place.malformed("bad_template", f"an identifier we don't know: ${name}$")
            elif name in _OF_SEGMENT:
                self._parts.append((text, f"{{{name}{_width(found)}}}"))
                self.uses.add(name)
                text = ""
            else:
                text += _filled(fixed[name], found)
        self._last = text + _plain(raw[at:], raw, place)

    def fill(self, number: int, time: int) -> str:
        """The address of one segment."""
        parts = (text + slot.format(Number=number, Time=time) for text, slot in self._parts)
        return "".join(parts) + self._last


def _plain(text: str, raw: str, place: Place) -> str:
    if "$" in text:
        raise place.malformed("bad_template", f"a $ without its second one: {raw[:60]!r}")
    return text


def _width(found: re.Match[str]) -> str:
    zero, width = found[2] or "", found[3] or ""
    return f":{zero}{width}d" if width else ""


def _filled(value: str | int, found: re.Match[str]) -> str:
    return value if isinstance(value, str) else f"{{{_width(found)}}}".format(value)
