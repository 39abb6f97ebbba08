from __future__ import annotations

import threading
from typing import Any

import pytest

from core.errors import Released, Timeout
from core.fetch.deadline import Watch
from core.settings import FetchSettings
from tests.support.clock import FakeClock


def _watch(total_s: float = 3600.0, **settings: Any) -> tuple[Watch, FakeClock, threading.Event]:
    clock, stop = FakeClock(), threading.Event()
    watch = Watch(FetchSettings(**settings), clock, stop)
    watch.begin(total_s)
    return watch, clock, stop


def test_a_silence_shorter_than_the_idle_deadline_is_waited_out() -> None:
    watch, clock, _ = _watch()
    clock.advance(19.9)

    watch.waited()


def test_a_longer_silence_times_out() -> None:
    watch, clock, _ = _watch()
    clock.advance(20.0)

    with pytest.raises(Timeout, match="no byte for 20 s"):
        watch.waited()


def test_every_byte_starts_the_idle_deadline_anew() -> None:
    watch, clock, _ = _watch()
    for _ in range(2):
        clock.advance(15.0)
        watch.received(100_000)
    clock.advance(15.0)

    watch.waited()


def test_a_steady_drip_ends_at_the_total_deadline() -> None:
    watch, clock, _ = _watch(total_s=50.0)
    clock.advance(45.0)
    watch.received(1)
    clock.advance(5.0)

    with pytest.raises(Timeout, match="not done within 50 s"):
        watch.received(1)


def test_a_drip_under_the_minimum_rate_ends_with_its_window() -> None:
    watch, clock, _ = _watch()
    clock.advance(59.0)
    watch.received(50_000)
    clock.advance(1.0)

    with pytest.raises(Timeout, match="under the minimum") as caught:
        watch.received(1)

    assert caught.value.reason == "too_slow"


def test_a_burst_does_not_pay_for_the_next_window() -> None:
    watch, clock, _ = _watch()
    watch.received(10_000_000)
    clock.advance(60.0)
    watch.received(1)
    clock.advance(19.0)
    watch.received(1)
    clock.advance(41.0)

    with pytest.raises(Timeout, match="under the minimum"):
        watch.received(1)


def test_the_minimum_rate_is_enough() -> None:
    watch, clock, _ = _watch()
    for _ in range(20):
        clock.advance(10.0)
        watch.received(10_240)


def test_a_new_request_starts_every_deadline_anew() -> None:
    watch, clock, _ = _watch(total_s=50.0)
    clock.advance(500.0)
    watch.begin(50.0)
    clock.advance(10.0)

    watch.received(1)


def test_stopping_releases_at_the_next_look() -> None:
    watch, _, stop = _watch()
    stop.set()

    for look in (watch.waited, watch.check_stop, lambda: watch.received(1)):
        with pytest.raises(Released):
            look()


def test_a_long_step_is_handed_over_where_it_may_be() -> None:
    watch, clock, _ = _watch()
    watch.limit(3600.0, clock.monotonic() + 10.0)
    clock.advance(9.0)
    watch.received(100_000)
    clock.advance(1.0)

    with pytest.raises(Released, match="handed back"):
        watch.received(100_000)


def test_short_deadlines_are_looked_at_often_enough() -> None:
    watch, _, _ = _watch(idle_s=0.2)

    assert watch.slice_s == pytest.approx(0.1)
