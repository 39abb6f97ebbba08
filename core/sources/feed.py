"""Any open format: tells RSS, JSON Feed, sitemap, IIIF and list apart by the first bytes, not by
header or name, and leaves the reading to their adapters; an address may be a media itself too. Its
cursor is "ADAPTER CURSOR": pages keep their kind."""

from __future__ import annotations

import re
from dataclasses import replace

from core.errors import HeadraceError, Malformed
from core.model.addresses import strike
from core.model.post import FeedPage
from core.model.request import Request
from core.sources.adapter import Adapter, PageInput, PassesOver
from core.sources.body import behind_prologue, head, malformed, refuse_unreadable
from core.sources.json_page import DECODER
from core.sources.list_rows import delimiter_of
from core.sources.one_media import one_media
from core.sources.registry import ADAPTERS, OPEN_FORMATS

ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, "
    "application/json;q=0.9, text/plain;q=0.8, */*;q=0.5"
)

_ADDRESS_LINE = re.compile(rb"^[ \t]*https?://", re.IGNORECASE | re.MULTILINE)
_SITEMAP = re.compile(rb"<(?:[A-Za-z_][\w.-]{0,40}:)?(?:urlset|sitemapindex)[\s>/]")
_JSON_FEED = b"jsonfeed.org/version/"
_IIIF = (b"iiif.io/api/presentation/", b'"sc:Manifest"', b'"sc:Collection"')


class FeedAdapter:
    """Whatever it turns out to be."""

    name = "feed"
    many_hosts = True  # it may be a list
    stop_after_known = 1
    about = "any of the open formats, or one media itself: told apart by the first bytes"
    example = "https://site.example/feed"

    def request(self, address: str, cursor: str | None) -> Request | None:
        if cursor is not None:
            adapter, inner = _split(cursor, address)
            return adapter.request(address, inner)
        return None if address.startswith("file:") else Request(address, headers={"Accept": ACCEPT})

    def parse(self, page: PageInput) -> FeedPage:
        if page.cursor is not None:
            adapter, inner = _split(page.cursor, page.url)
        elif (alone := one_media(page)) is not None:
            return alone
        else:
            adapter, inner = told_apart(page), None
        return _of_kind(adapter, adapter.parse(replace(page, cursor=inner)))

    def passed_over(self, cursor: str | None, error: HeadraceError) -> FeedPage | None:
        name, _, inner = (cursor or "").partition(" ")
        adapter = ADAPTERS[name] if name in OPEN_FORMATS else None
        found = adapter.passed_over(inner, error) if isinstance(adapter, PassesOver) else None
        return _of_kind(adapter, found) if adapter and found else None


def _of_kind(adapter: Adapter, read: FeedPage) -> FeedPage:
    if read.cursor is None:
        return read
    return read.model_copy(update={"cursor": f"{adapter.name} {read.cursor}"})


def _split(cursor: str, address: str) -> tuple[Adapter, str]:
    name, space, inner = cursor.partition(" ")
    if name not in OPEN_FORMATS or not space:
        words = f"{strike(address)}: {cursor[:60]!r} is no cursor of this feed; start a new walk"
        raise Malformed(words, reason="bad_cursor")
    return ADAPTERS[name], inner


def told_apart(page: PageInput) -> Adapter:
    """The adapter for a first page, by its bytes. Raises `Malformed` when there is none."""
    first = head(page)
    refuse_unreadable(first, page)
    plain = first.replace(b"\0", b"").lstrip()  # UTF-16 shows its ASCII so
    name = _name_of(plain)
    if name is None:
        words = (
            "neither RSS, Atom, JSON Feed, sitemap nor IIIF, nor a list of http addresses, nor a "
            "picture, video or manifest itself"
        )
        raise malformed(page, "unknown_format", words)
    return ADAPTERS[name]


def _name_of(plain: bytes) -> str | None:
    if plain.startswith(b"<"):
        return "sitemap" if _SITEMAP.match(behind_prologue(plain)) else "rss"
    if plain.startswith(b"{"):
        return _name_of_object(plain.replace(rb"\/", b"/"))
    is_list = plain.startswith(b"[") or delimiter_of(plain) or _ADDRESS_LINE.search(plain)
    return "list" if is_list else None


def _name_of_object(plain: bytes) -> str:
    if _JSON_FEED in plain:
        return "jsonfeed"
    if _is_lines(plain):
        return "list"
    return "iiif" if any(word in plain for word in _IIIF) else "jsonfeed"


def _is_lines(plain: bytes) -> bool:
    """Whether each line is an object of its own: the first is one, and has an address or is
    followed by another. A JSON Feed on one line has neither."""
    line, _, rest = plain.partition(b"\n")
    try:
        first, _ = DECODER.raw_decode(line.decode("utf-8", "replace").strip())
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and ("url" in first or rest.lstrip().startswith(b"{"))
