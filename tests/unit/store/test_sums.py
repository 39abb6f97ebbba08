from __future__ import annotations

import errno
import fcntl
import logging
import os
import subprocess
from pathlib import Path

import pytest

from core.errors import StorageDown
from core.model.end import EndState
from core.store.sorting import sorted_lines
from core.store.store import Store
from core.store.sum_lines import Tally
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
    return sorted((root / "sums").glob("*.tsv"))


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


def opened_lists(store, monkeypatch):
    """The lists that are read from now on, and from where."""
    begun = []
    lines = store.sums._lists.lines

    def noting(lists, read_to=None):
        lists = list(lists)
        begun.extend((path.name, (read_to or {}).get(path.name, 0)) for path in lists)
        return lines(lists, read_to)

    monkeypatch.setattr(store.sums._lists, "lines", noting)
    return begun


def test_merging_twice_reads_no_line_twice(store, root, monkeypatch):
    commit(store, b"one", media="a1")
    made = store.sums.merge().stat()
    begun = opened_lists(store, monkeypatch)
    again = store.sums.merge().stat()

    assert begun == []
    assert (again.st_ino, again.st_mtime_ns) == (made.st_ino, made.st_mtime_ns)


def test_a_list_that_its_writer_only_closed_is_not_merged_again(store, root, monkeypatch):
    second = other_writer(root)
    commit(second, b"one", media="a1")
    store.sums.merge()
    second.close()
    begun = opened_lists(store, monkeypatch)
    store.sums.merge()

    assert begun == []


def test_one_more_line_is_merged(store, root):
    commit(store, b"one", media="a1")
    store.sums.merge()
    commit(store, b"two", media="b1")

    assert store.sums.merge().read_text().count("\n") == 2


def test_sums_that_a_hand_changed_are_made_anew(store, root):
    commit(store, b"one", media="a1")
    made = store.sums.merge()
    content = made.read_bytes()
    made.write_bytes(b"")

    assert store.sums.merge().read_bytes() == content


def test_a_tally_reads_on_where_the_last_merge_stopped(store, root, monkeypatch):
    commit(store, b"one", media="a1")
    store.sums.merge()
    (path,) = lists(root)
    merged_bytes = path.stat().st_size
    note(store, dead(media="b1"))
    begun = opened_lists(store, monkeypatch)

    assert store.sums.tally() == {"mill": Tally(got=1, dead=1, bytes=3)}
    assert store.sums.tally() == {"mill": Tally(got=1, dead=1, bytes=3)}
    assert begun == [(path.name, merged_bytes)] * 2


def test_a_tally_that_a_crash_tore_does_not_count(store, root):
    commit(store, b"one", media="a1")
    store.sums.merge()
    (root / "sums" / "merged.json").write_bytes(b'{"format": 1, "lis')

    assert store.sums.tally() == {"mill": Tally(got=1, bytes=3)}


def test_a_list_that_lost_lines_since_the_merge_is_read_from_its_start(store, root):
    commit(store, b"one", media="a1")
    commit(store, b"two", media="b1")
    store.sums.merge()
    (path,) = lists(root)
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(first)

    assert store.sums.tally() == {"mill": Tally(got=1, bytes=3)}


def test_what_ended_without_its_file_is_told_by_the_lists(store, monkeypatch):
    for number in range(20):
        commit(store, b"one", media=f"a{number:02}")
    for media in ("c1", "b1"):
        note(store, dead(media=media))
    monkeypatch.setattr(store.media, "ids", lambda: pytest.fail("every record was looked for"))

    assert list(store.sums.without_file()) == ["b1", "c1"]


def test_where_a_list_was_cut_short_every_media_may_have_ended_without_its_file(store, root):
    second = other_writer(root)
    second.media.end(dead(media="b1"))
    second.sums.forget()  # killed between the record and its line
    second.close()
    commit(store, b"one", media="a1")

    assert list(store.sums.without_file()) == ["a1", "b1"]


def test_without_any_list_every_media_may_have_ended_without_its_file(store, root):
    store.media.end(dead(media="b1"))
    store.sums.forget()
    for path in lists(root):
        path.unlink()

    assert list(store.sums.without_file()) == ["b1"]


def test_after_a_crash_only_the_records_that_no_list_has_are_read(store, root, monkeypatch):
    second = other_writer(root)
    for number in range(50):
        note(second, got(b"%d" % number, media=f"a{number:02}"))
    second.media.end(got(b"last", media="b1"))
    note(second, dead(media="c1"))
    second.media.end(got(b"later", media="c1", generation=2))
    second.sums.forget()  # killed before two of its lines
    second.close()
    read, ends = [], store.media.ends
    monkeypatch.setattr(store.media, "ends", lambda media: read.append(media) or ends(media))

    assert store.sums.merge().read_text().count("\n") == 52
    assert read == ["b1", "c1"]
    assert store.sums.tally() == {"mill": Tally(got=52, bytes=10 + 80 + 4 + 5)}
    assert store.sums.is_whole()


@pytest.mark.parametrize("kept_lines", [0, 1])
def test_wherever_a_crash_cut_a_list_each_end_is_counted_once(store, root, kept_lines):
    """Two writers have a line each about one end: that it counts, and that it no longer does."""
    other = other_writer(root)
    note(other, dead(media="a1"))
    note(store, got(media="a1", generation=2))
    note(store, dead(media="b1"))
    note(other, got(media="b1", generation=2))
    path = root / "sums" / Path(other.sums._list.name).name
    other.sums.forget()  # killed
    other.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1 : 1 + kept_lines]))  # of these at most «- dead b1»
    store.sums.merge()

    assert store.sums.tally() == {"mill": Tally(got=2, bytes=10)}


def no_room(*_given):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_ended_without_its_file_can_not_be_told_where_temporary_files_have_no_room(
    store, monkeypatch
):
    note(store, dead(media="a1"))
    monkeypatch.setattr("core.store.sorting._put_aside", no_room)
    monkeypatch.setitem(sorted_lines.__kwdefaults__, "held", 1)

    with pytest.raises(StorageDown, match="No space left"):
        list(store.sums.without_file())
