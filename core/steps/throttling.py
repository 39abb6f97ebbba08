"""How long a source is blocked that says «slower»: as long as it asks, but longer each time while
it says nothing else. A source that names no time, or a past one, must not be asked at once."""

from __future__ import annotations

import threading
from collections import Counter

FIRST_BLOCK_S = 1.0
LONGEST_BLOCK_S = 300.0
WITHOUT_A_WORD_S = 30.0  # for a source that does not say until when


class Throttling:
    """Counts each source's refusals in a row, in this process."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()
        self._lock = threading.Lock()

    def block_s(self, source: str, told_s: float | None) -> float:
        """The source refused once more, and asked for `told_s`: how long it is left alone."""
        with self._lock:
            doublings = min(self._in_a_row[source], 20)
            self._in_a_row[source] += 1
        least_s = min(LONGEST_BLOCK_S, FIRST_BLOCK_S * 2.0**doublings)
        return max(WITHOUT_A_WORD_S if told_s is None else told_s, least_s)

    def answered(self, source: str) -> None:
        """The source gave what was asked for."""
        with self._lock:
            self._in_a_row.pop(source, None)
