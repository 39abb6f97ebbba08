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
Got = TypeVar("Got")


def from_first(addresses: Iterable[str], fetch: Callable[[str], Got]) -> Got:
    """What `fetch` makes of the first address that serves. Raises the first's failure where none
    does: it is the one that the source means. What concerns us or the whole source (throttled, the
    disk) is raised at once."""
    first, *others = dict.fromkeys(addresses)
    tried = [first, *others[:MOST_ALTERNATIVES]]
    try:
        return fetch(first)
    except (Permanent, Transient) as failure:
        for before, url in pairwise(tried):
            logger.info("%s failed; trying %s", strike(before), strike(url))
            try:
                return fetch(url)
            except (Permanent, Transient) as another:
                logger.info("%s", another)
        raise failure from None


def best_served(renditions: Sequence[Rendition], fetch: Callable[[Rendition], Got]) -> Got:
    """What `fetch` makes of the first rendition that the source does not refuse. Raises the first
    refusal where it refuses them all; what may pass is raised at once, since a retry may get a
    better one."""
    first, *others = renditions
    try:
        return fetch(first)
    except Permanent as refusal:
        if not is_refusal(refusal):
            raise
        for before, one in pairwise([first, *others[:MOST_ALTERNATIVES]]):
            logger.info("%s is refused; trying %s", strike(before.url), strike(one.url))
            try:
                return fetch(one)
            except Permanent as another:
                if not is_refusal(another):
                    raise
                logger.info("%s", another)
        raise refusal from None


def is_refusal(error: HeadraceError) -> bool:
    """Whether a source says with it that it does not serve this very address, be it in a 200's
    clothes."""
    return isinstance(error, Forbidden | Gone | NotMedia) or error.reason == "client_error"
