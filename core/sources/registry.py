"""Which adapter is where. Each is imported when it is first asked for: all of them would be a tenth
of a command's start."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

from core.sources.adapter import Adapter

OPEN_FORMATS = ("rss", "jsonfeed", "sitemap", "iiif", "list")  # what a `feed` may turn out to be

_PLACES = {
    "feed": ("feed", "FeedAdapter"),
    "rss": ("rss", "RssAdapter"),
    "jsonfeed": ("jsonfeed", "JsonFeedAdapter"),
    "sitemap": ("sitemap", "SitemapAdapter"),
    "iiif": ("iiif", "IiifAdapter"),
    "list": ("lists", "ListAdapter"),
    "atom": ("rss", "AtomAdapter"),
    "facebook": ("facebook", "FacebookAdapter"),
    "bilibili": ("bilibili", "BilibiliAdapter"),
    "weibo": ("weibo", "WeiboAdapter"),
    "mastodon": ("mastodon", "MastodonAdapter"),
}

# A part of every address by which a source knows its own, whatever the host: without one of these
# nobody has to be imported to be asked.
_LOOKS = {
    "facebook": ("facebook.", "fb."),
    "bilibili": ("bilibili.", "/x/"),
    "weibo": ("weibo.", "/api/container/", "/ajax/", "/statuses/"),
    "mastodon": ("/api/v1/accounts/",),
}


class Registry(MutableMapping[str, Adapter]):
    """Adapters by their names, one of each."""

    def __init__(self, places: dict[str, tuple[str, str]]) -> None:
        self._places = places
        self._made: dict[str, Adapter] = {}

    def __getitem__(self, name: str) -> Adapter:
        made = self._made.get(name)
        if made is None:
            module, kind = self._places[name]
            new: Adapter = getattr(import_module(f"core.sources.{module}"), kind)()
            made = self._made.setdefault(name, new)
        return made

    def likely(self, address: str) -> Iterator[Adapter]:
        """Those whose own an address may be, by its looks; the others were none."""
        looks = address.lower()
        for name in self:
            if name in self._made or any(part in looks for part in _LOOKS.get(name, ())):
                yield self[name]

    def __setitem__(self, name: str, adapter: Adapter) -> None:
        self._made[name] = adapter

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


ADAPTERS = Registry(_PLACES)
