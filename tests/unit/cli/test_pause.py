from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.budget.budget import TokenBudget
from core.cli.main import run
from core.clock import SystemClock
from core.model.switch import Pause, Switch
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.store import open_store


@pytest.fixture(autouse=True)
def store(alone: Path) -> Path:
    (alone / "headrace.toml").write_text("[sources.mill]\nrate = 3\n")
    open_store(alone / "headrace-store").close()
    return alone / "headrace-store"


def switched(store: Path, source: str = "mill") -> Switch:
    return Store.look(store, clock=FakeClock()).switches.read().of(source)


def put(store: Path, switch: Switch) -> None:
    Store.look(store, clock=FakeClock()).switches.change("mill", lambda _before: switch)


def test_a_paused_source_is_paused_in_the_store_with_its_reason(store: Path, capsys):
    assert run(["pause", "mill", "--reason", "they asked us to"]) == 0
    pause = switched(store).pause

    assert pause is not None
    assert pause.reason == "they asked us to"
    assert capsys.readouterr().out == (
        "mill is paused: they asked us to\nIt goes on with: headrace resume mill\n"
    )


def test_a_pause_without_a_reason_says_so(store: Path):
    run(["pause", "mill"])

    assert "no reason" in switched(store).pause.reason


def test_pausing_again_keeps_since_when_and_may_change_why(store: Path, capsys):
    put(store, Switch(pause=Pause(reason="first", since=1_000_000.0)))
    run(["pause", "mill"])
    kept = switched(store).pause
    run(["pause", "mill", "--reason", "second"])

    assert kept == Pause(reason="first", since=1_000_000.0)
    assert switched(store).pause == Pause(reason="second", since=1_000_000.0)
    assert "mill is paused for " in capsys.readouterr().out


def test_resuming_takes_the_pause_away_and_nothing_else(store: Path, capsys):
    put(store, Switch(pause=Pause(reason="first", since=1_000_000.0), rate=2.0))

    assert run(["resume", "mill"]) == 0
    assert switched(store) == Switch(rate=2.0)
    assert "mill goes on. It was paused for" in capsys.readouterr().out


def test_resuming_what_is_not_paused_says_so(store: Path, capsys):
    assert run(["resume", "mill"]) == 0
    assert capsys.readouterr().out == "mill is not paused.\n"
    assert not (store / "switches.json").exists()


@pytest.mark.parametrize("command", ["pause", "resume", "budget", "purge"])
def test_a_name_that_the_settings_lack_is_told_with_those_that_they_have(
    command: str, store: Path, capsys
):
    assert run([command, "mil"]) == 2
    assert "'mil' is not in the settings, which have: feed, mill" in capsys.readouterr().err
    assert not (store / "switches.json").exists()


@pytest.mark.parametrize("command", ["pause", "resume", "budget", "purge"])
def test_without_a_store_nothing_is_made(command: str, alone: Path, capsys):
    assert run([command, "mill", "--store", "nowhere"]) == 1
    assert "there is no store" in capsys.readouterr().err
    assert not (alone / "nowhere").exists()


def test_a_store_may_be_named(alone: Path, store: Path):
    open_store(alone / "other").close()
    run(["pause", "mill", "--store", "other"])

    assert switched(alone / "other").pause is not None
    assert switched(store).pause is None


def test_a_run_that_has_the_store_alone_can_be_paused(store: Path):
    used = open_store(store, exclusive=True)
    status = run(["pause", "mill"])
    used.close()

    assert status == 0
    assert switched(store).pause is not None


def test_damaged_switches_are_told_and_kept(store: Path, capsys):
    (store / "switches.json").write_bytes(b"{")

    assert run(["pause", "mill"]) == 1
    assert "switches.json is damaged" in capsys.readouterr().err
    assert (store / "switches.json").read_bytes() == b"{"


def test_a_reason_cannot_move_the_terminals_cursor(store: Path, capsys):
    run(["pause", "mill", "--reason", "\x1b[2J"])

    assert "\x1b" not in capsys.readouterr().out


def test_what_ends_a_pause_names_the_store_and_the_settings_that_were_named(alone: Path, capsys):
    open_store(alone / "other one").close()
    (alone / "headrace.toml").rename(alone / "mill.toml")

    assert run(["--config", "mill.toml", "pause", "mill", "--store", "other one"]) == 0
    command = capsys.readouterr().out.splitlines()[1].removeprefix("It goes on with: ")
    assert command == "headrace resume mill --config mill.toml --store 'other one'"
    assert run(shlex.split(command)[1:]) == 0
    assert switched(alone / "other one").pause is None


def test_a_reason_stands_on_one_line(store: Path, capsys):
    run(["pause", "mill", "--reason", "the cookie\nexpired\n"])

    assert switched(store).pause.reason == "the cookie expired"
    assert capsys.readouterr().out.splitlines()[0] == "mill is paused: the cookie expired"


# --- a block that can't be meant ---


def test_the_end_of_a_block_is_kept_in_the_store_with_its_time(store: Path, capsys):
    before = SystemClock().now()

    assert run(["resume", "mill", "--unblock", "--store", str(store)]) == 0
    assert switched(store).unblocked[""] >= int(before * 1000)
    assert "mill: what blocks it is over" in capsys.readouterr().out


def test_a_host_is_named_as_status_names_it(store: Path, capsys):
    run(["resume", "mill/Files.example", "--unblock", "--store", str(store)])

    assert list(switched(store).unblocked) == ["files.example"]
    assert "mill/files.example: what blocks it is over" in capsys.readouterr().out


def test_unblocking_ends_a_pause_too(store: Path, capsys):
    put(store, Switch(pause=Pause(reason="first", since=1_000_000.0)))
    run(["resume", "mill", "--unblock", "--store", str(store)])

    assert switched(store).pause is None
    assert "mill goes on. It was paused for" in capsys.readouterr().out


def test_a_host_that_is_opened_leaves_its_source_paused(store: Path):
    put(store, Switch(pause=Pause(reason="first", since=1_000_000.0)))
    run(["resume", "mill/files.example", "--unblock", "--store", str(store)])

    assert switched(store).pause is not None


def test_a_host_is_never_paused(store: Path, capsys):
    assert run(["resume", "mill/files.example"]) == 2
    assert "--unblock ends its block" in capsys.readouterr().err


def test_without_redis_it_is_kept_all_the_same(
    store: Path, capsys, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADRACE_REDIS_URL", "redis://127.0.0.1:1/0")

    assert run(["resume", "mill", "--unblock"]) == 0
    assert "" in switched(store).unblocked
    assert "as soon as Redis answers them" in capsys.readouterr().out


@pytest.fixture
def budget(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenBudget]:
    """The one that the command finds in the settings."""
    monkeypatch.setenv("HEADRACE_REDIS_URL", redis_url)
    budget = TokenBudget.redis(redis_url, SystemClock())
    yield budget
    budget.close()


@pytest.mark.redis
def test_a_block_is_ended_in_redis_where_no_worker_runs(store: Path, capsys, budget: TokenBudget):
    budget.throttled("mill", era=0, seconds=86_000.0)
    run(["resume", "mill", "--unblock"])
    budget.retell()

    assert budget.blocked_for("mill") == 0.0
    assert "mill is open: 23 h 53 min were left of its block" in capsys.readouterr().out


@pytest.mark.redis
@pytest.mark.usefixtures("budget")
def test_a_source_that_is_not_blocked_is_told_so(store: Path, capsys):
    run(["resume", "mill", "--unblock"])

    assert "mill is not blocked for workers" in capsys.readouterr().out


@pytest.mark.redis
def test_a_source_of_which_a_host_is_blocked_is_told_that_hosts_command(
    store: Path, capsys, budget: TokenBudget
):
    budget.throttled("mill/files.example", era=0, seconds=86_000.0)
    run(["resume", "mill", "--unblock"])

    told = capsys.readouterr().out
    assert "mill is not blocked for workers" in told
    assert "headrace resume mill/files.example --unblock" in told
