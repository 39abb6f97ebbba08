from __future__ import annotations

import logging
import os

import pytest

from core.errors import Refused, StorageDown
from core.ports import Partial
from tests.support.store import MEDIA, open_store, sha256, validators


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "s")
    yield opened
    opened.close()


@pytest.fixture
def staging(store):
    return store.staging


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "s" / "staging" / "ab"


def filled(staging, token="t1", content=b"0123456789", etag='"1"'):
    partial = staging.take(MEDIA, token)
    partial.restart()
    partial.keep(validators(etag))
    partial.path.write_bytes(content)
    return partial


def test_the_first_partial_is_empty(staging):
    partial: Partial = staging.take(MEDIA, "t1")

    assert not partial.path.exists()
    assert partial.path.parent.is_dir()
    assert partial.validators is None


def test_a_partial_that_was_handed_over_is_renamed_not_copied(staging):
    first = filled(staging)
    inode = first.path.stat().st_ino
    first.hand_over()
    second = staging.take(MEDIA, "t2")

    assert second.path.stat().st_ino == inode
    assert second.path.read_bytes() == b"0123456789"
    assert second.validators == validators()


def test_a_partial_that_a_crash_left_is_copied(staging):
    first = filled(staging)
    second = staging.take(MEDIA, "t2")

    assert second.path.read_bytes() == b"0123456789"
    assert second.validators == validators()
    assert second.path.stat().st_ino != first.path.stat().st_ino


def test_a_writer_thought_dead_does_not_touch_its_successors_bytes(staging):
    first = filled(staging)
    second = staging.take(MEDIA, "t2")
    with first.path.open("ab") as late:
        late.write(b"LATE")
    first.restart()
    first.keep(validators('"other"'))

    assert second.path.read_bytes() == b"0123456789"
    assert staging.take(MEDIA, "t2").validators == validators()


def test_the_largest_of_several_is_gone_on_with(staging):
    for token, content in (("t1", b"12"), ("t2", b"1234"), ("t3", b"123")):
        filled(staging, token, content)

    assert staging.take(MEDIA, "t4").path.read_bytes() == b"1234"


def test_what_was_handed_over_comes_before_what_was_left(staging):
    handed = filled(staging, "t1", b"12")
    filled(staging, "t2", b"1234")
    handed.hand_over()

    assert staging.take(MEDIA, "t3").path.read_bytes() == b"12"


def test_bytes_without_readable_validators_are_not_gone_on_with(staging, folder):
    filled(staging, "t1", b"12")
    filled(staging, "t2", b"1234")
    (folder / f"{MEDIA}.t2.json").write_bytes(b"{")

    assert staging.take(MEDIA, "t3").path.read_bytes() == b"12"


def test_a_copy_that_a_crash_cut_short_is_not_gone_on_with(staging, folder):
    folder.mkdir()
    (folder / f"{MEDIA}.t1.part").write_bytes(b"half a copy")

    assert staging.take(MEDIA, "t2").path.read_bytes() == b""
    assert staging.take(MEDIA, "t1").path.read_bytes() == b""


def test_a_writer_that_begins_anew_while_it_is_copied_is_not_copied(staging, monkeypatch):
    first = filled(staging)
    copy = staging._disk.copy

    def copy_and_restart(path, target, *, max_bytes):
        done = copy(path, target, max_bytes=max_bytes)
        first.restart()
        return done

    monkeypatch.setattr(staging._disk, "copy", copy_and_restart)
    second = staging.take(MEDIA, "t2")

    assert second.path.read_bytes() == b""
    assert second.validators is None


def test_the_older_ones_stay_until_the_commit(staging, folder):
    filled(staging, "t1")
    second = staging.take(MEDIA, "t2")
    before = sorted(path.name for path in folder.iterdir())
    second.remove()

    assert before == [f"{MEDIA}.{end}" for end in ("t1.json", "t1.part", "t2.json", "t2.part")]
    assert list(folder.iterdir()) == []


def test_a_partial_that_shares_its_bytes_with_an_object_is_not_written_to(store, staging):
    content = b"committed"
    first = filled(staging, content=content)
    stored = store.objects.put(first.path, sha256(content))
    first.hand_over()
    second = staging.take(MEDIA, "t2")
    with second.path.open("ab") as file:
        file.write(b"!")
    second.restart()

    assert stored.read_bytes() == content


def test_a_commit_that_failed_before_the_object_leaves_a_writable_partial(store, staging):
    content = b"committed"
    first = filled(staging, content=content)
    store.objects.path(sha256(content)).parents[1].write_bytes(b"in the way")
    with pytest.raises(StorageDown):
        store.objects.put(first.path, sha256(content))
    first.close()

    assert staging.take(MEDIA, "t2").path.stat().st_mode & 0o200


def test_a_restart_spares_the_object_that_shares_the_bytes(store, staging):
    content = b"committed"
    partial = filled(staging, content=content)
    stored = store.objects.put(partial.path, sha256(content))
    partial.restart()

    assert stored.read_bytes() == content
    assert partial.path.read_bytes() == b""


def test_a_restart_drops_bytes_and_validators(staging):
    partial = filled(staging)
    partial.restart()

    assert partial.path.read_bytes() == b""
    assert partial.validators is None
    assert staging.take(MEDIA, "t2").validators is None


def test_closing_hands_over_what_there_is(staging):
    first = filled(staging)
    inode = first.path.stat().st_ino
    first.close()

    assert staging.take(MEDIA, "t2").path.stat().st_ino == inode


def test_closing_an_empty_partial_leaves_nothing(staging, folder):
    staging.take(MEDIA, "t1").close()

    assert list(folder.iterdir()) == []


def test_closing_after_the_commit_is_quiet(staging, folder):
    partial = filled(staging)
    partial.remove()
    partial.close()
    partial.close()

    assert list(folder.iterdir()) == []


def test_a_commit_without_predecessors_clears_its_own_files(staging, folder):
    partial = staging.take(MEDIA, "t1")
    partial.path.write_bytes(b"bytes")
    partial.keep(validators())
    partial.remove()

    assert list(folder.iterdir()) == []


def test_closing_never_raises(staging, monkeypatch, caplog):
    partial = filled(staging)

    def fail(*_):
        raise OSError("no")

    monkeypatch.setattr(staging._disk, "before", fail)
    with caplog.at_level(logging.WARNING):
        partial.close()

    assert "stays where it is" in caplog.text


def test_the_same_writer_finds_its_own_partial_again(staging):
    first = filled(staging)
    inode = first.path.stat().st_ino

    assert staging.take(MEDIA, "t1").path.stat().st_ino == inode


def test_a_token_of_any_form_stays_in_its_folder(staging, folder):
    assert staging.take(MEDIA, "../../escape").path.parent == folder


def test_a_media_id_that_is_a_path_is_refused(staging):
    with pytest.raises(Refused):
        staging.take("../x", "t1")


def test_clearing_removes_everybodys(staging, folder):
    filled(staging, "t1")
    filled(staging, "t2").hand_over()
    other = staging.take(MEDIA + "0", "t1")
    other.path.write_bytes(b"another media's")
    staging.clear(MEDIA)
    staging.clear(MEDIA)

    assert list(folder.iterdir()) == [other.path]


def test_what_is_staged_is_told_by_media(staging):
    filled(staging, "t1")
    filled(staging, "t2").hand_over()

    assert list(staging.media()) == [MEDIA]


def test_a_handed_over_partial_goes_to_one_writer(staging, monkeypatch):
    handed = filled(staging, "t1", b"handed")
    handed.hand_over()
    rename = staging._disk.rename

    def too_late(path, target):
        if path.suffix == ".handed":
            path.unlink()  # another writer has it
        return rename(path, target)

    monkeypatch.setattr(staging._disk, "rename", too_late)
    late = staging.take(MEDIA, "t2")

    assert late.validators is None
    assert late.path.read_bytes() == b""


def test_clearing_follows_no_link(staging, folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_bytes(b"")
    folder.mkdir()
    (folder / f"{MEDIA}.t1.part").symlink_to(outside)
    staging.clear(MEDIA)

    assert (outside / "keep").exists()


def test_free_bytes_are_the_disks(staging, tmp_path):
    vfs = os.statvfs(tmp_path)

    assert staging.free_bytes() == pytest.approx(vfs.f_bavail * vfs.f_frsize, rel=0.1)
