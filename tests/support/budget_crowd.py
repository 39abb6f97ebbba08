"""Processes that share one bucket and do to it whatever may happen, and the account of what they
were granted: for the property suites of the budget."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from core.budget.budget import TokenBudget
from core.budget.memory import MemoryBucketStorage
from core.budget.redis import RedisBucketStorage
from core.budget.strategy import TokenBucketRateLimiter
from core.ports import BucketKey, Denied, Granted, Reserved, Slowdown, Standing
from tests.support.clock import FakeClock
from tests.support.redis import Disk, GivenTimeServer, flush

HORIZON_S = 5.0


@dataclass
class Crowd:
    """Three processes that share one storage."""

    clock: FakeClock
    storage: MemoryBucketStorage | RedisBucketStorage
    flush: Callable[[], object]
    save_all: Callable[[], object]
    restart: Callable[[], object]
    terms: BucketKey
    budgets: list[TokenBudget] = field(default_factory=list)
    tickets: list[str] = field(default_factory=list)
    grants: list[float] = field(default_factory=list)  # when
    under_way: list[int] = field(default_factory=list)  # eras of what is yet to be answered
    told: list[tuple[int, Slowdown]] = field(default_factory=list)  # era, and what came of it
    earned: list[tuple[float, float]] = field(default_factory=list)  # (when, integral of the rate)
    fastest: float = 0.0  # of the terms that processes have just now
    most: int = 0  # the largest burst so far

    def __post_init__(self) -> None:
        limiter = TokenBucketRateLimiter(self.storage, self.clock)
        self.budgets = [
            TokenBudget(limiter, self.clock, rng=random.Random(seed)) for seed in range(3)
        ]
        self.most, self.fastest = self.terms.burst, self.terms.rate
        self.earned = [(self.clock.now(), 0.0)]

    def take(self, process: int) -> None:
        self._note(self.budgets[process % 3].take([self.terms], horizon_s=HORIZON_S))

    def confirm(self, pick: int) -> None:
        """Somebody wakes, early, in time or very late."""
        if self.tickets:
            ticket = self.tickets.pop(pick % len(self.tickets))
            self._note(self.budgets[pick % 3].confirm([self.terms], ticket))

    def confirm_twice(self, pick: int) -> None:
        """Somebody wakes, and then again with the same ticket."""
        if self.tickets:
            self.tickets.append(self.tickets[pick % len(self.tickets)])
            self.confirm(pick)

    def die(self, pick: int) -> None:
        """A reserver is never heard of again."""
        if self.tickets:
            self.tickets.pop(pick % len(self.tickets))

    def wait(self, tenths: int) -> None:
        self.clock.advance(tenths / 10)
        self._earn()

    def change(self, rate: int) -> None:
        """All processes have other terms from now on; one says so by a take."""
        self._earn()
        self.terms = self._other(rate)
        self.fastest, self.most = self.terms.rate, max(self.most, self.terms.burst)
        self.take(0)

    def disagree(self, rate: int) -> None:
        """One process has other terms already, or still."""
        self._earn()
        mine, self.terms = self.terms, self._other(rate)
        self.fastest = max(self.fastest, self.terms.rate)
        self.most = max(self.most, self.terms.burst)
        self.take(rate)
        self.terms = mine

    def lose(self, _: int) -> None:
        self.flush()

    def save(self, _: int) -> None:
        self.save_all()

    def fall_back(self, _: int) -> None:
        """The storage is started again and finds what was saved last."""
        self.restart()

    def refuse(self, tenths: int) -> None:
        """One of what is under way is answered «slower», with a time or without."""
        if self.under_way:
            era = self.under_way.pop(tenths % len(self.under_way))
            seconds = tenths / 10 if tenths % 4 else None
            budget = self.budgets[tenths % 3]
            told = budget.throttled(self.terms.name, era=era, seconds=seconds)
            self.told.append((era, told))

    def fail(self, pick: int) -> None:
        """One of what is under way is never answered."""
        if self.under_way:
            era = self.under_way.pop(pick % len(self.under_way))
            budget = self.budgets[pick % 3]
            told = budget.failed(self.terms.name, era=era, task=f"task-{pick % 9}", enough=3)
            if told:
                self.told.append((era, told))

    def answer(self, pick: int) -> None:
        """One of what is under way has a good answer."""
        if self.under_way:
            self.under_way.pop(pick % len(self.under_way))
            self.budgets[pick % 3].answered(self.terms.name)

    def standing(self) -> Standing | None:
        return self.budgets[0].standing(self.terms.name)

    def pace(self) -> float:
        standing = self.standing()
        return standing.pace if standing else 1.0

    def _other(self, rate: int) -> BucketKey:
        return BucketKey(self.terms.name, (1 + rate) / 3, 1 + rate % 7)

    def _note(self, answer: Granted | Reserved | Denied) -> None:
        match answer:
            case Granted(era=era):
                self._earn()
                self.grants.append(self.clock.now())
                self.under_way.append(era)
            case Reserved(ticket=ticket):
                self.tickets.append(ticket)
            case Denied():
                pass

    def _earn(self) -> None:
        since, total = self.earned[-1]
        now = self.clock.now()
        if now > since:
            self.earned.append((now, total + (now - since) * self.fastest))

    def overrun(self) -> float:
        """By how much the worst window exceeds its bound."""
        total = dict(self.earned)
        at = [total[when] for when in self.grants]
        return max(
            (
                (j - i + 1) - self.most - (at[j] - at[i])
                for i in range(len(at))
                for j in range(i, len(at))
            ),
            default=0.0,
        )


ACTIONS = ("take", "take", "take", "confirm", "confirm", "confirm_twice", "wait", "die")
TROUBLE = ("refuse", "fail", "fail", "answer")
RARE = ("change", "disagree", "lose", *TROUBLE)
RESTARTS = ("save", "save", "fall_back")
Step = tuple[str, int]

terms = st.builds(
    BucketKey, st.just("weibo"), st.integers(1, 60).map(lambda n: n / 3), st.integers(1, 8)
)


def steps(names: Sequence[str], most: int) -> st.SearchStrategy[list[Step]]:
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 60)), max_size=most)


def play(crowd: Crowd, script: Sequence[Step]) -> None:
    for name, number in script:
        getattr(crowd, name)(number)


def memory_crowd(terms: BucketKey) -> Crowd:
    clock = FakeClock()
    storage = MemoryBucketStorage(clock)
    return Crowd(clock, storage, storage.reset, lambda: None, storage.reset, terms)


def redis_crowd(terms: BucketKey, url: str) -> Crowd:
    clock = FakeClock()
    flush(url)
    server = GivenTimeServer(url, clock)
    disk = Disk(url, server)
    storage = RedisBucketStorage(url, server)
    return Crowd(clock, storage, lambda: flush(url), disk.save, disk.restart, terms)
