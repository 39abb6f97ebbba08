from pathlib import Path

from core.cli.switching import Changes
from core.model.switch import Pause, Switch
from core.settings import SourceSettings

PAUSE = Pause(reason="the cookie expired", since=1_000_000.0)


def changes() -> Changes:
    return Changes("mill", SourceSettings(rate=3.0, burst=6), Path("/s"))


def test_a_pause_is_told_with_what_ends_it():
    assert list(changes().told(Switch(pause=PAUSE))) == [
        "mill is paused: the cookie expired. Its requests wait for: headrace resume mill --store /s"
    ]


def test_the_end_of_a_pause_is_told():
    told = changes()
    list(told.told(Switch(pause=PAUSE)))

    assert list(told.told(Switch())) == ["mill goes on"]


def test_what_did_not_change_is_not_told_again():
    told = changes()
    list(told.told(Switch(pause=PAUSE)))

    assert list(told.told(Switch(pause=PAUSE, purged_before=5))) == []


def test_a_rate_is_told_when_it_changes_and_when_it_is_reset():
    told = changes()

    assert "2 requests a second" in (line := next(told.told(Switch(rate=2.0))))
    assert line.endswith("headrace budget mill --reset --store /s)")
    assert list(told.told(Switch())) == ["mill: 3 requests a second, burst 6, as the settings say"]
