import os
import signal
import subprocess
import sys
import threading

import pytest

from core.cli.interrupts import EXIT_INTERRUPTED, Interrupts, ending_at_ctrl_c


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


def test_ctrl_c_within_an_import_ends_without_a_word():
    code = (  # what a shell starts with & ignores it
        "import signal; from core.cli.interrupts import ending_at_ctrl_c\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with ending_at_ctrl_c(): signal.raise_signal(signal.SIGINT)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")


def test_after_an_import_ctrl_c_is_an_interrupt_again():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ending_at_ctrl_c():
            meanwhile = signal.getsignal(signal.SIGINT)
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert (meanwhile, after) == (signal.SIG_DFL, signal.default_int_handler)


def test_an_ignored_ctrl_c_stays_ignored_within_an_import():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ending_at_ctrl_c():
            meanwhile = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert meanwhile is signal.SIG_IGN
