"""Asking for one thing by itself, beside a page or in place of one: what may pass is given a second
chance, and an answer that was cut is told as what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from core.errors import EmptyBody, Malformed, ServerTrouble, Truncated
from core.sources.body import CUT_REASONS

# Said of one answer. Timeouts, lost connections and all that is postponed say something about the
# source or about us.
PASSING = (ServerTrouble, Truncated, EmptyBody)
ENOUGH_IN_TROUBLE = 3  # things of one page, and nothing else had: then it is the source's trouble

Read = TypeVar("Read")


def asked_once(read: Callable[[], Read]) -> Read:
    """What `read` gives. Raises `Truncated` for an answer that was cut on its way: no adapter's
    page reader stands behind this question to ask it once more."""
    try:
        return read()
    except Malformed as error:
        if error.reason not in CUT_REASONS:
            raise
        raise Truncated(str(error), reason=error.reason) from error


def asked_twice(read: Callable[[], Read], *, lasting: str | None = None) -> Read:
    """The same, with one more try for what may pass: what is noted as missing stays so. `lasting`
    is the reason of what the same question would meet again."""
    try:
        return asked_once(read)
    except PASSING as error:
        if error.reason == lasting:
            raise
        return asked_once(read)
