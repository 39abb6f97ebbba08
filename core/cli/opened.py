"""A store opened beside its workers for one errand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.app import writer_name
from core.clock import SystemClock
from core.settings import Settings
from core.store.store import Store


@contextmanager
def opened_store(given: Settings) -> Iterator[Store]:
    """The settings' store, which must be there already. Raises `StorageDown`."""
    clock = SystemClock()
    Store.look(given.store, clock=clock)  # an errand makes no store where there is none
    store = Store.open(given.store, exclusive=False, clock=clock, writer=writer_name())
    try:
        yield store
    finally:
        store.close()
