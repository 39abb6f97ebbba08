"""One source, one file: what a site's pages mean. No I/O."""

from __future__ import annotations

from core.errors import Misconfigured
from core.sources.adapter import Adapter, PageInput
from core.sources.feed import KINDS, FeedAdapter

__all__ = ["ADAPTERS", "Adapter", "PageInput", "adapter"]

ADAPTERS: dict[str, Adapter] = {"feed": FeedAdapter(), **KINDS}


def adapter(name: str) -> Adapter:
    """The adapter that the settings name. Raises `Misconfigured` for one that there is not."""
    try:
        return ADAPTERS[name]
    except KeyError:
        known = ", ".join(sorted(ADAPTERS))
        raise Misconfigured(
            f"there is no adapter {name!r}; choose one of: {known}", reason="unknown_adapter"
        ) from None
