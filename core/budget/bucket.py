"""One token bucket in this process's memory: the same arithmetic as bucket.lua, which says it for
Redis. Whoever changes one changes the other; one contract suite holds both."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from core.budget.answer import SECOND_US, Slowed
from core.budget.pace import Pace
from core.budget.usage import Usage
from core.ports import BucketKey

EPSILON = 1e-6  # tokens: more than arithmetic in doubles loses, less than anyone can spend
GRACE_US = 5 * SECOND_US  # a ticket's life after its time: a worker later than that is dead
PATIENCE_US = 3 * SECOND_US  # its life after a time that it was put off to
KEPT_US = 60 * SECOND_US  # a bucket's life after it is full again,
KEPT_SLOWED_US = 3600 * SECOND_US  # and that of one which was slowed down
LONGEST_US = 366 * 86_400 * SECOND_US


@dataclass(slots=True)
class Bucket:
    """Tokens held, and tickets for tokens to come. Held tokens alone allow a grant, so no lateness
    of whoever holds a ticket can add to burst + rate * time."""

    at: int  # when `tokens` was true
    rate: float = 0.0
    burst: int = 0
    tokens: float = 0.0  # a new bucket is empty: the old one's tokens may have been spent already
    blocked_until: int = 0
    refill: float = 0.0  # tokens a second: the rate at its pace
    tickets: dict[str, int] = field(default_factory=dict)  # ticket -> its place: when it was due
    pace: Pace = field(default_factory=Pace)
    usage: Usage = field(default_factory=Usage)

    def advance(self, now: int, terms: BucketKey, heard: Slowed | None) -> None:
        """Bring it to `now` at the refill that held until now, then put it on new terms."""
        elapsed = max(0, now - max(self.at, self.blocked_until))  # nothing fills during a block
        filled = min(self.burst, self.tokens + elapsed * self.refill / SECOND_US)
        self.at, self.rate, self.burst = now, terms.rate, terms.burst
        self.tokens = min(filled, terms.burst)
        if heard:
            self.recall(heard, now)
        if self.pace.era:
            self.pace.climb(now, self.blocked_until)
        self.refill = terms.rate * self.pace.value
        for ticket in [t for t, due in self.tickets.items() if due <= now - GRACE_US]:
            del self.tickets[ticket]

    def recall(self, heard: Slowed, now: int) -> None:
        """Put back what a process has heard of a slowdown, where this storage has lost it."""
        if self.pace.era < heard.opened:
            self.blocked_until = min(self.blocked_until, now)
        if self.pace.recall(heard, now):
            self.tokens, self.refill = 0.0, self.rate * self.pace.value
        if heard.until_us > now and heard.era >= self.pace.opened:
            self.close_until(heard.until_us)

    def unblock(self, now: int) -> None:
        """A person ends its block. It fills from now on, at the pace that it has."""
        self.blocked_until, self.tokens = now, 0.0
        self.pace.open(now)

    def close_until(self, until: int) -> bool:
        """Grant nothing until then; whoever was promised a token asks anew. A longer block
        stands: False."""
        if until <= self.blocked_until:
            return False
        self.blocked_until = until
        self.tickets.clear()
        return True

    def slow_down(self, now: int, until: int, *, outage: bool) -> None:
        """Close it at least until then. It opens empty, at half its pace."""
        self.close_until(until)
        self.tokens = 0.0
        self.pace.halve(now, self.blocked_until, outage=outage)
        self.refill = self.rate * self.pace.value

    def charge(self, cost: int, ticket: str) -> None:
        """Pay for a request; its ticket, if it had one, is spent."""
        self.tokens -= cost
        self.tickets.pop(ticket, None)
        self.pace.window_used = True

    def wait_us(self, cost: int, ahead: int) -> int:
        """Until `cost` tokens are there besides one for each of `ahead`; 0: now."""
        missing = ahead + cost - self.tokens
        if missing <= EPSILON:
            return 0
        return max(1, math.ceil(missing / self.refill * SECOND_US))

    def ahead_of(self, ticket: str) -> int:
        """How many tickets are due before this one."""
        mine = (self.tickets[ticket], ticket)
        return sum((due, other) < mine for other, due in self.tickets.items())

    def put_off(self, ticket: str, until: int) -> None:
        """Its token is not there yet. It keeps its place, unless it would not live that long."""
        self.tickets[ticket] = max(self.tickets[ticket], until + PATIENCE_US - GRACE_US)

    def full_in_us(self) -> int:
        """Until it holds its burst."""
        filling = math.ceil(max(0.0, self.burst - self.tokens) / self.refill * SECOND_US)
        return max(0, self.blocked_until - self.at) + filling

    def slowed(self) -> Slowed:
        """How it stands, for a process to keep in mind."""
        pace = self.pace
        return Slowed(pace.era, self.blocked_until, pace.value, pace.row, pace.outage, pace.opened)

    def expires_at(self) -> int:
        """From when it may be forgotten: it is full again, open, and nobody holds a ticket."""
        fill_us = self.burst / self.refill * SECOND_US if self.refill else 0.0
        busy_us = max(fill_us, self.blocked_until - self.at)
        kept_us = KEPT_SLOWED_US if self.pace.era else KEPT_US
        return self.at + int(min(busy_us + kept_us, LONGEST_US))
