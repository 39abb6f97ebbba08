from __future__ import annotations

import fcntl
import logging
import subprocess
from pathlib import Path

import pytest

from core.model.end import EndState
from core.store import sums
from core.store.store import Store
from core.store.sums import Tally
from tests.support.clock import FakeClock
from tests.support.store import commit, dead, got, open_store, sha256


@pytest.fixture
def root(tmp_path):
    return tmp_path / "s"


@pytest.fixture
def store(root):
    opened = open_store(root)
    yield opened
    opened.close()


def other_writer(root, writer="mill-2-bb"):
    return Store.open(root, exclusive=False, clock=FakeClock(), writer=writer)


def note(store, end):
    store.media.end(end)
    store.sums.append(end)


def lists(root):
    return sorted((root / "sums").iterdir())


def checks(root):
    return subprocess.run(
        ["sha256sum", "-c", "--strict", "SHA256SUMS"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


def test_sha256sum_agrees_with_the_merged_list(store, root):
    commit(store, b"one", media="a1")
    commit(store, b"two", media="b1")
    store.sums.merge()
    done = checks(root)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": OK") == 2


def test_sha256sum_finds_an_altered_object(store, root):
    commit(store, b"one")
    store.sums.merge()
    path = store.objects.path(sha256(b"one"))
    path.chmod(0o644)
    path.write_bytes(b"two")

    assert checks(root).returncode == 1


def test_an_object_stands_once_however_many_media_have_it(store):
    for media in ("a1", "b1", "c1"):
        commit(store, b"same", media=media)

    assert store.sums.merge().read_text().count("\n") == 1


def test_the_merged_list_is_sorted(store):
    for index in range(10):
        commit(store, str(index).encode(), media=f"m{index}")
    lines = store.sums.merge().read_text().splitlines()

    assert lines == sorted(lines)


def test_lists_too_long_for_one_share_give_the_same(store, monkeypatch):
    for number in range(40):
        commit(store, str(number).encode(), media=f"m{number}")
    in_one = store.sums.merge().read_text()
    monkeypatch.setattr(sums, "_SHARE_BYTES", 300)

    assert store.sums.merge().read_text() == in_one
    assert in_one.count("\n") == 40


def test_the_lists_of_several_writers_are_merged(store, root):
    second = other_writer(root)
    commit(store, b"one", media="a1")
    commit(second, b"two", media="b1")
    second.close()

    assert store.sums.merge().read_text().count("\n") == 2


def test_a_store_without_objects_has_an_empty_list(store):
    assert store.sums.merge().read_bytes() == b""


def test_a_torn_last_line_is_no_line(store, root):
    commit(store, b"one", media="a1")
    (path,) = lists(root)
    with path.open("ab") as file:
        file.write(b"+\tmill\tgot\t3\tabc")

    assert store.sums.tally() == {"mill": Tally(got=1, bytes=3)}


def test_a_list_that_a_crash_cut_short_is_made_again(store, root):
    first = other_writer(root)
    commit(first, b"one", media="a1")
    path = Path(first.sums._list.name)
    path = root / "sums" / path.name
    path.write_bytes(path.read_bytes()[:-20])
    first.sums.forget()  # it dies: no closing line
    first.close()

    assert store.sums.merge().read_text().startswith(sha256(b"one"))
    assert store.sums.tally() == {"mill": Tally(got=1, bytes=3)}
    assert not path.exists()


def test_a_living_writers_list_is_left_alone(store, root):
    commit(store, b"one", media="a1")
    second = other_writer(root)
    second.sums.merge()
    second.sums.rebuild()
    commit(store, b"two", media="b1")

    assert second.sums.tally() == {"mill": Tally(got=2, bytes=6)}
    second.close()


def test_rebuilding_brings_back_what_no_list_has(store, root):
    commit(store, b"one", media="a1")
    note(store, dead(media="b1"))
    store.close()
    for path in lists(root):
        path.unlink()
    again = open_store(root)
    again.sums.rebuild()

    assert again.sums.tally() == {"mill": Tally(got=1, dead=1, bytes=3)}
    again.close()


def test_rebuilding_twice_changes_nothing(store, root):
    commit(store, b"one", media="a1")
    store.close()
    again = open_store(root)
    again.sums.rebuild()
    again.sums.rebuild()

    assert again.sums.tally() == {"mill": Tally(got=1, bytes=3)}
    again.close()
    assert len(lists(root)) == 1


def test_a_list_that_was_replaced_does_not_count_though_a_crash_kept_it(store, root):
    commit(store, b"one", media="a1")
    store.close()
    (path,) = lists(root)
    content = path.read_bytes()
    again = open_store(root)
    again.sums.rebuild()
    path.write_bytes(content)

    assert again.sums.tally() == {"mill": Tally(got=1, bytes=3)}
    again.close()


def test_who_files_nothing_has_no_list_and_costs_nobody_a_doubt(store, root):
    second = other_writer(root)
    second.sums.forget()  # killed
    second.close()

    assert lists(root) == []
    assert store.sums.is_whole()


def test_a_record_is_never_before_its_writers_list(store, root):
    second = other_writer(root)
    second.media.end(got(b"1", media="a1"))
    second.sums.forget()  # killed between the record and its line
    second.close()

    assert not store.sums.is_whole()
    store.sums.merge()
    assert store.sums.is_whole()
    assert store.sums.tally() == {"mill": Tally(got=1, bytes=1)}


def test_many_lists_become_one(store, root):
    for index in range(70):
        writer = other_writer(root, f"w{index}")
        commit(writer, str(index).encode(), media=f"m{index}")
        writer.close()
    store.sums.merge()

    assert len(lists(root)) == 1
    assert store.sums.tally() == {"mill": Tally(got=70, bytes=130)}


def test_a_media_counts_by_the_end_that_counts(store):
    note(store, dead(media="a1"))
    note(store, got(b"123", media="a1", generation=2))
    note(store, dead(media="a1", generation=3))
    note(store, dead(media="b1", state=EndState.REFUSED))
    note(store, dead(media="d1", state=EndState.INCOMPLETE))
    note(store, got(b"1", media="c1"))
    note(store, got(b"12345", media="c1", generation=2))

    assert store.sums.tally() == {"mill": Tally(got=2, dead=0, refused=1, incomplete=1, bytes=8)}


def test_sources_are_told_apart(store):
    note(store, got(b"1", media="a1"))
    note(store, dead(media="b1", source="other"))

    assert store.sums.tally() == {"mill": Tally(got=1, bytes=1), "other": Tally(dead=1)}


def test_a_line_that_can_not_be_written_is_a_warning_and_made_again(
    store, root, monkeypatch, caplog
):
    def full(what, path):
        if what == "append to":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(store._disk, "before", full)
    with caplog.at_level(logging.WARNING):
        commit(store, b"one", media="a1")
    monkeypatch.undo()
    commit(store, b"two", media="b1")
    store.close()
    again = open_store(root)

    assert "not in the checksum list yet" in caplog.text
    assert again.sums.merge().read_text().count("\n") == 2
    again.close()


def test_a_writer_holds_its_list_until_it_closes(store, root):
    commit(store, b"one")
    (path,) = lists(root)
    with path.open("rb") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        store.close()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    assert path.read_bytes().endswith(b"closed\n")


def test_a_writer_that_wrote_nothing_leaves_no_list(root):
    open_store(root).close()

    assert lists(root) == []


def test_a_crash_before_the_first_line_is_seen(store, root):
    first = other_writer(root)
    first.media.end(got(b"one"))
    first.sums.forget()  # it dies between record and line
    first.close()

    assert store.sums.merge().read_text().startswith(sha256(b"one"))
