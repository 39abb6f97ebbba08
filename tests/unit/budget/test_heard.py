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
    heard.learn("slow", OLDER, blocked=True)
    heard.learn("slow", NEWER, blocked=True)

    assert heard.of("slow") == NEWER


def test_an_answer_that_was_overtaken_changes_nothing() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", NEWER, blocked=True)
    heard.learn("slow", OLDER, blocked=True)

    assert heard.of("slow") == NEWER


def test_what_climbed_back_is_forgotten() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", NEWER, blocked=True)
    heard.learn("slow", CLIMBED, blocked=False)

    assert not heard


def test_a_block_is_kept_though_the_pace_climbed_back() -> None:
    heard = Heard(FakeClock())
    heard.learn("slow", CLIMBED, blocked=True)

    assert heard.of("slow") == CLIMBED
