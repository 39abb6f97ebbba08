"""Work done on a store once for each operation that can go wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from core.errors import StorageDown
from core.store.store import Store
from tests.support.store import Died, open_store

MAX_STEPS = 400  # no operation takes that many; a loop without an end would


def die(store: Store) -> None:
    """What the system does when a process ends: its locks and files are gone, nothing is said."""
    store.sums.forget()
    store._lock.forget()


def each_step(
    root: Path,
    make_disk: Callable[[int], type],
    work: Callable[[Store], None],
    *,
    from_opening: bool = True,
) -> Iterator[Path]:
    """Do `work` on a fresh store for each operation that can go wrong, and give each outcome. The
    store's opening is among them, if not told otherwise."""
    for at in range(1, MAX_STEPS):
        place = root.with_name(f"s{at}")
        open_store(place).close()
        disk = make_disk(at if from_opening else MAX_STEPS)
        store = open_store_at(place, disk)
        disk.at = at if from_opening else disk.count + at
        if store is not None:
            with suppress(StorageDown, Died):
                work(store)
            die(store)
        if disk.count < disk.at:
            return
        yield place
    raise AssertionError(f"{work.__name__} does not end")


def open_store_at(place: Path, disk: type) -> Store | None:
    try:
        return open_store(place, disk=disk)
    except (StorageDown, Died):
        return None
