"""What a promise came to, and the table of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one promise."""

    promise: int
    what: str
    figure: str
    held: bool | None  # None: a figure to know, with no bound of its own


_HEADS = ("promise", "what", "figure", "held")
_WORDS = {True: "yes", False: "NO", None: "-"}


def table(rows: Iterable[Row]) -> str:
    """For people."""
    lines = [_HEADS, *((str(r.promise), r.what, r.figure, _WORDS[r.held]) for r in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def as_json(rows: Iterable[Row]) -> str:
    """For programs: one object a line."""
    return "\n".join(json.dumps(asdict(row)) for row in rows)
