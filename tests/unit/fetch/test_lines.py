"""Tasks of a host that keeps them waiting come back one after the other."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from core.budget.budget import TokenBudget
from core.errors import SharedStateDown
from core.fetch import lines
from core.fetch.lines import CLIMB_S, LONGEST_S, LOOKED_AT_S, Lines, pace_by
from core.ports import BucketKey, Denied, Granted, Reserved, Standing
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock

HOST = BucketKey("list/cdn.example", rate=2.0, burst=1)


def test_those_who_wait_stand_in_line_at_the_hosts_rate() -> None:
    line = Lines(FakeClock())

    assert [line.delay_s(HOST, 6.0) for _ in range(4)] == [6.0, 6.5, 7.0, 7.5]


def test_nobody_waits_for_a_line_that_has_gone() -> None:
    clock = FakeClock()
    line = Lines(clock)
    line.delay_s(HOST, 6.0)
    clock.advance(10.0)

    assert line.delay_s(HOST, 6.0) == 6.0


def test_hosts_have_lines_of_their_own() -> None:
    line = Lines(FakeClock())
    line.delay_s(HOST, 6.0)

    assert line.delay_s(BucketKey("list/other.example", 2.0, 1), 6.0) == 6.0


def test_no_line_reaches_too_far() -> None:
    line = Lines(FakeClock())
    waits = [line.delay_s(BucketKey("list/slow", 0.01, 1), 6.0) for _ in range(60)]

    assert max(waits) <= LONGEST_S + 6.0


def test_behind_a_block_they_stand_in_line_too() -> None:
    line = Lines(FakeClock())
    waits = [line.delay_s(HOST, 600.0, blocked=True) for _ in range(4)]

    assert waits == [600.0, 600.5, 601.0, 601.5]


def test_a_block_of_a_day_is_looked_at_before_should_a_person_end_it() -> None:
    line = Lines(FakeClock())
    waits = [line.delay_s(HOST, 86_400.0, blocked=True) for _ in range(3)]

    assert waits == [LOOKED_AT_S, LOOKED_AT_S + 0.5, LOOKED_AT_S + 1.0]


def test_whoever_is_denied_once_a_person_ended_a_block_stands_behind_nobody() -> None:
    line = Lines(FakeClock())
    line.delay_s(HOST, 600.0, blocked=True)
    line.forget(HOST.name)

    assert line.delay_s(HOST, 6.0) == 6.0


def test_a_block_does_not_show_which_share_is_ours() -> None:
    clock = FakeClock()
    line = Lines(clock)
    for _ in range(100):
        line.delay_s(HOST, 60.0, blocked=True)
        clock.advance(1.0)
    clock.advance(3600.0)

    assert [line.delay_s(HOST, 6.0) for _ in range(3)] == [6.0, 6.5, 7.0]


def test_past_the_lines_longest_nobody_is_due_with_a_crowd() -> None:
    line = Lines(FakeClock())
    host = BucketKey("list/slow", 0.01, 1)
    waits = [line.delay_s(host, 6.0) for _ in range(200)]

    assert max(Counter(waits).values()) <= 200 * 100 / LONGEST_S + 1


def test_a_slowed_host_has_its_tasks_come_back_as_its_pace_is_thought_to_climb() -> None:
    line = Lines(FakeClock(), lambda _bucket: 0.25)
    waits = [line.delay_s(HOST, 0.0) for _ in range(400)]
    apart = [later - sooner for sooner, later in itertools.pairwise(waits[1:])]

    assert apart[0] == pytest.approx(2.0, rel=0.05)
    assert apart[-1] == pytest.approx(0.5)


def test_a_pace_is_asked_for_now_and_then() -> None:
    asked: list[str] = []

    def pace(bucket: str) -> float:
        asked.append(bucket)
        return 0.5

    clock = FakeClock()
    line = Lines(clock, pace)
    for _ in range(100):
        line.delay_s(HOST, 6.0)
        clock.advance(0.1)

    assert asked == [HOST.name] * 2


def test_a_budget_that_cant_be_asked_is_taken_to_be_at_full_pace() -> None:
    class Away(OpenBudget):
        def standing(self, bucket: str) -> Standing | None:
            raise SharedStateDown("no answer")

    assert pace_by(Away())("list/cdn.example") == 1.0
    assert pace_by(OpenBudget())("list/cdn.example") == 1.0


@dataclass
class Host:
    """A host of many tasks, asked by several processes as fast as its budget lets them."""

    processes: int
    rate: float
    tasks: int
    clock: FakeClock = field(default_factory=FakeClock)
    grants: int = 0
    copies: int = 0
    limit: float | None = None  # requests a second, over which the host itself refuses
    named_s: float | None = None  # for how long then, if it says so

    def __post_init__(self) -> None:
        self.budget = TokenBudget.memory(self.clock)
        self.buckets = [BucketKey(name, self.rate, 20) for name in ("list", "list/cdn.example")]
        self.budget.take(self.buckets, horizon_s=0.0)
        self.clock.advance(60.0)
        self._lines = [Lines(self.clock, pace_by(self.budget)) for _ in range(self.processes)]
        self._rng = random.Random(7)
        self._order = itertools.count()
        self._due: list[tuple[float, int, str | None]] = []
        self._allows, self._allowed_at = 5.0, self.clock.now()

    def slow(self, times: int) -> None:
        for _ in range(times):
            self.budget.throttled("list/cdn.example", era=10**18, seconds=0.0)
            self.clock.advance(0.001)

    def get_all(self) -> float:
        """Until each task was granted its request; how long that took."""
        began = self.clock.now()
        for _ in range(self.tasks):
            self._put(0.0)
        while self._due:
            due, _, ticket = heapq.heappop(self._due)
            self.clock.advance(max(0.0, due - self.clock.now()))
            self._ask(ticket)
        return self.clock.now() - began

    def _ask(self, ticket: str | None) -> None:
        budget, buckets = self.budget, self.buckets
        line = self._rng.choice(self._lines)  # whichever process it comes to
        match budget.confirm(buckets, ticket) if ticket else budget.take(buckets, horizon_s=5.0):
            case Granted(era=era):
                self.grants += 1
                line.granted(buckets[-1])
                if not self._is_allowed():
                    told = budget.throttled("list/cdn.example", era=era, seconds=self.named_s)
                    self.copies += 1
                    self._put(told.blocked_s)
            case Reserved(wait_s=wait_s, ticket=ticket):
                self._put(wait_s, ticket)
            case Denied(wait_s=wait_s, blocked=blocked):
                self.copies += 1
                self._put(line.delay_s(buckets[-1], wait_s, blocked=blocked))

    def _is_allowed(self) -> bool:
        """By the host's own count, which has nothing to do with the settings."""
        if self.limit is None:
            return True
        now = self.clock.now()
        self._allows = min(5.0, self._allows + (now - self._allowed_at) * self.limit)
        self._allowed_at = now
        if self._allows < 1:
            return False
        self._allows -= 1
        return True

    def _put(self, wait_s: float, ticket: str | None = None) -> None:
        heapq.heappush(self._due, (self.clock.now() + wait_s, next(self._order), ticket))


@pytest.mark.parametrize(("processes", "slowdowns"), [(1, 1), (4, 1), (4, 6)])
def test_tasks_of_a_slowed_host_come_back_about_once_and_no_token_lies_idle(
    processes: int, slowdowns: int
) -> None:
    host = Host(processes, rate=10.0, tasks=2000)
    host.slow(slowdowns)
    took_s = host.get_all()
    as_soon_as_it_can = 2000 / 10.0 + CLIMB_S  # the pace climbs from nearly nothing

    assert host.grants == 2000
    assert host.copies <= 2.1 * host.grants
    assert took_s < as_soon_as_it_can


@pytest.mark.parametrize("processes", [1, 4])
@pytest.mark.parametrize(
    ("limit", "named_s", "most"), [(3.0, None, 4.5), (3.0, 5.0, 3.5), (1.0, 0.0, 4.0)]
)
def test_tasks_of_a_host_that_refuses_again_and_again_seldom_come_in_vain(
    processes: int, limit: float, named_s: float | None, most: float
) -> None:
    """Its refusals halve the pace whenever it has climbed too high. Taken to climb on, such hosts
    had their tasks come five to eight times."""
    host = Host(processes, rate=10.0, tasks=2000, limit=limit, named_s=named_s)
    took_s = host.get_all()

    assert host.copies <= most * host.grants
    assert took_s < 2.2 * 2000 / limit


def test_a_host_that_refused_once_is_thought_to_climb_all_the_way() -> None:
    paces = iter([0.5, 0.625, 1.0, 1.0])
    clock = FakeClock()
    line = Lines(clock, lambda _bucket: next(paces))
    for _ in range(3):
        line.delay_s(HOST, 0.0)
        clock.advance(6.0)
    waits = [line.delay_s(HOST, 0.0) for _ in range(3)]

    assert waits == pytest.approx([0.0, 0.5, 1.0])


def test_a_host_that_refuses_again_is_thought_to_stay_below_what_it_refused() -> None:
    paces = iter([0.25, 0.5, 0.25])
    clock = FakeClock()
    line = Lines(clock, lambda _bucket: next(paces))
    for _ in range(2):
        line.delay_s(HOST, 0.0)
        clock.advance(6.0)
    waits = [line.delay_s(HOST, 0.0) for _ in range(400)]
    apart = [later - sooner for sooner, later in itertools.pairwise(waits)]

    assert min(apart) == pytest.approx(1 / (HOST.rate * 0.75 * 0.5))


def test_lines_that_have_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_LINES", 3)
    clock = FakeClock()
    line = Lines(clock)
    for number in range(20):
        line.delay_s(BucketKey(f"list/{number}", 2.0, 1), 6.0)
        clock.advance(10.0)

    assert len(line._lines) <= 3
