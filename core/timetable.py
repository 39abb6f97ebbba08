"""When a feed is read: durations and cron's five fields, as a person writes them. Knows no time
itself, and no scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")  # cron counts from Sunday
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

MAX_DURATION_S = 366 * 86_400.0
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhd])", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def seconds(value: object) -> float:
    """A duration in seconds: a number of them, or text such as "90s", "15m" or "1h30m". Raises
    `ValueError`."""
    total_s = -1.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        total_s = float(value)
    elif isinstance(value, str) and _DURATION.fullmatch(value):
        total_s = sum(float(count) * _UNIT_S[unit] for count, unit in _PART.findall(value))
    if not 0 <= total_s <= MAX_DURATION_S:  # also what is no number at all
        raise ValueError(
            f"{value!r} is no duration: write seconds, or numbers with s, m, h or d, such as "
            '"90s", "15m" or "6h"; a year at most'
        )
    return total_s


def in_words(duration_s: float) -> str:
    """A duration as `seconds` reads it."""
    rest = duration_s
    parts = []
    for unit in "dhm":
        count, rest = divmod(rest, _UNIT_S[unit])
        parts.append(f"{count:.0f}{unit}" if count else "")
    parts.append(f"{rest:g}s" if rest else "")
    return "".join(parts) or "0s"


@dataclass(frozen=True, slots=True)
class Cron:
    """The times that a cron line names: each field's values, in order."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]  # 0 is Sunday
    either_day: bool  # days and weekdays are both restricted: either will do, as in cron


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five fields."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()  # for the values from `low` on

    def read(self, text: str) -> tuple[int, ...]:
        """Its values. Raises `ValueError`."""
        return tuple(sorted({value for item in text.split(",") for value in self._item(item)}))

    def _item(self, text: str) -> Iterable[int]:
        """`*`, `N`, `N-M`, each also with `/STEP`; `N/STEP` goes on to the field's end."""
        extent, has_step, step = text.partition("/")
        if has_step and not (_is_number(step) and int(step) > 0):
            raise ValueError(f"{self.name}: {text!r} has no step of 1 or more behind its /")
        first, last = self._extent(extent, open_ended=bool(has_step))
        if first > last:
            raise ValueError(f"{self.name}: {text!r} runs backwards; write two ranges")
        return range(first, last + 1, int(step or 1))

    def _extent(self, text: str, *, open_ended: bool) -> tuple[int, int]:
        if text == "*":
            return self.low, self.high
        first, is_range, last = text.partition("-")
        begin = self._value(first)
        if is_range:
            end = self._value(last)
            if self.names == WEEKDAYS and begin > end == 0:
                end = 7  # a week may end with its Sunday
            return begin, end
        return begin, self.high if open_ended else begin

    def _value(self, text: str) -> int:
        if text.lower() in self.names:
            return self.names.index(text.lower()) + self.low
        if not _is_number(text):
            raise ValueError(f"{self.name}: {text!r} is no value of it")
        if not self.low <= int(text) <= self.high:
            raise ValueError(f"{self.name}: {text} is not within {self.low} to {self.high}")
        return int(text)


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("weekday", 0, 7, WEEKDAYS),
)


def cron(text: str) -> Cron:
    """A cron line of five fields: minute, hour, day of the month, month, weekday (0 and 7 are
    Sunday). Raises `ValueError`."""
    written = text.split()
    if len(written) != len(_FIELDS):
        raise ValueError(
            f"{text!r} has {len(written)} fields, and cron has five: minute, hour, day of the "
            'month, month, weekday, such as "30 6 * * mon-fri"'
        )
    try:
        minutes, hours, days, months, weekdays = (
            field.read(one) for field, one in zip(_FIELDS, written, strict=True)
        )
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None
    if written[4].startswith("*") and not _ever(days, months):
        raise ValueError(f"{text!r}: no year has such a day")
    return Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=tuple(sorted({day % 7 for day in weekdays})),
        either_day=not written[2].startswith("*") and not written[4].startswith("*"),
    )


def _ever(days: tuple[int, ...], months: tuple[int, ...]) -> bool:
    return any(days[0] <= _LONGEST_MONTH[month - 1] for month in months)


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,3}", text, re.ASCII))
