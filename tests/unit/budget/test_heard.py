"""What a process keeps in mind of slowdowns."""

from __future__ import annotations

from core.budget.answer import Slowed
from core.budget.heard import Heard
from tests.support.clock import FakeClock

OLDER = Slowed(10, 20, 0.5, 1, outage=False)
NEWER = Slowed(30, 40, 0.25, 2, outage=False)
CLIMBED = Slowed(30, 40, 1.0, 0, outage=False)


def test_nothing_was_heard_at_first() -> None:
    assert Heard(FakeClock()).of("slow") is None


def test_the_newer_slowdown_counts() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", OLDER, rest_us=1)
    heard.learn("slow", NEWER, rest_us=1)

    assert heard.of("slow") == NEWER


def test_an_answer_that_was_overtaken_changes_nothing() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", NEWER, rest_us=1)
    heard.learn("slow", OLDER, rest_us=1)

    assert heard.of("slow") == NEWER


def test_what_climbed_back_is_forgotten() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", NEWER, rest_us=1)
    heard.learn("slow", CLIMBED, rest_us=0)

    assert not heard


def test_a_block_is_kept_though_the_pace_climbed_back() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", CLIMBED, rest_us=1)

    assert heard.of("slow") == CLIMBED


def test_what_is_known_has_a_name_and_a_time() -> None:
    clock = FakeClock()
    heard = Heard(clock)
    heard.learn("slow", OLDER, rest_us=0)
    heard.learn("blocked", NEWER, rest_us=7_200_000_000)
    before = heard.known()
    clock.advance(3600.0)

    assert before == {"slow": OLDER, "blocked": NEWER}
    assert heard.known() == {"blocked": NEWER}


def test_a_block_longer_than_an_hour_is_kept_to_its_end_and_an_hour() -> None:
    clock = FakeClock()
    heard = Heard(clock)
    heard.learn("slow", OLDER, rest_us=86_400_000_000)
    clock.advance(86_400.0 + 3599.0)
    until = heard.of("slow")
    clock.advance(1.0)

    assert (until, heard.of("slow")) == (OLDER, None)


def test_a_block_that_is_over_is_forgotten_where_the_pace_had_climbed_back() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", CLIMBED, rest_us=1)
    heard.learn("slow", CLIMBED, rest_us=0)

    assert not heard
