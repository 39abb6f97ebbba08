from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.cli.standing import (
    budget_lines,
    budget_status,
    host_statuses,
    pause_status,
    purge_ahead_s,
    state,
)
from core.cli.status import of_store, told
from core.clock import SystemClock
from core.model.switch import Pause, Switch
from core.ports import Standing
from core.settings import Settings, SourceSettings
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.store import open_store

NOW = 1_000_000.0
SETTINGS = SourceSettings(rate=10.0, burst=20)
STANDING = Standing(
    rate=10.0,
    burst=20,
    pace=1.0,
    blocked_s=0.0,
    slowdowns=0,
    requests_per_s=8.0,
    waited_s=0.35,
    asked_s=0.05,
)
SLOWED = replace(STANDING, pace=0.25, blocked_s=12.0, slowdowns=2)
PAUSED = Switch(pause=Pause(reason="the cookie expired", since=NOW - 300))


def test_an_open_source_is_granted_its_whole_rate():
    status = budget_status(SETTINGS, Switch(), STANDING, NOW)

    assert (status.rate, status.allowed_per_s, status.requests_per_s) == (10.0, 10.0, 8.0)
    assert (status.blocked_s, status.blocked_until, status.switched) == (0.0, None, False)
    assert state(status, None) == "open"


def test_a_slowed_source_tells_its_share_and_until_when_it_is_blocked():
    status = budget_status(SETTINGS, Switch(), SLOWED, NOW)

    assert (status.allowed_per_s, status.slowdowns) == (2.5, 2)
    assert status.blocked_until == "1970-01-12T13:46:52Z"
    assert state(status, None) == "blocked for 12 s, slowed to 25 %"


def test_a_switched_rate_counts_before_any_request_went_out_with_it():
    status = budget_status(SETTINGS, Switch(rate=2.0), SLOWED, NOW)

    assert (status.rate, status.burst, status.allowed_per_s) == (2.0, 20, 0.5)
    assert status.switched
    assert state(status, None).endswith("rate by `headrace budget`")


def test_what_nobody_knows_is_no_figure():
    status = budget_status(None, Switch(), None, NOW)

    assert status.rate is None
    assert status.pace is None


def test_a_pause_tells_why_and_since_when():
    pause = pause_status(PAUSED, NOW)

    assert pause is not None
    assert (pause.reason, pause.since, pause.for_s) == (
        "the cookie expired",
        "1970-01-12T13:41:40Z",
        300.0,
    )
    assert pause_status(Switch(), NOW) is None


def test_the_table_shows_what_there_is_to_tell():
    quiet = budget_status(SETTINGS, Switch(), None, NOW)
    busy = budget_status(SETTINGS, Switch(), STANDING, NOW)
    lines = list(
        budget_lines(
            [
                ("mill", busy, None),
                ("press", quiet, pause_status(PAUSED, NOW)),
                ("feed", quiet, None),
            ]
        )
    )

    assert [" ".join(line.split()) for line in lines] == [
        "source requests/s allowed/s rate/s slowdowns token wait request time state",
        "mill 8 10 10 0 0.35 s 0.05 s open",
        "press - - 10 - - - paused for 5 min 0 s: the cookie expired",
    ]


def test_a_host_that_is_slowed_by_itself_has_its_own_line():
    buckets = {
        "mill/a.test": replace(SLOWED, blocked_s=0.0),
        "mill/b.test": SLOWED,
        "mill-2/c.test": SLOWED,
    }
    hosts = host_statuses("mill", buckets, NOW)
    mill = budget_status(SETTINGS, Switch(), STANDING, NOW, hosts)
    _, line, *below = budget_lines([("mill", mill, None)])

    assert line.endswith("open but for the hosts below")
    assert below == ["mill/b.test: blocked for 12 s, then 25 %", "mill/a.test: slowed to 25 %"]
    assert hosts[0].blocked_until == "1970-01-12T13:46:52Z"


def test_of_very_many_slowed_hosts_the_rest_are_counted():
    buckets = {f"mill/{at}.test": SLOWED for at in range(25)}
    mill = budget_status(SETTINGS, Switch(), None, NOW, host_statuses("mill", buckets, NOW))

    lines = list(budget_lines([("mill", mill, None)]))

    assert len(lines) == 23
    assert lines[-1] == "mill: 5 hosts more slowed or blocked"


def test_means_of_requests_that_are_long_over_are_not_told():
    rested = replace(STANDING, requests_per_s=0.0, waited_s=0.0, asked_s=0.0)
    _, line = budget_lines([("mill", budget_status(SETTINGS, Switch(), rested, NOW), None)])

    assert " ".join(line.split()) == "mill 0 10 10 0 - - open"


def test_no_table_where_there_is_nothing_to_tell():
    quiet = budget_status(SETTINGS, Switch(), None, NOW)

    assert list(budget_lines([("mill", quiet, None)])) == []


def test_a_purge_is_told_of_only_where_its_mark_lies_in_the_future():
    mark_ms = int(NOW * 1000)

    assert purge_ahead_s(Switch(), NOW) is None
    assert purge_ahead_s(Switch(purged_before=mark_ms + 1), NOW) is None
    assert purge_ahead_s(Switch(purged_before=mark_ms + 60_000), NOW) == pytest.approx(60.0)


# --- the command ---


@pytest.fixture
def given(tmp_path: Path) -> Settings:
    open_store(tmp_path / "s").close()
    return Settings(store=tmp_path / "s", sources={"mill": SETTINGS})


def test_a_paused_source_is_told_from_the_store_alone(given: Settings):
    Store.look(given.store, clock=FakeClock()).switches.change("mill", lambda _before: PAUSED)
    found = of_store(given)

    [mill] = found.sources
    assert mill.paused is not None
    assert mill.paused.reason == "the cookie expired"
    assert "the cookie expired" in list(told(found))[-1]


def test_a_purge_by_a_clock_that_is_ahead_is_told(given: Settings):
    ahead = Switch(purged_before=int((SystemClock().now() + 3630) * 1000))
    Store.look(given.store, clock=FakeClock()).switches.change("mill", lambda _before: ahead)

    assert "source mill: the mark of its purge lies 1 h 0 min" in list(told(of_store(given)))[-1]


def test_damaged_switches_are_a_note_and_the_rest_is_told(given: Settings):
    (given.store / "switches.json").write_bytes(b"{")
    found = of_store(given)

    assert "switches.json is damaged" in found.notes[0]


# --- a wait that may be a mistake ---


@pytest.mark.parametrize(("blocked_s", "count"), [(300.0, 0), (86_000.0, 1)])
def test_a_long_block_is_told_with_what_ends_it(blocked_s: float, count: int):
    status = budget_status(SETTINGS, Switch(), replace(SLOWED, blocked_s=blocked_s), NOW)
    lines = list(budget_lines([("press", status, None)]))

    assert sum("headrace resume press --unblock" in line for line in lines) == count


def test_a_long_block_of_a_host_is_told_with_what_ends_it():
    hosts = host_statuses("feed", {"feed/a.example": replace(SLOWED, blocked_s=86_000.0)}, NOW)
    status = budget_status(SETTINGS, Switch(), STANDING, NOW, hosts)

    assert (
        "headrace resume feed/a.example --unblock"
        in list(budget_lines([("feed", status, None)]))[-1]
    )
