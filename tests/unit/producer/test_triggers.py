from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.producer.triggers import trigger_of
from core.settings import FeedSettings

START = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday


def times(count: int, **when: object) -> list[str]:
    feed = FeedSettings(source="feed", address="https://press.example/rss", **when)
    trigger = trigger_of(feed, START)
    found, now = [], START
    for _ in range(count):
        now = trigger.get_next_fire_time(now, now + timedelta(microseconds=1))
        found.append(f"{now:%a %d %b %H:%M:%S}")
    return found


def test_an_interval_counts_from_the_last_run():
    assert times(2, every="90m") == ["Thu 01 Jan 01:30:00", "Thu 01 Jan 03:00:00"]


@pytest.mark.parametrize("sunday", ["0", "7", "sun"])
def test_sunday_is_crons_not_the_librarys(sunday):
    assert times(2, cron=f"0 6 * * {sunday}") == ["Sun 04 Jan 06:00:00", "Sun 11 Jan 06:00:00"]


def test_of_a_day_and_a_weekday_either_will_do():
    assert times(4, cron="0 6 5 * fri") == [
        "Fri 02 Jan 06:00:00",
        "Mon 05 Jan 06:00:00",
        "Fri 09 Jan 06:00:00",
        "Fri 16 Jan 06:00:00",
    ]


def test_all_five_fields_count():
    assert times(3, cron="*/30 6 1 2,3 *") == [
        "Sun 01 Feb 06:00:00",
        "Sun 01 Feb 06:30:00",
        "Sun 01 Mar 06:00:00",
    ]


@pytest.mark.parametrize("when", [{"every": "1h"}, {"cron": "0 * * * *"}, {"cron": "0 * 1 * thu"}])
def test_a_run_is_late_by_the_jitter_at_most(when):
    [first] = times(1, jitter="60s", **when)

    assert "Thu 01 Jan 01:00:00" <= first <= "Thu 01 Jan 01:01:00"
