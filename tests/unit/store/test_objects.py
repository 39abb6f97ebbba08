from __future__ import annotations

import stat

import pytest

from core.errors import Refused, StorageDown
from tests.support.store import open_store, sha256

CONTENT = b"the wheel turns"
DIGEST = sha256(CONTENT)


@pytest.fixture
def store(tmp_path):
    with_store = open_store(tmp_path / "s")
    yield with_store
    with_store.close()


def partial(tmp_path, content=CONTENT, name="partial"):
    path = tmp_path / "s" / "staging" / name
    path.write_bytes(content)
    return path


def test_an_object_holds_the_bytes_under_their_digest(store, tmp_path):
    path = store.objects.put(partial(tmp_path), DIGEST)

    assert path == store.objects.path(DIGEST)
    assert path.read_bytes() == CONTENT
    assert store.objects.has(DIGEST)


def test_an_object_is_read_only(store, tmp_path):
    path = store.objects.put(partial(tmp_path), DIGEST)

    assert stat.S_IMODE(path.stat().st_mode) == 0o444


def test_the_same_bytes_twice_are_one_object(store, tmp_path):
    first = store.objects.put(partial(tmp_path, name="a"), DIGEST)
    inode = first.stat().st_ino
    second = store.objects.put(partial(tmp_path, name="b"), DIGEST)

    assert second == first
    assert second.stat().st_ino == inode


def test_an_object_of_another_size_is_damage_and_stays_untouched(store, tmp_path):
    path = store.objects.path(DIGEST)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half")
    with pytest.raises(StorageDown, match=r"holds 4 bytes, not the 15 .*damaged.*move the file"):
        store.objects.put(partial(tmp_path), DIGEST)

    assert path.read_bytes() == b"half"


def test_a_partial_cleared_by_the_worker_that_committed_first_is_no_fault(store, tmp_path):
    store.objects.put(partial(tmp_path), DIGEST)

    assert store.objects.put(tmp_path / "s" / "staging" / "gone", DIGEST).read_bytes() == CONTENT


def test_a_partial_that_is_gone_without_an_object_is_told(store, tmp_path):
    with pytest.raises(StorageDown, match="gone before it was committed"):
        store.objects.put(tmp_path / "gone", DIGEST)


def test_a_name_that_is_no_digest_is_refused(store, tmp_path):
    with pytest.raises(Refused):
        store.objects.put(partial(tmp_path), "../../escape")
