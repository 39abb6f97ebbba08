"""Moments as Weibo tells them: whole, in C's English; or short and by the reader's clock in China
(«3小时前», «昨天 08:15», «06-14»), where it matters how exact they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from core.sources.values import line_of

CHINA = timezone(timedelta(hours=8))
MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_WHOLE = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) ([+-]\d{2})(\d{2}) (\d{4})"
)
_AGO = re.compile(r"(\d{1,5}) ?(秒|分钟|小时|天)前")
_DAYS_BACK = re.compile(r"(今天|昨天|前天) ?(\d{1,2}):(\d{2})")
_DATED = re.compile(r"(?:(\d{4})-)?(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_UNITS_S = {"秒": 1.0, "分钟": MINUTE_S, "小时": HOUR_S, "天": DAY_S}
_BACK = {"今天": 0, "昨天": 1, "前天": 2}
_FORMER_DAY_S = 36 * HOUR_S  # a date without a year that is further ahead was last year's


@dataclass(frozen=True, slots=True)
class Told:
    """When something was, as far as it is told."""

    at: datetime | None = None  # UTC
    within_s: float | None = None  # how exact that is; None: to the second


def read_moment(raw: object, read_at: float) -> Told:
    """What `raw` says; `read_at` (Unix time) is when it was said. What names no moment is none."""
    text = line_of(raw) or ""
    for read in (_whole, _relative, _dated):
        try:
            told = read(text, read_at)
            if told.at is not None:
                return Told(told.at.astimezone(UTC), told.within_s)
        except (ValueError, OverflowError):  # «06-31», the year 0
            continue
    return Told()


def _whole(text: str, _read_at: float) -> Told:
    found = _WHOLE.fullmatch(text)
    if found is None:
        return Told()
    month, day, hour, minute, second, zone_h, zone_m, year = found.groups()
    sign = -1 if zone_h.startswith("-") else 1
    zone = timezone(timedelta(hours=int(zone_h), minutes=sign * int(zone_m)))
    date = (int(year), _MONTHS.index(month) + 1, int(day))
    return Told(datetime(*date, int(hour), int(minute), int(second), tzinfo=zone))


def _relative(text: str, read_at: float) -> Told:
    if not read_at:  # nothing to count from
        return Told()
    now = datetime.fromtimestamp(read_at, CHINA)
    if text == "刚刚":
        return Told(now, MINUTE_S)
    if found := _AGO.fullmatch(text):
        unit_s = _UNITS_S[found[2]]
        return Told(now - timedelta(seconds=int(found[1]) * unit_s), max(unit_s, MINUTE_S))
    if found := _DAYS_BACK.fullmatch(text):
        day = now - timedelta(days=_BACK[found[1]])
        moment = day.replace(hour=int(found[2]), minute=int(found[3]), second=0, microsecond=0)
        return Told(moment, MINUTE_S)
    return Told()


def _dated(text: str, read_at: float) -> Told:
    found = _DATED.fullmatch(text)
    if found is None or not (found[1] or read_at):
        return Told()
    hour, minute, second = (int(part or 0) for part in found.groups()[3:])
    month, day = int(found[2]), int(found[3])
    within_s = None if found[6] else MINUTE_S if found[4] else DAY_S

    def of_year(year: int) -> datetime:
        return datetime(year, month, day, hour, minute, second, tzinfo=CHINA)

    return Told(of_year(int(found[1])) if found[1] else _of_last(of_year, read_at), within_s)


def _of_last(of_year: Callable[[int], datetime], read_at: float) -> datetime:
    """The last such day before the page was read."""
    now = datetime.fromtimestamp(read_at, CHINA)
    this = of_year(now.year)
    return this if this <= now + timedelta(seconds=_FORMER_DAY_S) else of_year(now.year - 1)
