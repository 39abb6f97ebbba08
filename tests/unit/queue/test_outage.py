"""The shared state is away, and asked for until it is back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from core.clock import SystemClock
from core.errors import SharedStateDown
from core.queue import outage as outage_module
from core.queue.outage import Outage
from core.queue.turns import Turns
from tests.support.queue import a_delivery, eventually
from tests.support.tasks import an_image_task
from tests.support.threads import Threads


class Away:
    """A process whose shared state is away until the test says otherwise."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.turns = Turns({"a": 1}, self.clock)
        self.turns.add(a_delivery(an_image_task(source="a")))
        self.stop = threading.Event()
        self.woken = threading.Event()
        self.back = threading.Event()
        self.asked = 0
        self._threads = Threads()
        self.outage = Outage(self.turns, self._ask, self.woken.set, self.stop, self.clock)

    def _ask(self) -> None:
        self.asked += 1
        if not self.back.is_set():
            raise SharedStateDown("no Redis")

    def threads(self) -> int:
        return self._threads.count("headrace-outage")


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Iterator[Away]:
    monkeypatch.setattr(outage_module, "ASKED_EVERY_S", 0.01)
    away = Away()
    yield away
    away.stop.set()
    eventually(lambda: away.threads() == 0, "nobody asks any more")


def test_nothing_is_handed_on_while_it_is_away(away: Away) -> None:
    away.outage.begin()
    eventually(lambda: away.asked > 2, "it is asked for")

    assert away.turns.next() is None
    assert away.turns.open_lanes(["a.image"]) == set()


def test_once_it_answers_work_goes_on_by_itself(away: Away) -> None:
    away.outage.begin()
    away.back.set()
    eventually(away.woken.is_set, "the consumer is woken")

    assert away.turns.next() is not None


def test_nothing_is_handed_on_before_what_could_not_be_told_is_told(away: Away) -> None:
    """Leases that were given up meanwhile are released first, or each would count as a crash."""
    handed_on: list[object] = []
    away.outage._ask = lambda: handed_on.append(away.turns.next())
    away.outage.begin()
    eventually(away.woken.is_set, "it goes on")

    assert handed_on == [None]
    assert away.turns.next() is not None


def test_it_says_whether_it_lasts(away: Away) -> None:
    before = away.outage.lasts
    away.outage.begin()
    during = away.outage.lasts
    away.back.set()
    eventually(away.woken.is_set, "it goes on")

    assert (before, during, away.outage.lasts) == (False, True, False)


def test_however_many_runs_find_out_one_thread_asks(away: Away) -> None:
    for _ in range(5):
        away.outage.begin()

    assert away.threads() == 1


def test_a_second_outage_is_noticed_as_the_first(away: Away) -> None:
    for _ in range(2):
        away.back.clear()
        away.woken.clear()
        away.outage.begin()
        closed = away.turns.open_lanes(["a.image"])
        away.back.set()
        eventually(away.woken.is_set, "it goes on")

        assert closed == set()


def test_both_ends_of_it_are_a_line_each(away: Away, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "core.queue.outage")
    away.outage.begin()
    away.outage.begin()
    away.back.set()
    eventually(away.woken.is_set, "it goes on")

    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_process_that_ends_asks_no_more(away: Away) -> None:
    away.outage.begin()
    away.stop.set()

    eventually(lambda: away.threads() == 0, "its thread ends")
