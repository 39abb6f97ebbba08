from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import StorageDown
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.store import commit, got, open_store, sha256


@pytest.fixture
def root(tmp_path):
    return tmp_path / "s"


def test_opening_lays_out_the_store(root):
    open_store(root).close()

    files = {"lock", "store.json"}
    folders = {"feeds", "library", "media", "objects", "posts", "staging", "sums", "walks"}
    assert {path.name for path in root.iterdir()} == files | folders
    assert json.loads((root / "store.json").read_text())["format"] == 1


def test_a_store_keeps_its_id_wherever_it_is_moved(root, tmp_path):
    first = open_store(root)
    ident = first.id
    first.close()
    moved = root.rename(tmp_path / "elsewhere")

    again = open_store(moved)

    assert again.id == ident
    again.close()


def test_two_stores_have_two_ids(root, tmp_path):
    one, other = open_store(root), open_store(tmp_path / "other")

    assert one.id != other.id
    one.close()
    other.close()


def test_a_folder_with_anything_in_it_is_not_made_a_store(root):
    root.mkdir()
    (root / "thesis.odt").write_text("years of work")

    with pytest.raises(StorageDown, match=r"holds thesis\.odt: choose an empty folder"):
        open_store(root)

    assert [path.name for path in root.iterdir()] == ["thesis.odt"]


def test_workers_share_a_store(root):
    first, second = open_store(root), open_store(root)

    second.close()
    first.close()


def test_a_store_in_use_by_one_alone_names_it(root):
    first = open_store(root, exclusive=True)
    with pytest.raises(StorageDown, match=r"in use by mill-1-aa.*wait until it ends"):
        open_store(root)
    with pytest.raises(StorageDown, match=str(root)):
        open_store(root, exclusive=True)

    first.close()
    open_store(root, exclusive=True).close()


def test_a_store_in_use_by_workers_can_not_be_had_alone(root):
    worker = open_store(root)
    with pytest.raises(StorageDown, match=r"in use by workers.*stop them first"):
        open_store(root, exclusive=True)

    worker.close()


def test_the_name_that_a_killed_process_left_is_not_told_later(root):
    (root).mkdir()
    (root / "lock").write_bytes(b"long-dead-process")
    worker = open_store(root)
    with pytest.raises(StorageDown, match="in use by workers"):
        open_store(root, exclusive=True)

    worker.close()


def test_a_newer_store_is_refused_by_name(root):
    open_store(root).close()
    (root / "store.json").write_text('{"format": 2}')
    with pytest.raises(StorageDown, match=r"format 2.*newer"):
        open_store(root)


def test_a_refused_store_is_not_held(root):
    open_store(root).close()
    (root / "store.json").write_text('{"format": 2}')
    with pytest.raises(StorageDown):
        open_store(root, exclusive=True)
    (root / "store.json").write_text('{"format": 1}')

    open_store(root, exclusive=True).close()


def test_a_folder_that_is_no_store_is_left_alone(root):
    (root / "media").mkdir(parents=True)
    with pytest.raises(StorageDown, match="is no Headrace store, but holds media"):
        open_store(root)

    assert [path.name for path in root.iterdir()] == ["media"]


def test_a_file_in_the_place_of_the_store_is_told(root):
    root.write_bytes(b"")
    with pytest.raises(StorageDown, match=str(root)):
        open_store(root)


def test_a_folder_that_can_not_be_made_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageDown, match="cannot create"):
        open_store(tmp_path / "file" / "s")


def test_what_crashed_writers_left_is_swept_by_one_alone(root):
    open_store(root).close()
    (root / "staging/unnamed/left").write_bytes(b"")
    open_store(root, exclusive=True).close()

    assert list((root / "staging/unnamed").iterdir()) == []


def test_what_other_workers_are_writing_is_not_swept(root):
    open_store(root).close()
    for name, written_at in (("fresh", 1_000_000.0), ("stale", 900_000.0)):
        path = root / "staging/unnamed" / name
        path.write_bytes(b"")
        os.utime(path, (written_at, written_at))
    open_store(root).close()

    assert [path.name for path in (root / "staging/unnamed").iterdir()] == ["fresh"]


def test_a_writers_name_may_hold_anything(root):
    store = Store.open(root, exclusive=False, clock=FakeClock(), writer="höst/../x:1")
    commit(store, b"one")
    store.close()

    assert store.root == root


def test_a_closed_store_does_nothing_more(root):
    store = open_store(root)
    store.close()
    store.close()
    with pytest.raises(StorageDown, match="closed by this process"):
        store.media.end(got())


def test_a_folder_that_is_gone_is_told(root):
    store = open_store(root)
    (root / "staging/unnamed").rmdir()
    with pytest.raises(StorageDown, match="mounted"):
        store.media.end(got())

    store.close()


def in_child(work):
    """What `work` returned in a forked process: 0 when true."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def refused(store):
    try:
        store.media.end(got())
    except StorageDown as error:
        return "before a fork" in str(error)
    return False


def test_a_fork_can_not_use_its_parents_store(root):
    store = open_store(root)

    assert in_child(lambda: refused(store)) == 0
    assert store.media.newest(got().media) is None
    store.close()


def living_child():
    """A forked process that lives until told: its id and the pipe to tell it by."""
    reader, writer = os.pipe()
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.write(told, b"x")
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    os.close(told)
    os.read(ready, 1)
    os.close(ready)
    return pid, writer


@pytest.mark.parametrize("how", ["close", "die"])
def test_a_fork_does_not_hold_its_parents_lock(root, how):
    store = open_store(root, exclusive=True)
    pid, pipe = living_child()
    try:
        if how == "close":
            store.close()
        else:  # the system closes what a dead process had open
            store.sums.forget()
            store._lock.forget()
        open_store(root, exclusive=True).close()
    finally:
        os.close(pipe)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_fork_that_ends_does_not_free_its_parents_lock(root):
    store = open_store(root, exclusive=True)
    in_child(lambda: True)
    with pytest.raises(StorageDown, match="in use"):
        open_store(root)

    store.close()


def test_two_processes_can_not_both_have_it_alone(root):
    code = (
        "import sys; from pathlib import Path; from core.clock import SystemClock\n"
        "from core.store.store import Store\n"
        "root, clock = Path(sys.argv[1]), SystemClock()\n"
        "store = Store.open(root, exclusive=True, clock=clock, writer='first-9')\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", code, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with first:
        first.stdout.readline()
        with pytest.raises(StorageDown, match="in use by first-9"):
            open_store(root, exclusive=True)
        first.kill()

    open_store(root, exclusive=True).close()


def open_files():
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_no_file_is_left_open(root):
    gc.collect()
    before = open_files()
    store = open_store(root)
    commit(store, b"one")
    store.sums.merge()
    store.close()

    assert open_files() == before


def test_a_commit_ends_with_object_record_name_and_no_staging(root):
    store = open_store(root)
    end = commit(store, b"one")

    assert store.objects.path(sha256(b"one")).read_bytes() == b"one"
    assert store.media.newest(end.media) == end
    assert len(list((root / "library").rglob("*.jpg"))) == 1
    assert [path.name for path in (root / "staging").rglob("*") if path.is_file()] == []
    store.close()
