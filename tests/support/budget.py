"""A budget that grants everything, or what it is told to, and remembers what was taken."""

from __future__ import annotations

from collections.abc import Sequence

from core.ports import BucketKey, Denied, Granted, Reserved

Answer = Granted | Reserved | Denied


class OpenBudget:
    """Answers as scripted, in order; afterwards it grants at once."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.takes: list[tuple[tuple[BucketKey, ...], float]] = []  # buckets, horizon
        self.confirms: list[str] = []  # tickets
        self.blocks: list[tuple[str, float]] = []

    def _next(self) -> Answer:
        return self._answers.pop(0) if self._answers else Granted()

    def take(self, buckets: Sequence[BucketKey], *, horizon_s: float) -> Answer:
        self.takes.append((tuple(buckets), horizon_s))
        return self._next()

    def confirm(self, buckets: Sequence[BucketKey], ticket: str) -> Answer:
        self.confirms.append(ticket)
        return self._next()

    def block(self, source: str, *, seconds: float) -> None:
        self.blocks.append((source, seconds))

    def blocked_for(self, source: str) -> float:
        return 0.0
