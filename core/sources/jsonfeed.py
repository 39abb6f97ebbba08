"""JSON Feed 1 and 1.1: attachments of one title are renditions of one media, an item's image is a
media too, its banner is decoration."""

from __future__ import annotations

from core.model.post import FeedPage
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.body import MAX_ITEMS, malformed, too_large
from core.sources.drafts import PageDraft
from core.sources.json_page import Item, load_json
from core.sources.jsonfeed_item import author_of, read_item
from core.sources.resolve import base_of
from core.sources.rss import page_request

ACCEPT = "application/feed+json, application/json;q=0.9, */*;q=0.5"

_VERSION = "jsonfeed.org/version/"


class JsonFeedAdapter:
    """Feeds in JSON. The cursor is the next page's absolute address."""

    name = "jsonfeed"
    many_hosts = False
    stop_after_known = 1
    about = "JSON Feed 1 and 1.1"
    example = "https://site.example/feed.json"

    def request(self, address: str, cursor: str | None) -> Request | None:
        return page_request(address, cursor, ACCEPT)

    def parse(self, page: PageInput) -> FeedPage:
        feed = load_json(page, "a JSON Feed")
        items = feed.get("items")
        if not isinstance(items, list):
            named = _VERSION in str(feed.get("version"))
            words = "no list of items in it; a JSON Feed was expected"
            raise malformed(page, "no_items" if named else "not_a_feed", words)
        if len(items) > MAX_ITEMS:
            raise too_large(page, f"{MAX_ITEMS} items")
        return _read(feed, items, base_of(page.url))


def _read(feed: Item, items: list[object], base: str | None) -> FeedPage:
    draft = PageDraft()
    if _VERSION not in str(feed.get("version")):
        draft.notes.append("no JSON Feed version named; read as 1.1")
    if feed.get("expired") is True:
        draft.notes.append("the feed says that it has ended")
    draft.add_each(items, lambda item, media: read_item(item, base, media))
    return draft.finish(draft.next_page(feed.get("next_url"), base), author_of(feed))
