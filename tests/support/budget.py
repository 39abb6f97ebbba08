"""A budget that grants everything, or what it is told to, and remembers what was taken and told."""

from __future__ import annotations

from collections.abc import Sequence

from core.ports import BucketKey, Denied, Granted, Reserved, Slowdown, Standing

Answer = Granted | Reserved | Denied
UNNAMED_S = 30.0  # a block for a source that named no time


class OpenBudget:
    """Answers as scripted, in order; afterwards it grants at once."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.takes: list[tuple[tuple[BucketKey, ...], float]] = []  # buckets, horizon
        self.confirms: list[str] = []  # tickets
        self.throttles: list[tuple[str, int, float | None]] = []  # bucket, era, seconds
        self.failures: list[tuple[str, int, str, int]] = []  # bucket, era, task, enough
        self.answers: list[str] = []  # buckets
        self.opened: list[tuple[str, float]] = []  # bucket, age
        self.uses: list[tuple[str, float, float]] = []  # bucket, waited, asked
        self.slowdown: Slowdown | None = None  # what tellers hear of failures; None: not enough

    def _next(self) -> Answer:
        return self._answers.pop(0) if self._answers else Granted()

    def take(self, buckets: Sequence[BucketKey], *, horizon_s: float) -> Answer:
        self.takes.append((tuple(buckets), horizon_s))
        return self._next()

    def confirm(self, buckets: Sequence[BucketKey], ticket: str) -> Answer:
        self.confirms.append(ticket)
        return self._next()

    def throttled(self, bucket: str, *, era: int, seconds: float | None) -> Slowdown:
        told_before = any(name == bucket and told == era for name, told, _ in self.throttles)
        self.throttles.append((bucket, era, seconds))
        return Slowdown(0.5, UNNAMED_S if seconds is None else max(1.0, seconds), not told_before)

    def failed(self, bucket: str, *, era: int, task: str, enough: int) -> Slowdown | None:
        self.failures.append((bucket, era, task, enough))
        return self.slowdown

    def unblock(self, bucket: str, *, age_s: float) -> float:
        self.opened.append((bucket, age_s))
        return 0.0

    def answered(self, bucket: str) -> None:
        self.answers.append(bucket)

    def used(self, bucket: str, *, waited_s: float, asked_s: float) -> None:
        self.uses.append((bucket, waited_s, asked_s))

    def blocked_for(self, bucket: str) -> float:
        return 0.0

    def standing(self, bucket: str) -> Standing | None:
        return None
