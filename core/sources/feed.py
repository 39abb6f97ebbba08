"""Any feed: tells RSS, JSON Feed and text list apart by the first bytes, not by header or name,
and leaves the reading to their adapters. Its cursor is "ADAPTER CURSOR": pages keep their kind."""

from __future__ import annotations

import re

from core.errors import Malformed
from core.model.addresses import strike
from core.model.post import FeedPage
from core.model.request import Request
from core.sources.adapter import Adapter, PageInput
from core.sources.body import head, malformed, refuse_unreadable
from core.sources.jsonfeed import JsonFeedAdapter
from core.sources.rss import RssAdapter
from core.sources.text_list import ListAdapter

KINDS: dict[str, Adapter] = {
    adapter.name: adapter for adapter in (RssAdapter(), JsonFeedAdapter(), ListAdapter())
}
ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, "
    "application/json;q=0.9, text/plain;q=0.8, */*;q=0.5"
)

_ADDRESS_LINE = re.compile(rb"^[ \t]*https?://", re.IGNORECASE | re.MULTILINE)


class FeedAdapter:
    """Whatever it turns out to be."""

    name = "feed"
    many_hosts = True  # it may be a list

    def request(self, address: str, cursor: str | None) -> Request | None:
        if cursor is not None:
            adapter, inner = _split(cursor, address)
            return adapter.request(address, inner)
        return None if address.startswith("file:") else Request(address, headers={"Accept": ACCEPT})

    def parse(self, page: PageInput) -> FeedPage:
        if page.cursor is not None:
            adapter, inner = _split(page.cursor, page.url)
        else:
            adapter, inner = told_apart(page), None
        read = adapter.parse(
            PageInput(
                stream=page.stream, url=page.url, content_type=page.content_type, cursor=inner
            )
        )
        if read.cursor is None:
            return read
        return read.model_copy(update={"cursor": f"{adapter.name} {read.cursor}"})


def _split(cursor: str, address: str) -> tuple[Adapter, str]:
    name, space, inner = cursor.partition(" ")
    if name not in KINDS or not space:
        words = f"{strike(address)}: {cursor[:60]!r} is no cursor of this feed; start a new walk"
        raise Malformed(words, reason="bad_cursor")
    return KINDS[name], inner


def told_apart(page: PageInput) -> Adapter:
    """The adapter for a first page, by its bytes. Raises `Malformed` when there is none."""
    first = head(page)
    refuse_unreadable(first, page)
    plain = first.replace(b"\0", b"").lstrip()  # UTF-16 shows its ASCII so
    if plain.startswith(b"<"):
        return KINDS["rss"]
    if plain.startswith((b"{", b"[")):
        return KINDS["jsonfeed"]
    if _ADDRESS_LINE.search(plain):
        return KINDS["list"]
    words = "neither RSS, Atom nor JSON Feed, nor a list of http addresses"
    raise malformed(page, "unknown_format", words)
