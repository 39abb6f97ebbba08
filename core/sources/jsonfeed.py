"""JSON Feed 1 and 1.1: attachments of one title are renditions of one media, an item's image is a
media too, its banner is decoration."""

from __future__ import annotations

import json

from core.model.post import FeedPage
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.body import MAX_ITEMS, malformed, read_body, too_large
from core.sources.drafts import MediaDraft, PageDraft
from core.sources.jsonfeed_item import author_of, read_item
from core.sources.resolve import base_of
from core.sources.rss import page_request

ACCEPT = "application/feed+json, application/json;q=0.9, */*;q=0.5"

MAX_JSON_BYTES = 32 * 1024**2  # read as a whole, it takes up to twenty times its size

_VERSION = "jsonfeed.org/version/"


class JsonFeedAdapter:
    """Feeds in JSON. The cursor is the next page's absolute address."""

    name = "jsonfeed"
    many_hosts = False

    def request(self, address: str, cursor: str | None) -> Request | None:
        return page_request(address, cursor, ACCEPT)

    def parse(self, page: PageInput) -> FeedPage:
        feed = _load(read_body(page, max_bytes=MAX_JSON_BYTES), page)
        items = feed.get("items")
        if not isinstance(items, list):
            named = _VERSION in str(feed.get("version"))
            words = "no list of items in it; a JSON Feed was expected"
            raise malformed(page, "no_items" if named else "not_a_feed", words)
        if len(items) > MAX_ITEMS:
            raise too_large(page, f"{MAX_ITEMS} items")
        return _read(feed, items, base_of(page.url))


def _load(body: bytes, page: PageInput) -> dict[str, object]:
    text = _decoded(body, page)
    try:
        feed, end = json.JSONDecoder(parse_int=_whole).raw_decode(text)
    except RecursionError as error:
        raise malformed(page, "too_deep", "its JSON nests without end") from error
    except json.JSONDecodeError as error:
        raise malformed(page, *_fault(text, error)) from error
    if text[end:].strip():
        raise malformed(page, "bad_json", f"its JSON goes on behind its end, at character {end}")
    if not isinstance(feed, dict):
        raise malformed(page, "not_a_feed", "its JSON is no object; a JSON Feed was expected")
    return feed


def _whole(digits: str) -> int | str:
    """A number; as the text it is where Python refuses to count so far (thousands of digits)."""
    try:
        return int(digits)
    except ValueError:
        return digits


def _decoded(body: bytes, page: PageInput) -> str:
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding).lstrip("\ufeff \t\r\n")
    except UnicodeDecodeError as error:
        cut = error.end >= len(body)
        words = f"not {encoding} at byte {error.start}"
        raise malformed(page, "truncated" if cut else "bad_json", words) from error


def _fault(text: str, error: json.JSONDecodeError) -> tuple[str, str]:
    """A cut page is refused whole: what is lost may be the address of the next one."""
    place = f"line {error.lineno}, column {error.colno}"
    whole = text.rstrip()
    if whole.startswith("{") and (not whole.endswith("}") or error.pos >= len(whole)):
        return "truncated", f"its JSON is cut off ({place}); fetch it again"
    return "bad_json", f"its JSON can't be read: {error.msg} ({place})"


def _read(feed: dict[str, object], items: list[object], base: str | None) -> FeedPage:
    draft = PageDraft()
    if _VERSION not in str(feed.get("version")):
        draft.notes.append("no JSON Feed version named; read as 1.1")
    if feed.get("expired") is True:
        draft.notes.append("the feed says that it has ended")
    for number, item in enumerate(items, 1):
        _add(item, f"item {number}", base, draft)
    return draft.finish(draft.next_page(feed.get("next_url"), base), author_of(feed))


def _add(item: object, where: str, base: str | None, draft: PageDraft) -> None:
    """One item by itself: what is wrong with it costs no other."""
    if not isinstance(item, dict):
        draft.skip(where, "not_an_object")
        return
    media = MediaDraft(where)
    try:
        post = read_item(item, base, media)
    except (ValueError, RecursionError):  # a value that no record can hold
        draft.skip(where, "unreadable_item")
        return
    draft.add(where, post, media.skipped)
