"""m.weibo.cn's containers: cards, some of which hold a post, some a group of cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from core.model.post import FeedPage
from core.sources.adapter import PageInput
from core.sources.body import leads_back, malformed
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.values import line_of
from core.sources.weibo_address import asked_by, container_of, cursor_of, read_cursor
from core.sources.weibo_draft import Place, PostDraft
from core.sources.weibo_page import Found, PostPage, entries_of
from core.sources.weibo_pictures import add_mobile
from core.sources.weibo_post import TEXT_CUT, draft_of, finished, pictures_told, shared_of
from core.sources.weibo_text import linked_pictures, plain
from core.sources.weibo_video import add_video

NOTHING_HERE = "the site says that there is nothing: no such member, or no posts"

_POST, _GROUP = "9", "11"  # card types
_PINNED_CARD = "proweibotop"
_BID = re.compile(r"[0-9A-Za-z]{1,20}")


def read_container(page: PageInput, body: Item, place: Place) -> FeedPage:
    """A member's index, which only leads on to their posts, or one page of these."""
    draft = PostPage(place)
    if not body:
        if page.cursor is None:
            draft.notes.append(NOTHING_HERE)
        return draft.finish(None)
    data = item_of(body.get("data"))
    container = _asked_container(page)
    if container is None and "tabsInfo" in data:
        return FeedPage(posts=(), cursor=_of_index(page, data), newest_first=True)
    cards = entries_of(page, data.get("cards"), "cards")
    for number, card in enumerate(_flat(cards), 1):
        status = _status_of(card)
        if status is not None:
            draft.add(status, f"item {number}", read_mobile)
    return draft.finish(_next(page, item_of(data.get("cardlistInfo")), container))


def read_mobile(status: Item, where: str, place: Place) -> Found:
    """One post."""
    ident = line_of(status.get("bid")) or line_of(status.get("id")) or line_of(status.get("mid"))
    draft = draft_of(status, where, place, ident=ident)
    for told in (status, shared_of(status, draft)):
        _add_media(draft, told)
    if status.get("isLongText") is True and not _long(status):
        draft.notes.append(TEXT_CUT)
    text = plain(_long(status) or status.get("text"))
    return finished(status, draft, ident=ident, text=text), draft.skipped


def _long(status: Item) -> object:
    return child(status, "longText", "longTextContent") or child(status, "longText", "content")


def _add_media(draft: PostDraft, status: Item) -> None:
    """Pictures, then the one thing that a card below the text shows. A video among the pictures is
    the card's own."""
    pics = status.get("pics")
    listed = list(items_of(pics))
    add_mobile(draft, pics, status.get("live_photo"))
    draft.announce(max(pictures_told(status), len(listed)))
    card = item_of(status.get("page_info"))
    if not any(line_of(one.get("type")) == "video" for one in listed):
        add_video(draft, "its video", card, beside=True)
    if line_of(card.get("type")) == "article":
        cover = draft.rendition(child(card, "page_pic", "url"))
        draft.picture("its article's cover", [cover], key=None, beside=True)
    for address in linked_pictures(status.get("text")):
        found = draft.rendition(address)
        draft.picture("a picture in its text", [found], key=None, beside=True)


def _flat(cards: object) -> Iterator[Item]:
    """Every card, those of groups in their place."""
    for card in items_of(cards):
        if line_of(card.get("card_type")) == _GROUP:
            yield from items_of(card.get("card_group"))
        else:
            yield card


def _status_of(card: Item) -> Item | None:
    """A card's post, with what only the card says of it."""
    told = card.get("mblog")
    if line_of(card.get("card_type")) != _POST or not isinstance(told, dict):
        return None
    status = dict(told)
    if not line_of(status.get("bid")):
        status["bid"] = _short_id(line_of(card.get("scheme")) or "")
    if (line_of(card.get("profile_type_id")) or "").startswith(_PINNED_CARD):
        status["isTop"] = 1
    return status


def _short_id(scheme: str) -> str | None:
    try:
        found = dict(parse_qsl(urlsplit(scheme).query)).get("mblogid", "")
    except ValueError:
        return None
    return found if _BID.fullmatch(found) else None


def _asked_container(page: PageInput) -> str | None:
    asked = asked_by(page.url) | (read_cursor(page.cursor) if page.cursor else {})
    return asked.get("containerid")


def _of_index(page: PageInput, data: Item) -> str:
    """The container of the member's posts, by the tab that shows it."""
    for tab in items_of(child(data, "tabsInfo", "tabs")):
        container = line_of(tab.get("containerid"))
        if line_of(tab.get("tab_type")) == "weibo" and container:
            return cursor_of({"containerid": container})
    uid = line_of(child(data, "userInfo", "id")) or asked_by(page.url).get("value") or ""
    if not uid.isdecimal():
        raise malformed(page, "no_items", "its index names neither the posts' tab nor a member")
    return cursor_of({"containerid": container_of(uid)})


def _next(page: PageInput, info: Item, container: str | None) -> str | None:
    """By the id to go on from, else by the number of the page that comes. Raises `Malformed` where
    all that is told leads back to this page: a list ends with a word, and may not look whole."""
    own = line_of(info.get("containerid")) or container
    asked = read_cursor(page.cursor) if page.cursor else {}
    told = {name: line_of(info.get(name)) for name in ("since_id", "page")}
    ways = {name: to for name, to in told.items() if to and to != "0"}
    for name, to in ways.items():
        if to != asked.get(name):
            return cursor_of(({"containerid": own} if own else {}) | {name: to})
    if ways:
        raise leads_back(page)
    return None
