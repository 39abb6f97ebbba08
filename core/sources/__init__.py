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
from core.sources.bilibili import BilibiliAdapter
from core.sources.facebook import FacebookAdapter
from core.sources.feed import KINDS, FeedAdapter
from core.sources.mastodon import MastodonAdapter
from core.sources.rss import AtomAdapter
from core.sources.weibo import WeiboAdapter

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
]

ADAPTERS: dict[str, Adapter] = {
    "feed": FeedAdapter(),
    **KINDS,
    "atom": AtomAdapter(),
    "facebook": FacebookAdapter(),
    "bilibili": BilibiliAdapter(),
    "weibo": WeiboAdapter(),
    "mastodon": MastodonAdapter(),
}


def adapter(name: str) -> Adapter:
    """The adapter that the settings name. Raises `Misconfigured` for one that there is not."""
    try:
        return ADAPTERS[name]
    except KeyError:
        known = ", ".join(sorted(ADAPTERS))
        raise Misconfigured(
            f"there is no adapter {name!r}; choose one of: {known}", reason="unknown_adapter"
        ) from None
