"""Whether a source may get more to do: shut past the high-water mark, open again below the low one.
Reads no depth and waits for nothing; whoever holds work back looks again in `held_s`."""

from __future__ import annotations

import threading
from dataclasses import dataclass

HELD_S = (5.0, 300.0)  # the least and the most that held work waits before it is looked at again


@dataclass(frozen=True, slots=True)
class Marks:
    """Open tasks of a source."""

    high_water: int  # past it nothing more is let in
    low_water: int  # below it work is let in again


class Gate:
    """One a process, for all its sources. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shut: set[str] = set()

    def lets_in(self, source: str, depth: int, marks: Marks) -> bool:
        """Whether a source with `depth` open tasks may get more. Once shut it stays so until its
        backlog is worked off down to the low mark: else it would be let in and held by turns."""
        with self._lock:
            if depth > marks.high_water:
                self._shut.add(source)
            elif depth < max(1, marks.low_water):  # nothing open is little enough in any case
                self._shut.discard(source)
            return source not in self._shut


def held_s(depth: int, marks: Marks, rate: float) -> float:
    """How long a backlog of `depth` takes down to the low mark at `rate` tasks a second, within
    bounds: the pace may be lower, or the work may end of itself."""
    least_s, most_s = HELD_S
    return max(least_s, min(most_s, (depth - marks.low_water) / rate))
