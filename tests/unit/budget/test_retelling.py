"""The thread that tells what is known: it runs while anything is, and no longer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.budget import retelling as retelling_module
from core.budget.retelling import Retelling
from core.clock import SystemClock
from core.errors import SharedStateDown
from tests.support.queue import eventually
from tests.support.threads import Threads


class Knowing:
    """A process that knows of a slowdown until the test says otherwise."""

    def __init__(self) -> None:
        self.knows = True
        self.told = 0
        self.away = False
        self._threads = Threads()
        self.retelling = Retelling(self._tell, lambda: self.knows, SystemClock())

    def _tell(self) -> None:
        self.told += 1
        if self.away:
            raise SharedStateDown("no Redis")

    def threads(self) -> int:
        return self._threads.count("headrace-retelling")


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Knowing]:
    monkeypatch.setattr(retelling_module, "TOLD_EVERY_S", 0.01)
    knowing = Knowing()
    yield knowing
    knowing.retelling.close()


def test_a_process_that_knows_of_nothing_has_no_thread(knowing: Knowing) -> None:
    assert knowing.threads() == 0


def test_what_is_known_is_told_again_and_again(knowing: Knowing) -> None:
    knowing.retelling.begin()

    eventually(lambda: knowing.told > 3, "it is told")


def test_however_much_is_learned_one_thread_tells(knowing: Knowing) -> None:
    for _ in range(20):
        knowing.retelling.begin()

    assert knowing.threads() == 1


def test_once_nothing_is_known_the_thread_ends(knowing: Knowing) -> None:
    knowing.retelling.begin()
    knowing.knows = False

    eventually(lambda: knowing.threads() == 0, "it ends")


def test_what_is_learned_later_is_told_too(knowing: Knowing) -> None:
    knowing.retelling.begin()
    knowing.knows = False
    eventually(lambda: knowing.threads() == 0, "it ends")
    knowing.knows, before = True, knowing.told
    knowing.retelling.begin()

    eventually(lambda: knowing.told > before + 1, "it is told")


def test_a_storage_that_is_away_is_told_when_it_is_back(knowing: Knowing) -> None:
    knowing.away = True
    knowing.retelling.begin()
    eventually(lambda: knowing.told > 2, "it is tried")

    assert knowing.threads() == 1


def test_after_close_nothing_is_told(knowing: Knowing) -> None:
    knowing.retelling.begin()
    knowing.retelling.close()
    knowing.retelling.begin()

    assert knowing.threads() == 0
