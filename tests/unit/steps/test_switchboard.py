from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.errors import SharedStateDown, StorageDown
from core.model.switch import Pause, Switch
from core.steps.switchboard import Switchboard
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.queue import eventually
from tests.support.store import open_store
from tests.support.threads import Threads

PAUSED = Switch(pause=Pause(reason="by a person", since=1_000_000.0))


class OneLook:
    """A clock whose sleeper never wakes but to end: nothing is read unless the test says so."""

    def __init__(self) -> None:
        self.now = self.monotonic = FakeClock().now

    def sleep(self, _seconds: float, wake: threading.Event | None = None) -> bool:
        assert wake is not None
        return wake.wait(30)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "s")
    yield store
    store.close()


@pytest.fixture
def board(store: Store) -> Iterator[Switchboard]:
    board = Switchboard(store.switches, OneLook())
    yield board
    board.close()


def switch(store: Store, source: str, to: Switch) -> None:
    """Another process's change."""
    Store.look(store.root, clock=FakeClock()).switches.change(source, lambda _before: to)


def test_what_is_switched_before_the_start_is_known_with_it(store: Store, board: Switchboard):
    switch(store, "mill", PAUSED)
    before = board.of("mill")
    board.start()

    assert before == Switch()
    assert board.of("mill") == PAUSED
    assert board.of("press") == Switch()


def test_a_change_is_known_after_the_next_look(store: Store, board: Switchboard):
    board.start()
    switch(store, "mill", PAUSED)
    before = board.of("mill")
    board.look()

    assert before == Switch()
    assert board.of("mill") == PAUSED


@pytest.mark.quiet
def test_a_change_arrives_by_itself_within_a_second(store: Store):
    board = Switchboard(store.switches, SystemClock())
    board.start()
    switch(store, "mill", PAUSED)

    eventually(lambda: board.of("mill") == PAUSED, "the pause arrives", within_s=2.0)
    board.close()


def test_starting_twice_reads_in_one_thread(board: Switchboard):
    threads = Threads()
    board.start()
    board.start()

    assert threads.started == ["headrace-switches"]


def test_closing_ends_the_thread_and_keeps_what_is_known(store: Store, board: Switchboard):
    threads = Threads()
    switch(store, "mill", PAUSED)
    board.start()
    board.close()

    assert threads.started == []
    assert board.of("mill") == PAUSED


def test_closing_what_never_started_is_harmless(board: Switchboard):
    board.close()


# --- listeners ---


def test_a_listener_is_told_of_changes_and_of_nothing_else(store: Store, board: Switchboard):
    heard: list[tuple[str, Switch]] = []
    board.start()
    board.listen(lambda source, switch: heard.append((source, switch)))
    switch(store, "mill", PAUSED)
    board.look()
    board.look()
    switch(store, "mill", Switch())
    board.look()

    assert heard == [("mill", PAUSED), ("mill", Switch())]


def test_a_listener_hears_at_once_of_what_is_switched_already(store: Store, board: Switchboard):
    heard: list[str] = []
    switch(store, "mill", PAUSED)
    board.start()
    board.listen(lambda source, _switch: heard.append(source))

    assert heard == ["mill"]


def test_one_that_listened_before_the_start_hears_of_the_first_reading(
    store: Store, board: Switchboard
):
    heard: list[str] = []
    switch(store, "mill", PAUSED)
    board.listen(lambda source, _switch: heard.append(source))
    board.start()

    assert heard == ["mill"]


def test_a_listener_may_ask_the_board(store: Store, board: Switchboard):
    heard: list[Switch] = []
    board.listen(lambda source, _switch: heard.append(board.of(source)))
    switch(store, "mill", PAUSED)
    board.look()

    assert heard == [PAUSED]


def test_a_purge_is_logged_with_its_time(store: Store, board: Switchboard, caplog):
    caplog.set_level(logging.INFO, "core.steps.switchboard")
    when = datetime(2026, 11, 29, 20, 10, 32)  # noqa: DTZ001 - of the machine, as the log's lines
    switch(store, "mill", Switch(purged_before=int(when.timestamp() * 1000) + 846))
    board.look()

    assert "tasks submitted before 2026-11-29 20:10:32 are dropped" in caplog.text


def test_a_purge_at_no_time_at_all_keeps_nobody_from_reading(store: Store, board: Switchboard):
    switch(store, "mill", Switch(purged_before=10**20))
    board.look()

    assert board.of("mill").purged_before == 10**20


# --- pausing ---


def test_pausing_is_known_at_once_here_and_in_the_store(store: Store, board: Switchboard, caplog):
    heard: list[str] = []
    board.start()
    board.listen(lambda source, _switch: heard.append(source))
    board.pause("mill", "the cookie expired")

    assert board.of("mill").pause == Pause(reason="the cookie expired", since=1_000_000.0)
    assert store.switches.read().of("mill") == board.of("mill")
    assert heard == ["mill"]
    words = "the cookie expired; once that is put right: headrace resume mill --store "
    assert f"{words}{store.root}" in caplog.text


def test_what_is_paused_keeps_its_first_reason_and_is_told_once(
    store: Store, board: Switchboard, caplog
):
    switch(store, "mill", PAUSED)
    board.pause("mill", "the cookie expired")

    assert board.of("mill") == PAUSED
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_pausing_keeps_the_other_switches(store: Store, board: Switchboard):
    switch(store, "mill", Switch(rate=2.0))
    board.pause("mill", "the cookie expired")

    assert store.switches.read().of("mill").rate == 2.0


# --- a store that can't be read ---


def test_without_a_readable_store_nothing_starts(store: Store, board: Switchboard):
    (store.root / "switches.json").write_bytes(b"{")

    with pytest.raises(StorageDown, match="is damaged"):
        board.start()


def test_what_was_known_stands_while_the_store_cannot_be_read(
    store: Store, board: Switchboard, caplog
):
    switch(store, "mill", PAUSED)
    board.start()
    kept = (store.root / "switches.json").read_bytes()
    (store.root / "switches.json").write_bytes(b"{")
    board.look()
    board.look()
    during = board.of("mill")
    (store.root / "switches.json").write_bytes(kept.replace(b"a person", b"somebody"))
    board.look()

    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert during == PAUSED
    assert board.of("mill").pause == Pause(reason="by somebody", since=1_000_000.0)
    assert len(warnings) == 1
    assert "stay as they were last read" in warnings[0].getMessage()


def test_a_listener_without_the_shared_state_is_told_again_until_it_has_it(
    store: Store, board: Switchboard
):
    heard: list[str] = []

    def listener(source: str, _switch: Switch) -> None:
        heard.append(source)
        if len(heard) < 3:
            raise SharedStateDown("no answer")

    board.start()
    board.listen(listener)
    switch(store, "mill", PAUSED)
    for _ in range(5):
        board.look()

    assert heard == ["mill"] * 3


def test_one_that_listens_late_is_told_again_too(store: Store, board: Switchboard):
    heard: list[str] = []

    def listener(source: str, _switch: Switch) -> None:
        heard.append(source)
        if len(heard) < 2:
            raise SharedStateDown("no answer")

    switch(store, "mill", PAUSED)
    board.start()
    board.listen(listener)
    board.look()

    assert heard == ["mill"] * 2
