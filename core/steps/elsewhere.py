"""One thing that lies at several addresses, or a media in several renditions: got from the first
that has it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from core.errors import Forbidden, Gone, HeadraceError, NotMedia, Permanent, Transient
from core.model.addresses import strike
from core.model.post import Rendition

logger = logging.getLogger(__name__)

MOST_ALTERNATIVES = 4  # each costs a request, and nothing that is gone has to be gone everywhere
Place = TypeVar("Place")
Got = TypeVar("Got")


def from_first(addresses: Iterable[str], fetch: Callable[[str], Got]) -> Got:
    """What `fetch` makes of the first address that serves. Raises the first's failure where none
    does: it is the one that the source means. What concerns us or the whole source (throttled, the
    disk) is raised at once."""
    distinct = list(dict.fromkeys(addresses))
    return _first_that_serves(distinct, fetch, _is_its_own, strike)


def best_served(renditions: Sequence[Rendition], fetch: Callable[[Rendition], Got]) -> Got:
    """What `fetch` makes of the first rendition that the source does not refuse. Raises the first
    refusal where it refuses them all; what may pass is raised at once, since a retry may get a
    better one."""
    return _first_that_serves(renditions, fetch, is_refusal, lambda one: strike(one.url))


def _first_that_serves(
    places: Sequence[Place],
    fetch: Callable[[Place], Got],
    goes_on: Callable[[HeadraceError], bool],
    shown: Callable[[Place], str],
) -> Got:
    """Tries one place after the other for as long as `goes_on` says so of each failure."""
    first, *others = places
    try:
        return fetch(first)
    except HeadraceError as failure:
        if not goes_on(failure):
            raise
        for before, one in pairwise([first, *others[:MOST_ALTERNATIVES]]):
            logger.info("%s failed; trying %s", shown(before), shown(one))
            try:
                return fetch(one)
            except HeadraceError as another:
                if not goes_on(another):
                    raise
                logger.info("%s", another)
        raise failure from None


def _is_its_own(error: HeadraceError) -> bool:
    """Whether another address of the same thing may do better."""
    return isinstance(error, Permanent | Transient)


def is_refusal(error: HeadraceError) -> bool:
    """Whether a source says with it that it does not serve this very address, be it in a 200's
    clothes."""
    return isinstance(error, Forbidden | Gone | NotMedia) or error.reason == "client_error"
