from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from core.errors import StorageDown
from core.store import files
from core.store.files import Disk
from core.store.paths import Paths


class CountingDisk(Disk):
    """Knows what it did."""

    def __init__(self, paths, writer):
        super().__init__(paths, writer)
        self.done = []

    def before(self, what, path):
        self.done.append((what, path))


@pytest.fixture
def disk(tmp_path):
    paths = Paths(tmp_path)
    for folder in paths.folders():
        folder.mkdir(parents=True)
    return CountingDisk(paths, "w")


def synced(disk):
    return [path for what, path in disk.done if what == "sync"]


def unnamed(disk):
    return list(disk.paths.unnamed.iterdir())


def test_the_first_to_create_a_file_stands(disk):
    path = disk.paths.root / "media" / "x"

    assert disk.create_exclusive(path, b"one")
    assert not disk.create_exclusive(path, b"two")
    assert path.read_bytes() == b"one"


def test_a_created_files_folder_is_synced(disk):
    path = disk.paths.root / "media" / "ab" / "x" / "1.json"
    disk.create_exclusive(path, b"1")

    assert synced(disk) == [path.parent]


def test_a_file_that_another_created_is_made_durable_before_it_counts(disk):
    path = disk.paths.root / "media" / "x"
    path.write_bytes(b"not yet synced by its writer")
    disk.create_exclusive(path, b"mine")

    assert path.parent in synced(disk)


def test_no_unnamed_file_stays(disk):
    path = disk.paths.root / "media" / "x"
    disk.create_exclusive(path, b"1")
    disk.create_exclusive(path, b"2")
    disk.replace(path, [b"3"])

    assert unnamed(disk) == []


def test_an_unnamed_file_is_removed_when_writing_it_fails(disk):
    def chunks():
        yield b"some"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StorageDown):
        disk.write_unnamed(chunks())

    assert unnamed(disk) == []


def test_names_are_exclusive_also_without_hard_links(disk, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    path = disk.paths.root / "media" / "x"

    assert disk.create_exclusive(path, b"one")
    assert not disk.place(disk.write_unnamed([b"two"]), path)
    assert path.read_bytes() == b"one"


def test_a_shared_file_is_copied_where_there_are_no_hard_links(disk, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    original = disk.paths.all_feeds / "x"
    original.write_bytes(b"list")
    shared = disk.paths.all_walks / "x"

    assert disk.share(original, shared)
    assert original.read_bytes() == shared.read_bytes() == b"list"


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (errno.ENOSPC, "free space"),
        (errno.EACCES, "give this user the right"),
        (errno.ENOENT, "mounted"),
        (errno.EIO, "disk reports an error"),
        (errno.EROFS, "read-only"),
        (errno.EMFILE, "ulimit"),
        (errno.ENOTDIR, "check the disk"),
    ],
)
def test_an_error_says_what_which_and_what_next(disk, fault, advice):
    path = Path("/store/media/x")
    with pytest.raises(StorageDown) as raised, disk.told("write", path):
        raise OSError(fault, os.strerror(fault))

    assert f"cannot write {path}: {os.strerror(fault)}" in str(raised.value)
    assert advice in str(raised.value)
    assert isinstance(raised.value.__cause__, OSError)


def test_what_is_not_there_is_an_answer(disk):
    nowhere = disk.paths.root / "nowhere" / "x"

    assert disk.read(nowhere) is None
    assert disk.open(nowhere) is None
    assert disk.stat(nowhere) is None
    assert disk.names(nowhere) == []
    assert not disk.rename(nowhere, disk.paths.root / "y")


def test_many_files_are_synced_by_one_call(disk, monkeypatch):
    calls = []
    monkeypatch.setattr(files, "sync_file_system", lambda folder: calls.append(folder) or True)
    disk.sync_all([disk.paths.root / str(index) for index in range(100)])

    assert calls == [disk.paths.root]


def test_many_files_are_synced_one_by_one_where_there_is_no_such_call(disk, monkeypatch):
    monkeypatch.setattr(files, "sync_file_system", lambda _: False)
    made = [disk.write_unnamed([b"x"], durable=False) for _ in range(20)]
    disk.done.clear()
    disk.sync_all(made)

    assert [path for path in synced(disk) if path in made] == made


def test_the_file_system_really_syncs(disk):
    made = [disk.write_unnamed([b"x"], durable=False) for _ in range(20)]

    disk.sync_all(made)


def test_a_refused_disk_does_nothing_more(disk):
    disk.refuse("closed")
    with pytest.raises(StorageDown, match="closed"):
        disk.create_exclusive(disk.paths.root / "x", b"")

    assert not (disk.paths.root / "x").exists()


def test_a_copy_takes_no_more_than_it_was_told(disk):
    original = disk.paths.root / "a"
    original.write_bytes(b"0123456789")

    assert disk.copy(original, disk.paths.root / "b", max_bytes=4)
    assert (disk.paths.root / "b").read_bytes() == b"0123"


def test_a_file_in_the_place_of_a_folder_is_told(disk):
    (disk.paths.root / "media" / "ab").write_bytes(b"")
    with pytest.raises(StorageDown, match="File exists"):
        disk.make_folder(disk.paths.root / "media" / "ab")


def test_a_store_that_is_gone_is_not_made_anew_in_the_middle_of_a_run(tmp_path):
    gone = Disk(Paths(tmp_path / "gone"), "w")

    with pytest.raises(StorageDown, match="is gone"):
        gone.make_folder(gone.paths.root / "objects" / "sha256")

    assert not gone.paths.root.exists()
