"""What every reader of an HLS tag needs: attribute lists, numbers, addresses made absolute. Trusts
no number and no address."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.errors import TooLarge
from core.manifests.hls_text import Line, Text
from core.manifests.hls_variables import Variables
from core.manifests.playlists import ByteRange
from core.manifests.resolving import MAX_ADDRESSES_CHARS, NoAddress, resolved

MAX_NAME_CHARS = 200
MAX_OFFSET = 2**53  # bytes: past any resource, and exact in every program that reads the JSON

# Possessive throughout: no damaged line may be tried in quadratically many ways.
_PAIR = re.compile(r'[ \t]*+([A-Za-z0-9-]++)[ \t]*+=[ \t]*+(?:"([^"]*+)"|([^",]*+))[ \t]*+(?:,|$)')
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)
_RANGE = re.compile(r"(\d{1,16})(?:@(\d{1,16}))?", re.ASCII)


class Reader:
    """Reads the values of one playlist's lines."""

    def __init__(self, text: Text, imported: Mapping[str, str]) -> None:
        self.text = text
        self.variables = Variables(text, imported)
        self._address_chars = 0

    def attributes(self, line: Line) -> dict[str, str]:
        """The line's attribute list, its variables replaced. Raises `Malformed`."""
        found: dict[str, str] = {}
        at = 0
        while at < len(line.value):
            pair = _PAIR.match(line.value, at)
            if pair is None:
                words = f"{line.tag}: no attribute list from {line.value[at : at + 30]!r} on"
                raise self.text.malformed(line.number, "bad_attributes", words)
            value = pair[2] if pair[2] is not None else pair[3].rstrip()
            found.setdefault(pair[1], self.variables.expand(value, line.number))
            at = pair.end()
        return found

    def absolute(self, raw: str, line: int) -> str:
        """An address against the playlist's own. Raises `Malformed`, or `AddressRefused` for what
        is not http(s)."""
        try:
            url = resolved(self.variables.expand(raw, line), self.text.url)
        except NoAddress as error:
            raise self.text.refused(error.kind, line, error.reason, str(error)) from error
        return self._counted(url, line)

    def _counted(self, url: str, line: int) -> str:
        self._address_chars += len(url)
        if self._address_chars > MAX_ADDRESSES_CHARS:
            words = f"its addresses have over {MAX_ADDRESSES_CHARS:,} characters"
            raise self.text.refused(TooLarge, line, "manifest_too_large", words)
        return url

    def byte_range(self, raw: str, line: int) -> tuple[int, int | None]:
        """`LENGTH@START`: length, and start if it is given. Raises `Malformed`."""
        found = _RANGE.fullmatch(raw.strip())
        length = int(found[1]) if found else 0
        start = int(found[2]) if found and found[2] else None
        if not 0 < length <= MAX_OFFSET or (start or 0) > MAX_OFFSET:
            raise self.text.malformed(line, "bad_byterange", f"no byte range: {raw[:40]!r}")
        return length, start

    def checked_range(self, start: int, length: int, line: int) -> ByteRange:
        """A range whose end is believable. Raises `Malformed`."""
        if start + length > MAX_OFFSET:
            raise self.text.malformed(line, "bad_byterange", "a byte range past any resource")
        return ByteRange(start, length)


def whole_number(raw: str | None, most: int) -> int | None:
    """A number from 0 to `most`; None for anything else."""
    if raw is None or not _WHOLE.fullmatch(raw.strip()):
        return None
    number = int(raw)
    return number if number <= most else None


def line_of(raw: str | None) -> str | None:
    """A name on one line, cut at `MAX_NAME_CHARS`."""
    return " ".join(raw.split())[:MAX_NAME_CHARS] or None if raw else None
