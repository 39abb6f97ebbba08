"""Single fields of a playurl answer, which come as numbers or as text. What can't be read is
None."""

from __future__ import annotations

import re

_DECIMAL = re.compile(r"\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_RATIO = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)
_MOST = 10**15
_LINE_CHARS = 200


def decimal_of(raw: object) -> float | None:
    """A positive number; `30000/1001` is one too."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        # Compared before any conversion: an int may be too long for a float.
        return float(raw) if 0 < raw < _MOST else None
    if not isinstance(raw, str):
        return None
    if ratio := _RATIO.fullmatch(raw.strip()):
        return int(ratio[1]) / int(ratio[2]) or None if int(ratio[2]) else None
    return decimal_of(float(raw)) if _DECIMAL.fullmatch(raw.strip()) else None


def count_of(raw: object) -> int | None:
    """A positive whole number."""
    found = decimal_of(raw)
    return int(found) if found is not None and found == int(found) else None


def line_of(raw: object) -> str | None:
    """A text on one line."""
    if not isinstance(raw, str):
        return None
    clean = raw.encode("utf-8", "replace").decode("utf-8")
    return " ".join(clean.split())[:_LINE_CHARS] or None
