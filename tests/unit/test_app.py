"""One process's parts, put together: what people switch reaches each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.app import App
from core.errors import SourcePaused
from core.model.request import Request
from core.model.switch import Pause, Switch
from core.secret import FileSecret
from core.settings import SourceSettings
from tests.support.runs import an_app
from tests.support.threads import Threads

PAUSED = Switch(pause=Pause(reason="the site asked us to", since=1_000_000.0))


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    made = an_app(tmp_path)
    yield made
    made.close()


def switch(app: App, to: Switch, source: str = "feed") -> None:
    """As a command does, in a process of its own; read at once."""
    app.store.switches.change(source, lambda _before: to)
    app.switchboard.look()


@pytest.fixture
def told(app: App, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the broker is told."""
    calls: list[str] = []
    for name in ("close_source", "open_source"):
        monkeypatch.setattr(
            app.broker, name, lambda source, name=name: calls.append(f"{name} {source}")
        )
    return calls


def test_a_source_that_was_paused_before_is_shut_from_the_start(app: App, told: list[str]) -> None:
    app.store.switches.change("feed", lambda _before: PAUSED)

    app.open()

    assert told == ["close_source feed"]


def test_a_pause_and_a_resume_reach_the_broker(app: App, told: list[str]) -> None:
    app.open()

    switch(app, PAUSED)
    switch(app, Switch())

    assert told == ["close_source feed", "open_source feed"]


def test_a_switch_of_a_source_that_is_none_of_ours_disturbs_nobody(app: App) -> None:
    app.open()

    switch(app, PAUSED, source="elsewhere")

    assert app.switchboard.of("elsewhere") == PAUSED


def test_a_paused_source_gets_no_token(app: App) -> None:
    app.open()
    switch(app, PAUSED)

    with (
        app.fetcher.visit(app.terms("feed")) as visit,
        pytest.raises(SourcePaused),
    ):
        visit.page(Request("http://127.0.0.1:9/"))


def test_rate_and_burst_that_were_switched_hold_instead_of_the_settings(app: App) -> None:
    app.open()
    before = app.terms("feed")

    switch(app, Switch(rate=0.5, burst=3))

    assert (app.terms("feed").rate, app.terms("feed").burst) == (0.5, 3)
    assert app.terms("feed").name == before.name == "feed"


def test_a_cookie_that_was_renewed_in_its_file_is_used_once_its_source_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mill.cookie"
    path.write_text("SUB=1\n")
    mill = SourceSettings(adapter="weibo", cookie=FileSecret(path))
    app = an_app(tmp_path / "store", sources={"mill": mill})
    app.open()
    told = [app.terms("mill").secret_headers["Cookie"]]
    switch(app, PAUSED, source="mill")
    path.write_text("SUB=2\n")
    switch(app, Switch(), source="mill")

    assert [*told, app.terms("mill").secret_headers["Cookie"]] == ["SUB=1", "SUB=2"]
    app.close()


def test_the_performer_and_the_fetcher_ask_the_same_switches(app: App) -> None:
    app.open()
    switch(app, PAUSED)

    assert app.performer.switch("feed") == PAUSED


def test_a_closed_app_reads_no_switches_any_more(tmp_path: Path) -> None:
    threads = Threads()
    app = an_app(tmp_path)
    app.open()
    app.close()

    assert threads.count("headrace-switches") == 0
