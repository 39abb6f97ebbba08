"""Room on the store's disk: looked at seldom while there is plenty, each time when there is not."""

from __future__ import annotations

import pytest

from core.errors import StorageDown
from core.fetch.room import Room
from tests.support.clock import FakeClock

GB = 1024**3


class Disk:
    """Says how much is free, and counts how often it is asked."""

    def __init__(self, free: int) -> None:
        self.free, self.looks = free, 0

    def __call__(self) -> int:
        self.looks += 1
        return self.free


def test_a_look_that_found_plenty_holds_for_a_moment() -> None:
    disk, clock = Disk(100 * GB), FakeClock()
    room = Room(disk, GB, clock)
    for _ in range(10):
        room.check(30_000)

    assert disk.looks == 1
    clock.advance(0.3)
    room.check()
    assert disk.looks == 2


def test_where_there_is_not_plenty_each_check_looks() -> None:
    disk = Disk(3 * GB)
    room = Room(disk, GB, FakeClock())
    room.check()
    disk.free = GB // 2

    with pytest.raises(StorageDown, match="stay free"):
        room.check()


def test_what_is_large_is_looked_at_however_much_was_free_a_moment_ago() -> None:
    disk = Disk(100 * GB)
    room = Room(disk, GB, FakeClock())
    room.check()

    with pytest.raises(StorageDown, match="are needed"):
        room.check(200 * GB)
