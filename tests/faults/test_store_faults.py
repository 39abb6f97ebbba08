"""Disks that fail and processes that die at every step of what the store does: afterwards nothing
is half, and doing it again converges."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.model.end import MediaEnd
from core.model.walk import WalkState
from core.store.posts import Seen
from core.store.store import Store
from tests.support.store import (
    FEED,
    MEDIA,
    SOURCE,
    commit,
    dead,
    dying_disk,
    failing_disk,
    full_disk,
    open_store,
    page,
    post,
    sha256,
    walk_end,
)
from tests.support.store_faults import each_step

CONTENT = b"the wheel turns" * 100


def commit_one(store: Store) -> None:
    commit(store, CONTENT)


def read_page(store: Store) -> None:
    """A feed read once, as `discover` does it."""
    walk, _ = store.walks.open_or_resume(FEED, now=1_000_000.0)
    posts = [post(str(index)) for index in range(12)]
    store.posts.put_page(posts, source=SOURCE, feed=FEED, walk=walk.walk)
    store.walks.end_page(page(walk.walk))
    store.walks.close(walk_end(walk.walk))


def reopen_one(store: Store) -> None:
    store.media.end(dead())
    store.media.reopen(MEDIA, 1)


def merge_sums(store: Store) -> None:
    store.sums.rebuild()
    store.sums.merge()


WORK = [commit_one, read_page, reopen_one, merge_sums]


@pytest.fixture
def root(tmp_path):
    open_store(tmp_path / "s").close()
    return tmp_path / "s"


def assert_nothing_is_half(root: Path) -> None:
    for path in (root / "objects").rglob("*"):
        if path.is_file():
            assert sha256(path.read_bytes()) == path.name
    for path in root.rglob("*.json"):
        if "staging" not in path.parts:
            assert path.read_bytes().endswith(b"}\n"), path


def assert_converges(root: Path, work: Callable[[Store], None]) -> None:
    with_store = open_store(root, exclusive=True)
    work(with_store)
    match work.__name__:
        case "commit_one":
            assert isinstance(with_store.media.newest(MEDIA), MediaEnd)
            assert with_store.objects.path(sha256(CONTENT)).read_bytes() == CONTENT
            assert len(list((root / "library").rglob("*.jpg"))) == 1
            assert sha256(CONTENT) in with_store.sums.merge().read_text()
            assert with_store.sums.tally()[SOURCE].got == 1
        case "read_page":
            walks = list(with_store.walks.all(FEED))
            assert with_store.walks.completed(FEED, walks[0].walk)
            seen = with_store.posts.put(post("3"), source=SOURCE, feed=FEED, walk="later")
            assert seen is Seen.KNOWN
        case "reopen_one":
            assert with_store.media.generation(MEDIA) == 2
        case "merge_sums":
            assert (root / "SHA256SUMS").is_file()
    with_store.close()
    assert list((root / "staging" / "unnamed").iterdir()) == []


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_once_leaves_nothing_half_and_a_rerun_converges(root, work, fault):
    for place in each_step(root, lambda at: failing_disk(at, fault), work):
        assert_nothing_is_half(place)
        assert_converges(place, work)


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_a_disk_that_fills_leaves_nothing_half_and_a_rerun_converges(root, work):
    for place in each_step(root, full_disk, work):
        assert_nothing_is_half(place)
        assert_converges(place, work)


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_a_process_that_dies_leaves_nothing_half_and_a_rerun_converges(root, work):
    for place in each_step(root, dying_disk, work):
        assert_nothing_is_half(place)
        assert_converges(place, work)


def test_a_record_never_stands_without_its_object(root):
    for place in each_step(root, dying_disk, commit_one):
        store = open_store(place, exclusive=True)
        end = store.media.newest(MEDIA)
        if end is not None:
            assert store.objects.has(end.file.sha256)
        store.close()


def test_a_page_is_never_recorded_before_its_posts(root):
    for place in each_step(root, dying_disk, read_page):
        store = open_store(place, exclusive=True)
        for walk in store.walks.all(FEED):
            if store.walks.page(FEED, walk.walk, 1) is not None:
                ids = [post(str(index)).id(SOURCE) for index in range(12)]
                assert all(store.posts.newest(ident) for ident in ids)
        store.close()


def test_a_walk_that_a_crash_left_open_is_resumed_not_doubled(root):
    for place in each_step(root, dying_disk, read_page):
        store = open_store(place, exclusive=True)
        read_page(store)
        open_ones = [
            walk for walk in store.walks.all(FEED) if store.walks.end_of(FEED, walk.walk) is None
        ]
        store.close()

        assert open_ones == []


def test_a_broken_walk_is_followed_by_a_new_one(root):
    store = open_store(root)
    walk, _ = store.walks.open_or_resume(FEED, now=1_000_000.0)
    store.walks.close(walk_end(walk.walk, WalkState.BROKEN))
    following, resumed = store.walks.open_or_resume(FEED, now=1_000_000.0)
    store.close()

    assert not resumed
    assert following != walk


COMMITTER = """
import hashlib, sys
from collections.abc import Callable
from pathlib import Path
from tests.support.store import commit, open_store

store = open_store(Path(sys.argv[1]))
for number in range(10_000):
    content = hashlib.sha512(f"{sys.argv[2]} {number // 2}".encode()).digest() * 2_000
    commit(store, content, media=f"m{number}", token=sys.argv[2])
    print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 3, 8, 21, 34])
def test_after_kill_9_every_object_is_what_it_is_named(root, after):
    child = subprocess.Popen(
        [sys.executable, "-c", COMMITTER, root, str(after)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
    )
    with child:
        for _ in range(after):
            child.stdout.readline()
        child.kill()

    assert_nothing_is_half(root)
    store = open_store(root, exclusive=True)
    ends = list(store.media.all())
    assert len(ends) >= after
    assert all(store.objects.has(end.file.sha256) for end in ends)
    listed = store.sums.merge().read_text().split()[::2]
    assert set(listed) == {end.file.sha256 for end in ends}
    assert store.sums.tally()[SOURCE].got == len(ends)
    store.close()
