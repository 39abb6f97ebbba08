"""RSS 2.0 and 1.0 and Atom, with enclosures and Media RSS.

The XML is read here and not by feedparser: that flattens `media:group`, so that three renditions
become three media, and makes up dates. It serves where tags do not match (rss_loose.py)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from core.errors import Malformed
from core.model.post import Author, FeedPage, Post
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.body import MAX_ITEMS, malformed, read_body, too_large
from core.sources.drafts import MediaDraft, PageDraft
from core.sources.media_rss import relation
from core.sources.resolve import base_of
from core.sources.rss_item import atom_author, read_item
from core.sources.rss_loose import NotReadable, read_entry, read_loose
from core.sources.xml_page import IllFormedXml, feed_children
from core.sources.xml_repair import repaired

ACCEPT = "application/rss+xml, application/atom+xml, application/xml;q=0.9, */*;q=0.5"

_ITEMS = frozenset(["item", "atom:entry"])


class RssAdapter:
    """Feeds in XML. The cursor is the next page's absolute address."""

    name = "rss"
    many_hosts = False
    stop_after_known = 1
    about = "RSS, with enclosures and Media RSS; Atom too"
    example = "https://site.example/feed.rss"

    def request(self, address: str, cursor: str | None) -> Request | None:
        return page_request(address, cursor, ACCEPT)

    def parse(self, page: PageInput) -> FeedPage:
        body = read_body(page)
        try:
            return _read(body, page)
        except IllFormedXml as fault:
            if fault.cut:
                raise _cut(page, fault) from fault
            return _read_mended(repaired(body, page.content_type), page, fault)


class AtomAdapter(RssAdapter):
    """The same reader, for settings that call the feed what it is."""

    name = "atom"
    about = "Atom, with enclosures and Media RSS; RSS too"
    example = "https://site.example/feed.atom"


def page_request(address: str, cursor: str | None, accept: str) -> Request | None:
    """A page by its address; None for a local file, which the walk keeps."""
    url = cursor or address
    return None if url.startswith("file:") else Request(url, headers={"Accept": accept})


def _cut(page: PageInput, fault: IllFormedXml) -> Malformed:
    """A cut page that has items is refused as well: it lacks its link to the next page, so the walk
    would end here as complete and the rest be lost."""
    return malformed(page, "truncated", f"the feed is cut off ({fault}); fetch it again")


def _read_mended(document: bytes, page: PageInput, fault: IllFormedXml) -> FeedPage:
    note = f"not well-formed XML ({fault}); read after mending it"
    try:
        return _noted(_read(document, page), note)
    except IllFormedXml as again:
        if again.cut:
            raise _cut(page, again) from again
        return _noted(_read_loosely(document, page, again), f"{note}; its tags do not match")


def _noted(page: FeedPage, note: str) -> FeedPage:
    return page.model_copy(update={"notes": (note, *page.notes)})


def _read(body: bytes, page: PageInput) -> FeedPage:
    draft, items = PageDraft(), 0
    author: Author | None = None
    cursor: str | None = None
    for child in feed_children(body, page):
        if child.name in _ITEMS:
            items += 1
            if items > MAX_ITEMS:
                raise too_large(page, f"{MAX_ITEMS} items")
            _add(partial(read_item, child.element, child.base), f"item {items}", draft)
        elif child.name == "atom:author":
            author = author or atom_author(child.element)
        elif child.name == "atom:link" and relation(child.element) == "next":
            cursor = cursor or draft.next_page(child.element.get("href"), child.base)
    return draft.finish(cursor, author)


def _add(read: Callable[[MediaDraft], Post], where: str, draft: PageDraft) -> None:
    """One item by itself: what is wrong with it costs no other."""
    media = MediaDraft(where)
    try:
        post = read(media)
    except ValueError:  # a value that no record can hold
        draft.skip(where, "unreadable_item")
        return
    draft.add(where, post, media.skipped)


def _read_loosely(document: bytes, page: PageInput, fault: IllFormedXml) -> FeedPage:
    draft, base = PageDraft(), base_of(page.url)
    try:
        loose = read_loose(document)
    except NotReadable as error:
        words = f"not readable as XML: {fault}; {error}"
        raise malformed(page, "bad_xml", words) from error
    for number, entry in enumerate(loose.entries, 1):
        _add(partial(read_entry, entry, base), f"item {number}", draft)
    return draft.finish(draft.next_page(loose.next_address, base))
