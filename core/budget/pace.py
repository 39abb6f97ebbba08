"""How a bucket in memory is slowed down and climbs back: the same arithmetic as pace.lua and
slow.lua. Knows nothing of tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from core.budget.answer import SECOND_US, Slowed

FLOOR = 1 / 64  # a source that never stops refusing is still asked now and then
STEP = 1 / 8
WINDOW_US = 30 * SECOND_US  # without a slowdown it is clean, and the pace climbs a step
NAMED_US = 1 * SECOND_US  # the first backoff beside a time that the source named,
UNNAMED_US = 30 * SECOND_US  # without one,
FAULTS_US = 5 * SECOND_US  # and after failures
LONGEST_US = 300 * SECOND_US
FORGOTTEN_US = 60 * SECOND_US  # failures that take longer to be enough have nothing in common
_DOUBLINGS = 20


@dataclass(slots=True)
class Pace:
    """A new one changes nothing."""

    era: int = 0  # when it was slowed down last; 0: never
    value: float = 1.0  # share of the bucket's rate that is granted
    row: int = 0  # slowdowns without a clean window between them
    window_at: int = 0
    window_used: bool = False  # something was granted since
    outage: bool = False  # the last slowdown came of failures, and nothing was answered since
    opened: int = 0  # the era in which a person ended a block: none of an earlier one counts
    slowdowns: int = 0
    failing: list[str] = field(default_factory=list)  # tasks
    failing_at: int = 0  # the first of them

    @property
    def is_slow(self) -> bool:
        """Whether there is something to climb back from."""
        return self.value < 1.0 or self.row > 0

    def climb(self, now: int, blocked_until: int) -> None:
        """A step up for a clean window, unless nothing was granted in it: it proves nothing. Nor
        does a grant that is yet to be answered, after an outage."""
        if self.outage or not self.is_slow:
            return
        if now < max(self.window_at, blocked_until) + WINDOW_US:
            return
        if self.window_used:
            self.value, self.row = min(1.0, self.value + STEP), 0
        self.begin_window(now)

    def begin_window(self, now: int) -> None:
        """What was granted so far counts for nothing."""
        self.window_at, self.window_used = now, False

    def backoff_us(self, first_us: int, jitter: float) -> int:
        """How long the next slowdown lasts at least: twice as long with each in a row."""
        whole_us = min(LONGEST_US, first_us << min(self.row, _DOUBLINGS))
        return math.ceil(whole_us * jitter)

    def halve(self, now: int, blocked_until: int, *, outage: bool) -> None:
        """A slowdown, of which a block until then is a part."""
        self.era = max(now, self.era + 1)  # a clock set back must not make two of one
        self.value, self.row = max(FLOOR, self.value / 2), self.row + 1
        self.begin_window(blocked_until)
        self.outage = outage
        self.failing.clear()
        self.slowdowns += 1

    def fails(self, task: str, now: int) -> int:
        """One more failure; how many distinct tasks fail just now."""
        if not self.failing or now - self.failing_at > FORGOTTEN_US:
            self.failing, self.failing_at = [], now
        if task not in self.failing:
            self.failing.append(task)
        return len(self.failing)

    def answered(self, now: int) -> None:
        """The source is alive: failures are forgotten, and it may climb from now on."""
        self.failing.clear()
        if self.outage:
            self.outage = False
            self.begin_window(now)

    def recall(self, heard: Slowed, now: int) -> bool:
        """Take over what a process has heard, if this storage has lost it; whether it had."""
        if heard.era <= self.era:
            return False
        self.era, self.value, self.row = heard.era, heard.pace, heard.row
        self.outage, self.opened = heard.outage, max(self.opened, heard.opened)
        self.begin_window(now)
        return True

    def open(self, now: int) -> None:
        """A person ended the block. It has a new name since: what is told of the old one is known
        to be over."""
        self.era = self.opened = max(now, self.era + 1)
        self.begin_window(now)
