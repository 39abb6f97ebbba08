"""One thing that lies at several addresses: got from the first that has it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeVar

from core.errors import Permanent, Transient
from core.model.addresses import strike

logger = logging.getLogger(__name__)

Got = TypeVar("Got")


def from_first(addresses: Iterable[str], fetch: Callable[[str], Got]) -> Got:
    """What `fetch` makes of the first address that serves. Raises the first's failure where none
    does: it is the one that the source means. What concerns us or the whole source (throttled, the
    disk) is raised at once."""
    first, *others = dict.fromkeys(addresses)
    try:
        return fetch(first)
    except (Permanent, Transient) as failure:
        for before, url in pairwise([first, *others]):
            logger.info("%s failed; trying %s", strike(before), strike(url))
            try:
                return fetch(url)
            except (Permanent, Transient) as another:
                logger.info("%s", another)
        raise failure from None
