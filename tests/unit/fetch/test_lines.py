"""Tasks of a host that keeps them waiting come back one after the other."""

from __future__ import annotations

import pytest

from core.fetch import lines
from core.fetch.lines import LONGEST_S, Lines
from core.ports import BucketKey
from tests.support.clock import FakeClock

HOST = BucketKey("list/cdn.example", rate=2.0, burst=1)


def test_those_who_wait_stand_in_line_at_the_hosts_rate() -> None:
    line = Lines(FakeClock())

    assert [line.delay_s(HOST, 6.0) for _ in range(4)] == [6.0, 6.5, 7.0, 7.5]


def test_nobody_waits_for_a_line_that_has_gone() -> None:
    clock = FakeClock()
    line = Lines(clock)
    line.delay_s(HOST, 6.0)
    clock.advance(10.0)

    assert line.delay_s(HOST, 6.0) == 6.0


def test_hosts_have_lines_of_their_own() -> None:
    line = Lines(FakeClock())
    line.delay_s(HOST, 6.0)

    assert line.delay_s(BucketKey("list/other.example", 2.0, 1), 6.0) == 6.0


def test_no_line_reaches_too_far_but_a_longer_block_stands() -> None:
    line = Lines(FakeClock())
    waits = [line.delay_s(BucketKey("list/slow", 0.01, 1), 6.0) for _ in range(60)]

    assert max(waits) == LONGEST_S
    assert line.delay_s(HOST, 86_400.0) == 86_400.0


def test_lines_that_have_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_LINES", 3)
    clock = FakeClock()
    line = Lines(clock)
    for number in range(20):
        line.delay_s(BucketKey(f"list/{number}", 2.0, 1), 6.0)
        clock.advance(10.0)

    assert len(line._ends) <= 3
