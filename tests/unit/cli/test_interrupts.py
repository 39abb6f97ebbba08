import os
import signal
import threading

import pytest

from core.cli.interrupts import EXIT_INTERRUPTED, Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_the_run_to_end(number: signal.Signals):
    stop = threading.Event()
    with Interrupts(stop) as interrupts:
        signal.raise_signal(number)

    assert stop.is_set()
    assert interrupts.came


def test_the_second_signal_ends_at_once(monkeypatch: pytest.MonkeyPatch):
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    with Interrupts(threading.Event()):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)

    assert ended == [EXIT_INTERRUPTED]


def test_afterwards_signals_mean_what_they_meant_before():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts(threading.Event()):
        pass

    assert signal.getsignal(signal.SIGINT) is before
