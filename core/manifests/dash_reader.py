"""What every reader of a DASH element needs: exact times, whole numbers, byte ranges, addresses.
Trusts no number and no address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from core.errors import Malformed, TooLarge
from core.manifests.dash_xml import Document, Refusal
from core.manifests.playlists import ByteRange
from core.manifests.resolving import MAX_ADDRESSES_CHARS, NoAddress, resolved

MAX_NUMBER = 2**62  # in a timescale of ten million a second: 14,000 years
MAX_SECONDS = 10**9
MAX_OFFSET = 2**53  # bytes: past any resource, and exact in every program that reads the JSON
MAX_NAME_CHARS = 200
# What is shorter holds no frame of anything: it is only how a duration was rounded.
NO_FRAME_S = Fraction(1, 1000)

_WHOLE = re.compile(r"\+?(\d{1,19})", re.ASCII)
_SIGNED = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_RANGE = re.compile(r"(\d{1,16})-(\d{1,16})", re.ASCII)
_FRAME_RATE = re.compile(r"(\d{1,6})(?:/(\d{1,6}))?", re.ASCII)
_DURATION = re.compile(
    r"P(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})D)?"
    r"(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{0,20})?|\.\d{1,20})S)?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a manifest something stands, for those who have to look for it there."""

    document: Document
    words: str  # "period 2, representation 'v1'"

    def refused(self, kind: type[Refusal], reason: str, words: str) -> Refusal:
        """An error that names the place."""
        return self.document.refused(kind, reason, f"{self.words}: {words}")

    def malformed(self, reason: str, words: str) -> Malformed:
        """The error for what can't mean anything."""
        return self.refused(Malformed, reason, words)

    def number(
        self, attributes: Mapping[str, str], name: str, default: int = 0, *, least: int = 0
    ) -> int:
        """A whole number. Raises `Malformed`, also for a missing one whose default is too small."""
        raw = attributes.get(name)
        found = default if raw is None else whole_number(raw)
        if found is None or found < least:
            told = "is missing" if raw is None else f"is no number here: {raw[:40]!r}"
            raise self.malformed("bad_number", f"{name} {told}")
        return found

    def signed(self, attributes: Mapping[str, str], name: str) -> int:
        """A whole number that may be below 0, and is 0 where it is missing. Raises `Malformed`."""
        raw = attributes.get(name, "0").strip()
        if not _SIGNED.fullmatch(raw):
            raise self.malformed("bad_number", f"{name} is no number here: {raw[:40]!r}")
        return int(raw)

    def duration(self, attributes: Mapping[str, str], name: str) -> Fraction | None:
        """An xs:duration in seconds, exactly. Raises `Malformed`."""
        raw = attributes.get(name)
        if raw is None:
            return None
        found = _DURATION.fullmatch(raw.strip())
        if found is None or not any(found.groups()):
            raise self.malformed("bad_duration", f"{name} is no duration: {raw[:40]!r}")
        years, months, days, hours, minutes = (int(part or 0) for part in found.groups()[:5])
        seconds = ((days * 24 + hours) * 60 + minutes) * 60 + Fraction(found[6] or 0)
        if years or months or seconds > MAX_SECONDS:  # months have no length
            raise self.malformed("bad_duration", f"{name} can't be believed: {raw[:40]!r}")
        return seconds

    def byte_range(self, raw: str) -> ByteRange:
        """`FIRST-LAST`, both within. Raises `Malformed`."""
        found = _RANGE.fullmatch(raw.strip())
        first, last = (int(found[1]), int(found[2])) if found else (0, -1)
        if not first <= last < MAX_OFFSET:
            raise self.malformed("bad_byterange", f"no byte range: {raw[:40]!r}")
        return ByteRange(first, last - first + 1)


class Addresses:
    """Makes the addresses of one track absolute, and counts what they take."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._chars = 0

    def absolute(self, raw: str, base: str) -> str:
        """`raw` against `base`. Raises `Malformed`, `TooLarge`, or `AddressRefused` for what is not
        http(s)."""
        try:
            url = resolved(raw, base)
        except NoAddress as error:
            raise self._place.refused(error.kind, error.reason, str(error)) from error
        self._chars += len(url)
        if self._chars > MAX_ADDRESSES_CHARS:
            words = f"its addresses have over {MAX_ADDRESSES_CHARS:,} characters"
            raise self._place.refused(TooLarge, "manifest_too_large", words)
        return url


def whole_number(raw: str | None) -> int | None:
    """A number that can be believed; None for anything else."""
    found = _WHOLE.fullmatch(raw.strip()) if raw else None
    number = int(found[1]) if found else MAX_NUMBER + 1
    return number if number <= MAX_NUMBER else None


def frame_rate(raw: str | None) -> float | None:
    """`30000/1001` or `25`."""
    found = _FRAME_RATE.fullmatch(raw.strip()) if raw else None
    if found is None or int(found[2] or 1) == 0:
        return None
    return int(found[1]) / int(found[2] or 1) or None


def line_of(raw: str | None) -> str | None:
    """A name on one line, cut at `MAX_NAME_CHARS`."""
    return " ".join(raw.split())[:MAX_NAME_CHARS] or None if raw else None
