"""The open API's timeline. It lists thumbnails, of which the other sizes are known by their path,
and no videos. Of a long text it gives the beginning, and says so in `truncated`: no endpoint that
the formats page knows gives the rest to a token.

Its `next_cursor` is called unsupported by its older documentation: 0 in it ends the list only where
the page before had one. Else the walk goes on from the smallest id, inclusive, until nothing but
that comes back: no history is lost to a field that is not filled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from core.model.post import FeedPage, Rendition
from core.sources.adapter import PageInput
from core.sources.body import leads_back
from core.sources.json_page import Item, items_of
from core.sources.media_types import extension_of
from core.sources.resolve import Unusable
from core.sources.values import line_of, text_of
from core.sources.weibo_address import cursor_of, read_cursor
from core.sources.weibo_draft import Place, PostDraft
from core.sources.weibo_page import Found, PostPage, entries_of
from core.sources.weibo_post import (
    draft_of,
    finished,
    incomplete,
    key_of,
    missing_of,
    pictures_told,
    shared_of,
)

# Of an id that `next_cursor` told: it is the last one listed, or the first one that is not.
_SEEN, _UNSEEN = "1", "2"
DUPLICATE = "duplicate_max_id_is_inclusive"

_SIZES = ("large", "bmiddle", "thumbnail")
_SIZE = re.compile(r"/(?:thumbnail|bmiddle|large|square|wap180|wap360|orj360|thumb150)/")
_EXTENSION = re.compile(r"\.[A-Za-z]{3,4}$")
_ID = re.compile(r"\d{1,20}")


def read_timeline(page: PageInput, body: Item, place: Place) -> FeedPage:
    """One page of statuses."""
    entries = entries_of(page, body.get("statuses"), "statuses")
    asked = read_cursor(page.cursor) if page.cursor else {}
    draft = PostPage(place)
    ids = [key_of(one) if isinstance(one, dict) else None for one in entries]
    seen = None if asked.get("told") == _UNSEEN else asked.get("max_id")
    for number, (status, ident) in enumerate(zip(entries, ids, strict=True), 1):
        if ident is not None and ident == seen:
            draft.skip(ident, DUPLICATE)
        else:
            draft.add(status, f"item {number}", _read)
    is_news = any(ident != seen for ident in ids)
    following = _next(body, ids, asked) if is_news else None
    if following is not None and read_cursor(following)["max_id"] == asked.get("max_id"):
        raise leads_back(page)
    return draft.finish(following)


def _read(status: Item, where: str, place: Place) -> Found:
    draft = draft_of(status, where, place, ident=None)
    for told in (status, shared_of(status, draft)):
        _add_pictures(draft, told)
    if status.get("truncated") is True:
        draft.notes.append("its text is cut off; the open API gives no more of it")
    post = finished(status, draft, ident=None, text=text_of(status.get("text")))
    if missing_of(post):  # there is no second look: it tells no post apart from the list
        draft.skip("", incomplete(post))
        post = post.model_copy(update={"notes": (*post.notes, incomplete(post))})
    return post, draft.skipped


def _add_pictures(draft: PostDraft, status: Item) -> None:
    listed = [one.get("thumbnail_pic") for one in items_of(status.get("pic_urls"))]
    single = line_of(status.get("original_pic")) or line_of(status.get("thumbnail_pic"))
    thumbnails = listed or ([single] if single else [])
    for number, raw in enumerate(thumbnails, 1):
        draft.picture(f"picture {number}", _sizes(draft, raw, single), key=None)
    draft.announce(max(pictures_told(status), len(thumbnails)))


def _sizes(draft: PostDraft, raw: object, single: str | None) -> Iterator[Rendition | None]:
    """By the path. A moving picture may have a still for its thumbnail; then the one whole address
    that the status has, of its first picture, tells."""
    address = draft.place.address(raw)
    if isinstance(address, Unusable):
        return
    if single and extension_of(single) == ".gif" and _stem(single) == _stem(address):
        address = _EXTENSION.sub(".gif", address)
    if not _SIZE.search(address):
        yield draft.rendition(address)
        return
    for name in _SIZES:
        yield draft.rendition(_SIZE.sub(f"/{name}/", address, count=1), quality=name)


def _stem(url: str) -> str:
    return _EXTENSION.sub("", url.rpartition("/")[2])


def _next(body: Item, ids: Iterable[str | None], asked: Mapping[str, str]) -> str | None:
    least = min((_whole(ident) for ident in ids if _whole(ident)), default=0)
    told = _whole(line_of(body.get("next_cursor")))
    if not least or (not told and "told" in asked):
        return None
    if 0 < told <= least:
        return cursor_of({"max_id": str(told), "told": _SEEN if told == least else _UNSEEN})
    return cursor_of({"max_id": str(least)})


def _whole(text: str | None) -> int:
    """An id as a number; 0 for what is none."""
    return int(text) if text and _ID.fullmatch(text) else 0
