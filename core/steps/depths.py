"""How much a source has open, counted in three ways: for those who must not wait for themselves."""

from __future__ import annotations

from typing import Protocol

from core.model.task import Kind
from core.ports import Depths, Ledger

# All but the pages, and the joins, which lie in a lane that no source has for its own.
_TO_BE_GOT = tuple(kind for kind in Kind if kind not in (Kind.DISCOVER, Kind.VERIFY))


class OpenDepth(Protocol):
    """How much a source has open."""

    def __call__(self, source: str) -> int: ...


def open_depth(depths: Depths, ledger: Ledger) -> OpenDepth:
    """Ready, leased and delayed tasks of a source together, without its pages of feeds: those wait
    for the rest to become less, and a thousand of them would wait for each other for ever."""

    def depth(source: str) -> int:
        work = ledger.open_work(source)
        return depths.ready(source, *_TO_BE_GOT) + work.leased + work.delayed - work.pages

    return depth


def whole_depth(depths: Depths, ledger: Ledger) -> OpenDepth:
    """The same with the pages: whoever puts feeds in bounds these too."""

    def depth(source: str) -> int:
        work = ledger.open_work(source)
        return depths.ready(source) + work.leased + work.delayed

    return depth


def fragment_depth(depths: Depths, ledger: Ledger) -> OpenDepth:
    """Only the pieces of videos, also those that a host keeps waiting in the delay queues."""

    def depth(source: str) -> int:
        return depths.ready(source, Kind.FRAGMENT) + ledger.open_work(source).fragments

    return depth
