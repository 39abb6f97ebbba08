"""The one promise and every wait, on a server whose clock is set: the processes' own clocks go on,
and in no window on those are there more grants than the budget has."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings

from core.budget.redis import RedisBucketStorage
from core.ports import BucketKey, Denied, Granted, Reserved
from tests.support.budget_crowd import ACTIONS, HORIZON_S, RARE, Crowd, Step, play, steps, terms
from tests.support.budget_world import ServerClock
from tests.support.clock import FakeClock
from tests.support.redis import GivenTimeServer, flush

NOISE = 1e-4  # what doubles lose over an example
LONGEST_BACKOFF_S = 300.0
BACK = ("set_back", "set_a_little_back", "look", "tell")
GREEDY = (*ACTIONS, *["drain"] * 6)
calm = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass
class SetCrowd(Crowd):
    """Processes at a server whose clock is set, and the longest waits that they are told."""

    server: ServerClock = field(kw_only=True)
    longest_s: float = 0.0  # for a ticket
    longest_block_s: float = 0.0

    def drain(self, process: int) -> None:
        for _ in range(self.most):
            self.take(process)

    def set_back(self, hours: int) -> None:
        self.server.ahead_s -= 3600.0 * (1 + hours)

    def set_a_little_back(self, tenths: int) -> None:
        self.server.ahead_s -= tenths / 10

    def set_forth(self, seconds: int) -> None:
        """No server can tell this from a rest: it earns as much."""
        since, total = self.earned[-1]
        self.server.ahead_s += seconds
        self.clock.advance(1e-3)  # so that no two moments of the account are one
        passed_s = self.clock.now() - since + seconds
        self.earned.append((self.clock.now(), total + passed_s * self.fastest))

    def look(self, process: int) -> None:
        self._wait_out(self.budgets[process % 3].blocked_for(self.terms.name))

    def tell(self, process: int) -> None:
        self.budgets[process % 3].retell()

    def _wait_out(self, blocked_s: float) -> None:
        self.longest_block_s = max(self.longest_block_s, blocked_s)

    def _note(self, answer: Granted | Reserved | Denied) -> None:
        super()._note(answer)
        match answer:
            case Reserved(wait_s=wait_s):
                self.longest_s = max(self.longest_s, wait_s)
            case Denied(wait_s=wait_s, blocked=True):
                self._wait_out(wait_s)
            case _:
                pass


def set_crowd(terms: BucketKey, url: str) -> SetCrowd:
    flush(url)
    clock = FakeClock(start=1e9)
    server = ServerClock(clock)
    storage = RedisBucketStorage(url, GivenTimeServer(url, server))
    crowd = SetCrowd(
        clock, storage, lambda: flush(url), lambda: None, lambda: flush(url), terms, server=server
    )
    crowd.take(0)
    crowd.wait(600)
    return crowd


@pytest.mark.redis
@given(terms, steps((*GREEDY, *RARE, *BACK), 60))
@calm
def test_a_clock_that_is_set_back_grants_nothing(
    redis_url: str, terms: BucketKey, script: list[Step]
) -> None:
    crowd = set_crowd(terms, redis_url)
    play(crowd, script)

    assert crowd.overrun() <= NOISE


@pytest.mark.redis
@given(terms, steps((*GREEDY, *RARE, *BACK, "set_forth"), 60))
@calm
def test_a_clock_that_is_set_back_and_forth_grants_what_it_went_forth(
    redis_url: str, terms: BucketKey, script: list[Step]
) -> None:
    crowd = set_crowd(terms, redis_url)
    play(crowd, script)

    assert crowd.overrun() <= NOISE


@pytest.mark.redis
@given(terms, steps((*ACTIONS, *BACK, "set_forth"), 60))
@calm
def test_nobody_is_told_to_wait_longer_for_a_clock_that_is_set(
    redis_url: str, terms: BucketKey, script: list[Step]
) -> None:
    crowd = set_crowd(terms, redis_url)
    play(crowd, script)

    # Those that are late together wait for each other's tokens.
    assert crowd.longest_s <= HORIZON_S + (1 + terms.burst) / terms.rate


@pytest.mark.redis
@given(terms, steps(("take", "take", "refuse", "refuse", "wait", "lose", *BACK, "set_forth"), 40))
@calm
def test_no_block_grows_with_a_clock_that_is_set(
    redis_url: str, terms: BucketKey, script: list[Step]
) -> None:
    crowd = set_crowd(terms, redis_url)
    play(crowd, [("take", 1), ("refuse", 5), *script])

    assert crowd.longest_block_s <= LONGEST_BACKOFF_S
