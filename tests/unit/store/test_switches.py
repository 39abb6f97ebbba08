from __future__ import annotations

import errno
import json
import multiprocessing
import threading
from pathlib import Path

import pytest

from core.errors import StorageDown
from core.model.switch import Pause, Switch, Switches
from core.store.store import Store
from core.store.switches import SwitchStore
from tests.support.clock import FakeClock
from tests.support.store import Died, dying_disk, failing_disk, open_store
from tests.support.store_faults import each_step

PAUSED = Switch(pause=Pause(reason="the site is being repaired", since=1_000_000.0))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    open_store(tmp_path / "s").close()
    return tmp_path / "s"


def looked_at(root: Path) -> SwitchStore:
    """As a command has it, beside whoever uses the store."""
    return Store.look(root, clock=FakeClock()).switches


def paused(_before: Switch) -> Switch:
    return PAUSED


def faster(before: Switch) -> Switch:
    """One more a second, so that every change shows."""
    return before.model_copy(update={"rate": (before.rate or 0.0) + 1.0})


def test_nothing_is_switched_in_a_new_store(root: Path):
    assert looked_at(root).read() == Switches()
    assert not (root / "switches.json").exists()


def test_a_change_is_there_for_whoever_reads_next(root: Path):
    made = looked_at(root).change("mill", paused)

    assert made == PAUSED
    assert looked_at(root).read().of("mill") == PAUSED
    assert looked_at(root).read().of("press") == Switch()


def test_a_change_gets_what_stands(root: Path):
    looked_at(root).change("mill", paused)
    looked_at(root).change("mill", faster)

    assert looked_at(root).read().of("mill") == Switch(pause=PAUSED.pause, rate=1.0)


def test_people_can_read_the_file(root: Path):
    looked_at(root).change("mill", paused)
    kept = json.loads((root / "switches.json").read_text())

    assert kept["format"] == 1
    assert kept["sources"]["mill"]["pause"] == {
        "reason": "the site is being repaired",
        "since": "1970-01-12T13:46:40+00:00",
    }


def test_what_is_switched_back_leaves_nothing(root: Path):
    switches = looked_at(root)
    switches.change("mill", paused)
    switches.change("mill", lambda _before: Switch())

    assert switches.read() == Switches()


def test_a_change_of_nothing_writes_nothing(root: Path):
    switches = looked_at(root)
    switches.change("mill", paused)
    before = (root / "switches.json").stat().st_ino
    switches.change("mill", lambda kept: kept)

    assert (root / "switches.json").stat().st_ino == before


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_store_in_use_can_be_switched(root: Path, exclusive: bool):
    used = open_store(root, exclusive=exclusive)
    looked_at(root).change("mill", paused)
    found = used.switches.read()
    used.close()

    assert found.of("mill") == PAUSED


def test_opening_a_store_sweeps_no_change_away(root: Path):
    switches = looked_at(root)

    def while_it_is_written(_before: Switch) -> Switch:
        open_store(root, exclusive=True).close()
        return PAUSED

    switches.change("mill", while_it_is_written)

    assert switches.read().of("mill") == PAUSED


def test_two_threads_lose_none_of_each_others_changes(root: Path):
    def often() -> None:
        for _ in range(20):
            looked_at(root).change("mill", faster)

    threads = [threading.Thread(target=often) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert looked_at(root).read().of("mill").rate == 40.0


def _often(root: Path, source: str) -> None:
    for _ in range(20):
        looked_at(root).change("mill", faster)
        looked_at(root).change(source, faster)


def test_two_processes_lose_none_of_each_others_changes(root: Path):
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_often, args=[root, source]) for source in ("press", "feed")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    found = looked_at(root).read()

    assert [writer.exitcode for writer in writers] == [0, 0]
    assert [found.of(source).rate for source in ("mill", "press", "feed")] == [40.0, 20.0, 20.0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is damaged"),
        (b'{"format": 1, "sources": {"mi', "is damaged"),
        (b'{"format": 1, "sources": {"mill": {"paused": true}}}', "sources.mill.paused"),
        (b'{"format": 1, "sources": {"mill": {"rate": 0}}}', "sources.mill.rate"),
        (b'{"format": 1, "sources": {"mill": {"rate": NaN}}}', "sources.mill.rate"),
        (b'{"format": 2, "sources": {}}', "reads up to 1"),
    ],
)
def test_a_damaged_or_newer_file_is_named_and_kept(root: Path, content: bytes, said: str):
    (root / "switches.json").write_bytes(content)

    with pytest.raises(StorageDown, match=rf"switches\.json .*{said}"):
        looked_at(root).read()
    with pytest.raises(StorageDown, match=r"switches\.json"):
        looked_at(root).change("mill", paused)
    assert (root / "switches.json").read_bytes() == content


def test_a_store_that_went_away_is_not_one_without_switches(root: Path):
    switches = looked_at(root)
    switches.change("mill", paused)
    root.rename(root.with_name("unmounted"))

    with pytest.raises(StorageDown, match="is the store's disk mounted"):
        switches.read()


def test_the_rest_of_a_writer_that_died_is_in_nobodys_way(root: Path):
    (root / "switches.new").write_bytes(b'{"form')
    looked_at(root).change("mill", paused)

    assert looked_at(root).read().of("mill") == PAUSED
    assert not (root / "switches.new").exists()


def _switch_twice(store: Store) -> None:
    store.switches.change("mill", paused)
    store.switches.change("mill", faster)


@pytest.mark.parametrize("make_disk", [dying_disk, lambda at: failing_disk(at, errno.ENOSPC)])
def test_a_write_cut_anywhere_leaves_the_old_switches_or_the_new(tmp_path: Path, make_disk):
    seen = set()
    for place in each_step(tmp_path / "s", make_disk, _switch_twice, from_opening=False):
        found = looked_at(place).read().of("mill")
        seen.add((found.pause is not None, found.rate))
        looked_at(place).change("mill", paused)

        assert looked_at(place).read().of("mill") == PAUSED
    assert seen == {(False, None), (True, None), (True, 1.0)}


def test_a_writer_that_dies_holds_nobody_up(root: Path):
    store = open_store(root)

    def dies(_before: Switch) -> Switch:
        raise Died

    with pytest.raises(Died):
        store.switches.change("mill", dies)
    store.close()

    assert looked_at(root).change("mill", paused) == PAUSED
