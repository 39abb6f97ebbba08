"""Disks that fail and processes that die at every step of what is kept of a video: afterwards a
piece is whole or absent, one plan stands, and doing it again converges."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.store.store import Store
from tests.support.staged import GONE, put, staged_video
from tests.support.store import MEDIA, dying_disk, failing_disk, full_disk, open_store
from tests.support.store_faults import each_step

SEGMENT = b"water" * 5000
ANOTHER = b"wheel" * 5000
RENEWED = staged_video(sign="b").model_copy(update={"generation": 2})
CHANGED = RENEWED.model_copy(update={"layout": 2})
DISKS = {
    "full once": lambda at: failing_disk(at, errno.ENOSPC),
    "broken once": lambda at: failing_disk(at, errno.EIO),
    "full for good": full_disk,
    "dying": dying_disk,
}


def plan(store: Store) -> None:
    store.videos.put_plan(staged_video())


def keep_a_piece(store: Store) -> None:
    plan(store)
    put(store, 0, SEGMENT)


def keep_it_twice(store: Store) -> None:
    """Two workers got the same piece, as two servers of the source have it."""
    plan(store)
    put(store, 0, SEGMENT, token="t1")
    put(store, 0, ANOTHER, token="t2")


def bury_a_piece(store: Store) -> None:
    plan(store)
    store.videos.bury(MEDIA, 1, 1, GONE)


def renew_the_plan(store: Store) -> None:
    keep_a_piece(store)
    store.videos.renew_plan(RENEWED)


def change_the_plan(store: Store) -> None:
    """The manifest describes other pieces than before."""
    keep_a_piece(store)
    store.videos.renew_plan(CHANGED)
    store.videos.drop_others(MEDIA, CHANGED.layout)


def clear_all(store: Store) -> None:
    keep_a_piece(store)
    (store.videos.workspace(MEDIA, "t1") / "joined.ts").write_bytes(SEGMENT)
    store.videos.clear(MEDIA)


WORK = [
    plan,
    keep_a_piece,
    keep_it_twice,
    bury_a_piece,
    renew_the_plan,
    change_the_plan,
    clear_all,
]


@pytest.fixture(params=DISKS)
def disk(request: pytest.FixtureRequest) -> Callable[[int], type]:
    return DISKS[request.param]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    open_store(tmp_path / "s").close()
    return tmp_path / "s"


def assert_nothing_is_half(root: Path) -> None:
    """A piece is whole or absent, and none is there without its plan."""
    for folder in root.glob("staging/ab/*.pieces"):
        assert (folder / "plan.json").read_bytes().endswith(b"}\n")
        for path in folder.iterdir():
            if path.name.isdigit():
                assert path.read_bytes() in (SEGMENT, ANOTHER)
            else:
                assert path.read_bytes().endswith(b"}\n")


def assert_converges(store: Store, work: Callable[[Store], None]) -> None:
    work(store)
    standing = store.videos.standing(MEDIA, 3, 1)
    kept = (keep_a_piece, keep_it_twice, renew_the_plan)
    assert standing.present == ({0} if work in kept else set())
    assert standing.dead == ({1: GONE} if work is bury_a_piece else {})


def assert_clears(store: Store) -> None:
    for media in list(store.staging.media()):
        store.staging.clear(media)
    assert list(store.root.glob("staging/ab/*")) == []
    assert list(store.root.glob("staging/unnamed/*")) == []


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_a_piece_is_whole_or_absent_and_a_rerun_converges(root, disk, work):
    for place in each_step(root, disk, work, from_opening=False):
        assert_nothing_is_half(place)
        with closing(open_store(place, exclusive=True)) as store:
            assert_converges(store, work)
            assert_clears(store)


def test_what_a_fault_left_is_found_and_cleared(root, disk):
    for place in each_step(root, disk, keep_it_twice, from_opening=False):
        with closing(open_store(place, exclusive=True)) as store:
            assert_clears(store)


def test_a_piece_whose_put_returned_stays_whatever_fails_later(root, disk):
    returned: list[bool] = []

    def keep_two_pieces(store: Store) -> None:
        keep_a_piece(store)
        returned.append(True)
        put(store, 1, ANOTHER)

    for place in each_step(root, disk, keep_two_pieces, from_opening=False):
        if returned:
            assert (place / "staging" / "ab" / f"{MEDIA}.pieces" / "000000").read_bytes() == SEGMENT
        returned.clear()


def test_whoever_dies_in_renewing_a_plan_leaves_the_old_or_the_new_one_whole(root):
    for place in each_step(root, dying_disk, renew_the_plan, from_opening=False):
        with closing(open_store(place, exclusive=True)) as store:
            assert store.videos.plan(MEDIA) in (None, staged_video(), RENEWED)


def test_a_plan_whose_renewal_returned_stays_whatever_fails_later(root, disk):
    returned: list[bool] = []

    def renew_and_go_on(store: Store) -> None:
        change_the_plan(store)
        returned.append(True)
        put(store, 1, ANOTHER)

    for place in each_step(root, disk, renew_and_go_on, from_opening=False):
        if returned:
            with closing(open_store(place, exclusive=True)) as store:
                assert store.videos.plan(MEDIA) == CHANGED
        returned.clear()


def test_whoever_dies_in_clearing_leaves_a_whole_video_or_none(root):
    for place in each_step(root, dying_disk, clear_all, from_opening=False):
        with closing(open_store(place, exclusive=True)) as store:
            present = store.videos.standing(MEDIA, 3, 1).present

            assert store.videos.plan(MEDIA) == staged_video() or not present
