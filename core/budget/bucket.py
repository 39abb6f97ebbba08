"""One token bucket in this process's memory: the same arithmetic as bucket.lua, which says it for
Redis. Whoever changes one changes the other; one contract suite holds both."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from core.budget.answer import SECOND_US
from core.ports import BucketKey

EPSILON = 1e-6  # tokens: more than arithmetic in doubles loses, less than anyone can spend
GRACE_US = 5 * SECOND_US  # a ticket's life after its time: a worker later than that is dead
PATIENCE_US = 3 * SECOND_US  # its life after a time that it was put off to
KEPT_US = 60 * SECOND_US  # a bucket's life after it is full again
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
    tickets: dict[str, int] = field(default_factory=dict)  # ticket -> its place: when it was due

    def advance(self, now: int, terms: BucketKey, known_block: int) -> None:
        """Bring it to `now` at the rate that held until now, then put it on new terms."""
        elapsed = max(0, now - self.at)
        filled = min(self.burst, self.tokens + elapsed * self.rate / SECOND_US)
        self.at, self.rate, self.burst = now, terms.rate, terms.burst
        self.tokens = min(filled, terms.burst)
        self.close_until(known_block)
        for ticket in [t for t, due in self.tickets.items() if due <= now - GRACE_US]:
            del self.tickets[ticket]

    def close_until(self, until: int) -> None:
        """Grant nothing until then; whoever was promised a token asks anew. A longer block
        stands."""
        if until > self.blocked_until:
            self.blocked_until = until
            self.tickets.clear()

    def wait_us(self, cost: int, ahead: int) -> int:
        """Until `cost` tokens are there besides one for each of `ahead`; 0: now."""
        missing = ahead + cost - self.tokens
        if missing <= EPSILON:
            return 0
        return max(1, math.ceil(missing / self.rate * SECOND_US))

    def ahead_of(self, ticket: str) -> int:
        """How many tickets are due before this one."""
        mine = (self.tickets[ticket], ticket)
        return sum((due, other) < mine for other, due in self.tickets.items())

    def put_off(self, ticket: str, until: int) -> None:
        """Its token is not there yet. It keeps its place, unless it would not live that long."""
        self.tickets[ticket] = max(self.tickets[ticket], until + PATIENCE_US - GRACE_US)

    def full_in_us(self) -> int:
        """Until it holds its burst."""
        return math.ceil(max(0.0, self.burst - self.tokens) / self.rate * SECOND_US)

    def expires_at(self) -> int:
        """From when it may be forgotten: it is full again, open, and nobody holds a ticket."""
        fill_us = self.burst / self.rate * SECOND_US if self.rate else 0.0
        busy_us = max(fill_us, self.blocked_until - self.at)
        return self.at + int(min(busy_us + KEPT_US, LONGEST_US))
