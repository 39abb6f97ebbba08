"""One source, one file: what a site's pages mean. No I/O."""

from __future__ import annotations

from core.errors import Misconfigured
from core.sources.adapter import (
    Adapter,
    ChecksAddresses,
    Completes,
    Described,
    KnowsPlaceholders,
    NoticesRepeats,
    PageInput,
    PassesOver,
    Recognises,
    Renews,
    Secrets,
    Signs,
)
from core.sources.registry import ADAPTERS

__all__ = [
    "ADAPTERS",
    "Adapter",
    "ChecksAddresses",
    "Completes",
    "Described",
    "KnowsPlaceholders",
    "NoticesRepeats",
    "PageInput",
    "PassesOver",
    "Recognises",
    "Renews",
    "Secrets",
    "Signs",
    "adapter",
    "recogniser",
]


def adapter(name: str) -> Adapter:
    """The adapter that the settings name. Raises `Misconfigured` for one that there is not."""
    try:
        return ADAPTERS[name]
    except KeyError:
        known = ", ".join(sorted(ADAPTERS))
        raise Misconfigured(
            f"there is no adapter {name!r}; choose one of: {known}", reason="unknown_adapter"
        ) from None


def recogniser(address: str) -> Adapter | None:
    """The named source that an address is of, by its looks."""
    known = (one for one in ADAPTERS.likely(address) if isinstance(one, Recognises))
    return next((one for one in known if one.reads(address)), None)
