from __future__ import annotations

from pathlib import Path

import pytest

from core.cli.main import run
from core.model.switch import Pause, Switch
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.store import open_store

PAUSE = Pause(reason="first", since=1_000_000.0)


@pytest.fixture(autouse=True)
def store(alone: Path) -> Path:
    (alone / "headrace.toml").write_text("[sources.mill]\nrate = 3\nburst = 6\n")
    open_store(alone / "headrace-store").close()
    return alone / "headrace-store"


def switched(store: Path) -> Switch:
    return Store.look(store, clock=FakeClock()).switches.read().of("mill")


def test_without_options_it_shows_and_changes_nothing(store: Path, capsys):
    assert run(["budget", "mill"]) == 0
    assert capsys.readouterr().out == "mill: 3 requests a second, burst 6, as the settings say\n"
    assert not (store / "switches.json").exists()


def test_a_rate_is_put_in_the_settings_place(store: Path, capsys):
    assert run(["budget", "mill", "--rate", "0.5"]) == 0
    assert switched(store) == Switch(rate=0.5)
    assert capsys.readouterr().out == (
        "mill: 0.5 requests a second, burst 6 "
        "(settings or --rate say 3 and 6: headrace budget mill --reset)\n"
    )


def test_what_is_not_named_stays(store: Path):
    run(["pause", "mill", "--reason", "first"])
    run(["budget", "mill", "--rate", "2"])
    run(["budget", "mill", "--burst", "4"])
    found = switched(store)

    assert (found.rate, found.burst) == (2.0, 4)
    assert found.pause is not None


def test_reset_goes_back_to_the_settings(store: Path, capsys):
    run(["budget", "mill", "--rate", "2", "--burst", "4"])
    capsys.readouterr()

    assert run(["budget", "mill", "--reset"]) == 0
    assert switched(store) == Switch()
    assert "burst 6, as the settings say" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ["--rate", "0"],
        ["--rate", "nan"],
        ["--rate", "inf"],
        ["--rate", "-1"],
        ["--burst", "0"],
        ["--reset", "--rate", "1"],
    ],
)
def test_what_cannot_be_a_budget_is_refused(options: list[str], store: Path, capsys):
    assert run(["budget", "mill", *options]) == 2
    assert options[0] in capsys.readouterr().err
    assert not (store / "switches.json").exists()


def test_what_goes_back_to_the_settings_names_the_store(alone: Path, capsys):
    open_store(alone / "other").close()
    run(["budget", "mill", "--rate", "2", "--store", "other"])

    assert "headrace budget mill --reset --store other)" in capsys.readouterr().out
