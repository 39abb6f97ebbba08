from __future__ import annotations

import errno
import logging
import os
import shutil

import pytest

from tests.support.store import MEDIA, commit, dead, got, open_store

CONTENT = b"the wheel turns"


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "s")
    yield opened
    opened.close()


def stored(store, content=CONTENT, **changes):
    """The end of a media whose object is there."""
    end = got(content, **changes)
    path = store.objects.path(end.file.sha256)
    if not path.exists():
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return end


def refuse(fault):
    def function(*_, **__):
        raise OSError(fault, os.strerror(fault))

    return function


def test_a_name_is_a_hard_link_to_the_object(store, tmp_path):
    path = store.library.link(stored(store))

    assert path == tmp_path / "s/library/mill/Ada Miller/2024/2024-05-06_The wheel_ab000000.jpg"
    assert path.samefile(store.objects.path(got(CONTENT).file.sha256))


def test_linking_twice_is_linking_once(store):
    end = stored(store)

    assert store.library.link(end) == store.library.link(end)
    assert len(list((store.root / "library").rglob("*.jpg"))) == 1


def test_a_library_that_is_removed_meanwhile_begins_anew(store):
    store.library.link(stored(store))
    shutil.rmtree(store.root / "library" / "mill")
    path = store.library.link(stored(store, b"two"))

    assert path.read_bytes() == b"two"


def test_two_media_with_one_name_both_get_one(store):
    first = store.library.link(stored(store, b"one"))
    second = store.library.link(stored(store, b"two", media=MEDIA[:8] + "f" * 24))

    assert first.read_bytes() == b"one"
    assert second.read_bytes() == b"two"


def test_what_was_not_got_has_no_name(store):
    assert store.library.link(dead()) is None


@pytest.mark.parametrize("fault", [errno.EPERM, errno.EXDEV, errno.EMLINK])
def test_without_hard_links_a_name_is_a_relative_symbolic_link(store, monkeypatch, fault):
    end = stored(store)
    monkeypatch.setattr(os, "link", refuse(fault))
    path = store.library.link(end)

    assert path.is_symlink()
    assert not path.readlink().is_absolute()
    assert path.read_bytes() == CONTENT
    assert store.library.link(end) == path


def test_without_any_links_a_name_is_a_copy(store, monkeypatch):
    end = stored(store)
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    monkeypatch.setattr(os, "symlink", refuse(errno.EPERM))
    path = store.library.link(end)

    assert path.read_bytes() == CONTENT
    assert path.stat().st_nlink == 1
    assert store.library.link(end) == path


def test_a_copy_that_fails_leaves_nothing(store, monkeypatch):
    end = stored(store)
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    monkeypatch.setattr(os, "symlink", refuse(errno.EPERM))
    monkeypatch.setattr("shutil.copyfileobj", refuse(errno.ENOSPC))

    assert store.library.link(end) is None
    assert list((store.root / "library").rglob("*.jpg")) == []


def test_a_failure_to_name_is_a_warning(store, monkeypatch, caplog):
    end = stored(store)
    monkeypatch.setattr(os, "link", refuse(errno.ENOSPC))
    with caplog.at_level(logging.WARNING):
        path = store.library.link(end)

    assert path is None
    assert "has no name in the library" in caplog.text


def test_an_object_that_is_gone_is_told_as_that(store, caplog):
    end = stored(store)
    store.objects.path(end.file.sha256).unlink()

    assert store.library.link(end) is None
    assert f"its object {end.file.sha256} is gone" in caplog.text


@pytest.mark.parametrize("part", ["library", "library/mill", "library/mill/Ada Miller"])
def test_row_28_no_name_is_made_through_a_link_in_the_tree(store, tmp_path, caplog, part):
    outside = tmp_path / "outside"
    outside.mkdir()
    place = store.root / part
    if place.exists():
        place.rmdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)

    assert store.library.link(stored(store)) is None
    assert list(outside.iterdir()) == []


def test_row_28_a_link_in_the_names_place_is_neither_followed_nor_believed(store, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(CONTENT)
    end = stored(store)
    path = store.library.link(end)
    path.unlink()
    path.symlink_to(outside)
    other = store.library.link(end)

    assert outside.read_bytes() == CONTENT
    assert other != path
    assert other.samefile(store.objects.path(end.file.sha256))


@pytest.mark.parametrize(
    "title", ["../../escape.bin", "C:\\x", "a/../../b", "x\0y", "/etc/passwd", "..", "a" * 5000]
)
def test_row_28_no_title_leads_out_of_the_library(store, title):
    path = store.library.link(stored(store, title=title, author=title, source="mill"))

    assert (store.root / "library").resolve() in path.resolve().parents
    assert len(path.relative_to(store.root / "library").parts) == 4


def test_rebuilding_names_everything_that_counts(store):
    commit(store, b"one", media="a1")
    commit(store, b"two", media="b1")
    for path in (store.root / "library").rglob("*.jpg"):
        path.unlink()

    assert store.library.rebuild(store.media.all()) == 2
    assert {path.read_bytes() for path in (store.root / "library").rglob("*.jpg")} == {
        b"one",
        b"two",
    }
