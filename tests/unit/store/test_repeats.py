from __future__ import annotations

import errno
import logging
import os
import threading

import pytest

from core.errors import Refused, StorageDown
from core.store.sorting import sorted_lines
from core.store.store import Store
from tests.support.store import (
    commit,
    dead,
    failing_disk,
    got,
    open_store,
    sha256,
)

HASH = sha256(b"stand-in")
OTHER = HASH[:4] + "0" * 60  # noted in the same file


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "s")
    yield opened
    opened.close()


def note(store: Store, number: int, sha: str = HASH, source: str = "mill", **who: str) -> None:
    named = {"media": f"m{number}", "post": f"p{number}"} | who
    store.repeats.note(sha, source=source, **named)


def posts(store: Store, sha: str = HASH, source: str = "mill", **who: str) -> int:
    named = {"media": "mx", "post": "px"} | who
    return store.repeats.posts(sha, source=source, **named)


def test_an_object_that_was_never_filed_is_under_no_post(store):
    assert posts(store) == 0


def test_each_post_counts_once(store):
    for number in (1, 2, 2, 3):
        note(store, number)
    note(store, 4, post="p3")

    assert posts(store) == 3


def test_the_post_and_the_media_that_ask_do_not_count_themselves(store):
    for number in (1, 2, 3):
        note(store, number)

    assert posts(store, post="p1") == 2
    assert posts(store, media="m2") == 2


def test_other_objects_and_other_sources_are_apart(store):
    note(store, 1)
    note(store, 2, OTHER)
    note(store, 3, source="forge")

    assert (posts(store), posts(store, OTHER), posts(store, source="forge")) == (1, 1, 1)


def test_a_media_is_noted_once_however_often_it_is_filed(store):
    for _ in range(3):
        note(store, 1)

    (path,) = (store.root / "repeats" / "mill").iterdir()
    assert path.read_text().split() == [HASH, "m1", "p1"]


def test_a_line_that_a_crash_tore_costs_no_other(store):
    note(store, 1)
    (path,) = (store.root / "repeats" / "mill").iterdir()
    with path.open("ab") as file:
        file.write(f"{HASH} m2".encode())
    note(store, 3)

    assert posts(store) == 2


def test_strange_bytes_in_the_file_are_no_lines(store):
    note(store, 1)
    (path,) = (store.root / "repeats" / "mill").iterdir()
    path.write_bytes(path.read_bytes() + b"\0\xff\n" + f"{HASH} a/b c\n".encode())

    assert posts(store) == 1


def test_what_is_noted_of_one_object_is_bounded(store, monkeypatch):
    monkeypatch.setattr("core.store.repeats._ENOUGH", 3)
    for number in range(6):
        note(store, number)

    assert posts(store) == 3


def test_workers_that_note_at_once_lose_nothing(store):
    threads = [
        threading.Thread(target=lambda of=of: [note(store, of * 10 + n) for n in range(10)])
        for of in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert posts(store) == 40


def test_a_note_that_fails_is_told_and_fails_nothing(tmp_path, caplog):
    disk = failing_disk(0)
    store = open_store(tmp_path / "s", disk=disk)
    disk.at = disk.count + 1
    with caplog.at_level(logging.WARNING):
        note(store, 1)

    assert "media m1 is not noted under its object" in caplog.text
    assert posts(store) == 0
    store.close()


@pytest.mark.parametrize(("source", "sha"), [("../up", HASH), ("mill", "../" + HASH[3:])])
def test_no_input_decides_a_path(store, source, sha):
    with pytest.raises(Refused, match="rule"):
        posts(store, sha, source)


def test_what_is_missing_is_noted_again_from_the_records(store):
    filed = [commit(store, b"stand-in", media=f"m{n}", token=f"t{n}") for n in range(3)]
    gone = dead(media="m9")

    assert store.repeats.repair([*filed, gone], {"mill"}) == 3
    assert posts(store, post="px") == 1  # all three of one post


def test_sources_without_the_rule_are_not_repaired(store):
    end = got(b"stand-in", source="feed")

    assert store.repeats.repair([end], {"mill"}) == 0
    assert not (store.root / "repeats").exists()


def test_a_thousand_media_are_repaired_with_one_look_at_each_file(store, monkeypatch):
    ends = [got(b"%d" % number, media=f"m{number}", post=f"p{number}") for number in range(300)]
    ends += [got(b"stand-in", media=f"s{number}", post=f"p{number}") for number in range(300)]
    read, looked = store._disk.read, []
    monkeypatch.setattr(store._disk, "read", lambda path: looked.append(path) or read(path))

    assert store.repeats.repair(ends, {"mill"}) == 600
    assert len(looked) == len(set(looked))
    assert posts(store) == 300


def test_repairing_twice_notes_nothing_twice(store):
    ends = [got(b"stand-in", media=f"m{number}", post=f"p{number}") for number in range(3)]
    for _ in range(2):
        store.repeats.repair(ends, {"mill"})
    (path,) = (store.root / "repeats" / "mill").iterdir()

    assert len(path.read_text().split("\n")) == 5  # three lines between two ends


def test_a_repair_is_bounded_for_each_object_too(store, monkeypatch):
    monkeypatch.setattr("core.store.repeats._ENOUGH", 3)
    ends = [got(b"stand-in", media=f"m{number}", post=f"p{number}") for number in range(9)]
    store.repeats.repair(ends, {"mill"})

    assert posts(store) == 3


def test_what_is_read_for_one_image_of_ten_million_is_little(store):
    """A file for each four digits of the digest: 65,536 a source."""
    note(store, 1)
    (path,) = (store.root / "repeats" / "mill").iterdir()
    line_bytes = len(f"\n{HASH} {'m' * 32} {'p' * 32}\n")

    assert path.name == HASH[:4]
    assert 10_000_000 / 16**4 * line_bytes < 21_000


def test_a_store_whose_folder_has_no_name_in_utf_8_is_repaired_too(tmp_path):
    store = open_store(tmp_path / os.fsdecode(b"caf\xe9"))
    try:
        assert store.repeats.repair([got(b"stand-in", media="m1", post="p1")], {"mill"}) == 1
        assert posts(store) == 1
    finally:
        store.close()


def no_room(*_given):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_repair_on_a_full_disk_says_so(store, monkeypatch):
    monkeypatch.setattr("core.store.sorting._put_aside", no_room)
    monkeypatch.setitem(sorted_lines.__kwdefaults__, "held", 1)

    with pytest.raises(StorageDown, match="No space left"):
        store.repeats.repair([got(b"stand-in", media="m1")], {"mill"})
