"""However refusals, failures and answers interleave: one slowdown an event, a pace between its
floor and the whole, a way back, and no way around it by a flush."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.budget.pace import FLOOR
from core.ports import BucketKey, Denied, Granted
from tests.support.budget_crowd import (
    ACTIONS,
    TROUBLE,
    Crowd,
    Step,
    memory_crowd,
    play,
    redis_crowd,
    steps,
    terms,
)

WIDE = BucketKey("weibo", rate=20.0, burst=64)
# Long enough for blocks to end and windows to close between the answers.
PAUSES = ("wait", "pause")
answers = st.lists(
    st.tuples(st.sampled_from((*TROUBLE, "refuse", "wait", "pause")), st.integers(0, 60)),
    min_size=64,
    max_size=120,
)


def pause(crowd: Crowd, seconds: int) -> None:
    crowd.clock.advance(float(seconds))


def play_on(crowd: Crowd, script: list[Step]) -> None:
    """As `play`, with pauses of many seconds."""
    for name, number in script:
        if name == "pause":
            pause(crowd, number)
        else:
            play(crowd, [(name, number)])


def launch(crowd: Crowd) -> None:
    """64 requests under way."""
    crowd.take(0)
    crowd.clock.advance(60.0)
    for number in range(64):
        crowd.take(number)
    assert len(crowd.under_way) == 64


def check_one_halving(crowd: Crowd, script: list[Step]) -> None:
    launch(crowd)
    play_on(crowd, script)

    assert sum(slowdown.is_news for _, slowdown in crowd.told) <= 1
    assert crowd.pace() == (0.5 if any(told.is_news for _, told in crowd.told) else 1.0)


@given(answers)
def test_answers_to_what_was_under_way_halve_once(script: list[Step]) -> None:
    check_one_halving(memory_crowd(WIDE), script)


@pytest.mark.redis
@given(answers)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_answers_to_what_was_under_way_halve_once_in_redis(
    redis_url: str, script: list[Step]
) -> None:
    check_one_halving(redis_crowd(WIDE, redis_url), script)


@given(terms, steps((*ACTIONS, *TROUBLE, *PAUSES), 150))
@settings(max_examples=150)
def test_an_era_brings_one_event_at_most(terms: BucketKey, script: list[Step]) -> None:
    crowd = memory_crowd(terms)
    crowd.take(0)
    crowd.clock.advance(60.0)
    play_on(crowd, script)

    news = [era for era, slowdown in crowd.told if slowdown.is_news]
    assert len(news) == len(set(news))


@given(terms, steps((*ACTIONS, *TROUBLE, *PAUSES), 150))
def test_only_news_changes_the_pace_downwards(terms: BucketKey, script: list[Step]) -> None:
    crowd = memory_crowd(terms)
    crowd.take(0)
    crowd.clock.advance(60.0)
    for step in script:
        before, events = crowd.pace(), len(crowd.told)
        play_on(crowd, [step])
        if any(slowdown.is_news for _, slowdown in crowd.told[events:]):
            assert crowd.pace() == max(FLOOR, before / 2)
        else:
            assert crowd.pace() >= before


@given(terms, steps((*ACTIONS, *TROUBLE, *PAUSES, "lose", "change"), 150))
def test_the_pace_stays_between_its_floor_and_the_whole(
    terms: BucketKey, script: list[Step]
) -> None:
    crowd = memory_crowd(terms)
    crowd.take(0)
    crowd.clock.advance(60.0)
    for step in script:
        play_on(crowd, [step])

        assert FLOOR <= crowd.pace() <= 1.0


def climb_back(crowd: Crowd) -> None:
    """The source answers whatever it is asked, for as long as the way back may take."""
    slowest_s = 1 / (crowd.terms.rate * FLOOR)
    for budget in crowd.budgets:
        budget.answered(crowd.terms.name)
    crowd.clock.advance(300.0)
    for _ in range(20):
        crowd.clock.advance(31.0 + slowest_s)
        crowd.budgets[0].take([crowd.terms], horizon_s=0.0)


@given(terms, steps((*ACTIONS, *TROUBLE, *PAUSES, "lose"), 80))
def test_whatever_happened_it_climbs_back_to_the_whole(
    terms: BucketKey, script: list[Step]
) -> None:
    crowd = memory_crowd(terms)
    crowd.take(0)
    play_on(crowd, script)
    climb_back(crowd)

    assert crowd.pace() == 1.0


@given(terms, steps((*ACTIONS, *TROUBLE, *PAUSES), 80), st.integers(0, 400))
def test_a_flush_lets_no_source_off(terms: BucketKey, script: list[Step], tenths: int) -> None:
    crowd = memory_crowd(terms)
    crowd.take(0)
    crowd.clock.advance(60.0)
    play_on(crowd, script)
    crowd.take(0)  # it hears how the bucket stands
    before = crowd.standing()
    assert before is not None
    crowd.flush()
    crowd.clock.advance(tenths / 10)

    crowd.take(1)
    crowd.take(0)
    after = crowd.budgets[2].standing(terms.name)

    assert after is not None
    assert after.pace <= before.pace
    assert after.blocked_s >= before.blocked_s - tenths / 10 - 1e-6


@given(terms, steps((*ACTIONS, *TROUBLE, *PAUSES), 80))
def test_a_block_is_kept_to_whoever_asks(terms: BucketKey, script: list[Step]) -> None:
    crowd = memory_crowd(terms)
    crowd.take(0)
    crowd.clock.advance(60.0)
    for step in script:
        blocked_s = max((budget.blocked_for(terms.name) for budget in crowd.budgets), default=0.0)
        before = len(crowd.grants)
        began = crowd.clock.now()
        play_on(crowd, [step])

        if blocked_s > crowd.clock.now() - began:
            assert len(crowd.grants) == before
            assert isinstance(crowd.budgets[0].take([terms], horizon_s=600.0), Denied)


@given(st.integers(1, 63))
def test_a_source_is_slowed_by_its_own_refusals_only(count: int) -> None:
    crowd = memory_crowd(WIDE)
    launch(crowd)
    other = BucketKey("other", rate=20.0, burst=64)
    crowd.budgets[0].take([other], horizon_s=0.0)
    crowd.clock.advance(5.0)
    for _ in range(count):
        crowd.refuse(3)

    assert isinstance(crowd.budgets[0].take([other], horizon_s=0.0), Granted)
