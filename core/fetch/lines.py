"""Where tasks stand whose host keeps them waiting: one behind the other, so that they come back as
the host's tokens fall due, and not all at once each time.

Each process has a line of its own and knows nothing of the others: from what it is granted while
the host keeps tasks waiting it learns which share of the tokens is its own."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from core.clock import Clock
from core.errors import SharedStateDown
from core.ports import BucketKey, Budget

LONGEST_S = 3600.0  # the line's end may be further away, but who knows what is then
SLOWED_S = 900.0  # the same of a host that made us slower: it may be as fast as ever by then
REFUSING_S = 1800.0  # and of one that does so again and again: it will hardly be much faster
LOOKED_AT_S = 900.0  # a longer block may be ended by a person: nothing else brings a task back
CLIMB_S = 240.0  # after which the budget grants the whole rate again, should all go well
_LOOK_S = 5.0  # between looks at a host's pace
_KEPT_UP = 0.75  # of the pace that a host refused: between it and its half it goes up and down
_MEASURED = (10.0, 80)  # seconds and tokens of the whole rate in which the share shows
_FEW = 5  # tasks: they show nothing
_LEAST_SHARE = 1 / 64
_MAX_LINES = 1024  # before those are forgotten that nobody waits in


@dataclass(slots=True)
class _Line:
    """One host's. Times are monotonic."""

    since: float  # when what is measured began
    end: float = 0.0  # when its last in line is due
    granted: int = 0  # since then
    denied: int = 0
    looked_at: float = -math.inf
    pace: float = 1.0  # share of the rate that the budget grants
    too_fast: float = 1.0  # the pace at which the host refused last, unless it was passed since

    @property
    def is_refusing(self) -> bool:
        """Whether it refused while we were slower already."""
        return self.too_fast < 1

    @property
    def longest_s(self) -> float:
        if self.is_refusing:
            return REFUSING_S
        return LONGEST_S if self.pace >= 1 else SLOWED_S

    def pace_in(self, seconds: float) -> float:
        """What it may have climbed to by then. A host that refuses again and again goes on so: were
        those in line to come as fast as if it did not, most would come in vain."""
        highest = max(self.pace, _KEPT_UP * self.too_fast) if self.is_refusing else 1.0
        return min(highest, self.pace + seconds / CLIMB_S)

    def learn_pace(self, pace: float) -> None:
        if pace < self.pace:
            self.too_fast = self.pace
        self.too_fast = max(self.too_fast, pace)
        self.pace = pace


@dataclass(slots=True)
class Lines:
    """One a process, shared by its threads. Only who waits how long: what is granted is the
    budget's affair alone. `pace` tells of a bucket which share of its rate is granted just now."""

    clock: Clock
    pace: Callable[[str], float] = lambda _bucket: 1.0
    _lines: dict[str, _Line] = field(default_factory=dict)  # by bucket
    _shares: dict[str, float] = field(default_factory=dict)  # by source: its hosts have the same
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def delay_s(self, bucket: BucketKey, wait_s: float, *, blocked: bool = False) -> float:
        """How long the next one waits, where the bucket has no token for `wait_s`."""
        self._look(bucket.name)
        with self._lock:
            now = self.clock.monotonic()
            line = self._line(bucket.name, now)
            line.denied += 1
            self._learn(bucket, line, now)
            opens = now + (min(wait_s, LOOKED_AT_S) if blocked else wait_s)
            if blocked:  # until then nobody is granted anything, and nothing is learned
                line.since, line.granted, line.denied = opens, 0, 0
            line.end = self._due(bucket, line, opens)
            return line.end - now

    def forget(self, name: str) -> None:
        """A bucket is open before its time: whoever is denied from now on stands behind nobody."""
        with self._lock:
            self._lines.pop(name, None)

    def granted(self, bucket: BucketKey) -> None:
        """One of its tokens came to this process."""
        with self._lock:
            if (line := self._lines.get(bucket.name)) is not None:
                line.granted += 1
                self._learn(bucket, line, self.clock.monotonic())

    def _due(self, bucket: BucketKey, line: _Line, opens: float) -> float:
        """When the next one is due, if the host is open from `opens` on. Past the line's longest it
        begins anew, in between the others: some will have no token, but there is no crowd."""
        pace = line.pace_in(max(0.0, line.end - opens))
        apart_s = 1 / (bucket.rate * pace * self._share(bucket.name))
        due = max(opens, line.end + apart_s)
        return due if due <= opens + line.longest_s else opens + min(apart_s, line.longest_s)

    def _learn(self, bucket: BucketKey, line: _Line, now: float) -> None:
        """Whoever was denied a token came too early: so much is granted here, and no more. Where
        hardly any are, those in line may come sooner."""
        passed_s, asked = now - line.since, line.granted + line.denied
        least_s, tokens = _MEASURED
        if passed_s < max(least_s, tokens / bucket.rate) or asked < _FEW:
            return
        share = self._share(bucket.name)
        if line.denied * 5 <= asked:
            share *= 1.25
        else:
            share = (share + line.granted / (bucket.rate * line.pace * passed_s)) / 2
        self._shares[_source(bucket.name)] = min(1.0, max(_LEAST_SHARE, share))
        line.since, line.granted, line.denied = now, 0, 0

    def _share(self, name: str) -> float:
        return self._shares.get(_source(name), 1.0)

    def _line(self, name: str, now: float) -> _Line:
        if name not in self._lines:
            if len(self._lines) >= _MAX_LINES:
                kept = {other: line for other, line in self._lines.items() if line.end > now}
                self._lines = kept
            self._lines[name] = _Line(since=now)
        return self._lines[name]

    def _look(self, name: str) -> None:
        """Hear of the pace now and then; outside the lock, since a server may have to answer."""
        with self._lock:
            now = self.clock.monotonic()
            line = self._line(name, now)
            if now - line.looked_at < _LOOK_S:
                return
            line.looked_at = now
        pace = self.pace(name)
        with self._lock:
            line.learn_pace(pace)


def pace_by(budget: Budget) -> Callable[[str], float]:
    """A bucket's pace as the budget's storage has it."""

    def pace(bucket: str) -> float:
        try:
            standing = budget.standing(bucket)
        except SharedStateDown:
            return 1.0  # then nothing is granted to anybody; soon it is asked again
        return standing.pace if standing is not None else 1.0

    return pace


def _source(bucket: str) -> str:
    return bucket.partition("/")[0]
