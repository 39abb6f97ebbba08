"""Dates as feeds write them: RFC 3339 and RFC 822 with what is usual around them. What names no
certain moment is no date: general readers turn «2026-13-01» into 2027 and drop «PM» and zones."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_DATE_CHARS = 100

# Beyond the zones of RFC 822, those that mean one thing only.
_ZONES = {
    "WET": "+0000",
    "WEST": "+0100",
    "CET": "+0100",
    "CEST": "+0200",
    "EET": "+0200",
    "EEST": "+0300",
    "MSK": "+0300",
    "HKT": "+0800",
    "JST": "+0900",
    "KST": "+0900",
}
_OFFSET_BY_NAME = re.compile(r"\s*\b(?:GMT|UTC|UT)\s*([+-])(\d{1,2}):?(\d{2})?$")
_LAST_WORD = re.compile(r"[A-Z]+$")
_ENDS_IN_TIME = re.compile(r":\d\d$|-0000$")


def read_date(text: str) -> datetime | None:
    """The moment in UTC; None when the text names none. A time without a zone is taken as UTC."""
    trimmed = " ".join(text[: MAX_DATE_CHARS + 1].split())
    if not trimmed or len(trimmed) > MAX_DATE_CHARS:
        return None
    for read in (_rfc_3339, _rfc_822):
        try:
            found = read(trimmed.upper())
            return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
        except (ValueError, OverflowError):  # not this form; or a year before the first in UTC
            continue
    return None


def _rfc_3339(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _rfc_822(text: str) -> datetime:
    plain = _OFFSET_BY_NAME.sub(_numeric, text)
    plain = _LAST_WORD.sub(lambda zone: _ZONES.get(zone[0], zone[0]), plain)
    if ":" not in plain:
        plain += " 00:00"  # a date alone, which the standard library does not read
    found = parsedate_to_datetime(plain)
    if found.tzinfo is None and not _ENDS_IN_TIME.search(plain) and not _asctime(plain):
        raise ValueError(f"no known zone in {text!r}")
    return found


def _numeric(zone: re.Match[str]) -> str:
    sign, hours, minutes = zone.groups(default="00")
    return f" {sign}{hours:0>2}{minutes}"


def _asctime(text: str) -> bool:
    return re.search(r":\d\d \d{4}$", text) is not None
