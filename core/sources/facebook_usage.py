"""How much of its budget the Graph API says is used, and how long to rest so that it need not
refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from core.sources.json_page import Item, item_of, items_of
from core.sources.values import number_of

RESTS_AT_PERCENT = 80.0  # throttling starts at 100
WINDOW_S = 3600.0  # the budget is of a rolling hour
LONGEST_REST_S = 86_400.0

_APP = "x-app-usage"  # counts app and user tokens
_BUSINESS = "x-business-use-case-usage"  # counts page and system tokens, by business
_MOST_CHARS = 64 * 1024
_PERCENTAGES = ("call_count", "total_cputime", "total_time")


def rest_s(headers: Mapping[str, str]) -> float | None:
    """How long to ask for nothing: as long as the API says that access takes to come back, else
    until the rolling hour has freed what is used beyond `RESTS_AT_PERCENT`. None: no need to."""
    told = [*_usages(headers)]
    regain_s = max((_regain_s(usage) for usage in told), default=0.0)
    percent = max((_percent(usage) for usage in told), default=0.0)
    return min(regain_s or _until_freed_s(percent), LONGEST_REST_S) or None


def _until_freed_s(percent: float) -> float:
    """An hour's budget that was used evenly frees itself evenly."""
    if percent < RESTS_AT_PERCENT:
        return 0.0
    return WINDOW_S * (percent - RESTS_AT_PERCENT + 1.0) / percent


def _percent(usage: Item) -> float:
    return max(number_of(usage.get(name)) or 0.0 for name in _PERCENTAGES)


def _regain_s(usage: Item) -> float:
    return 60.0 * (
        number_of(usage.get("estimated_time_to_regain_access")) or 0.0
    )  # told in minutes


def _usages(headers: Mapping[str, str]) -> Iterator[Item]:
    """Of the app and of every business use case."""
    for name, value in headers.items():
        if name.lower() == _APP:
            yield _object(value)
        elif name.lower() == _BUSINESS:
            for entries in _object(value).values():
                yield from items_of(entries)


def _object(value: str) -> Item:
    """A header that can't be read says nothing; it is no reason to lose the page."""
    if len(value) > _MOST_CHARS:
        return {}
    try:
        return item_of(json.loads(value))
    except (ValueError, RecursionError):
        return {}
