"""An account's public posts on a Mastodon server, by the API that answers everybody: the worked
example of docs/add-a-source.md."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from core.model.post import Author, FeedPage, MediaKind, Post, Rendition
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.body import malformed
from core.sources.dates import read_date
from core.sources.drafts import MediaDraft, Offer, PageDraft
from core.sources.json_page import SOURCE_JSON_BYTES, Item, child, item_of, items_of, load_value
from core.sources.resolve import Unusable, base_of, resolve
from core.sources.rss import page_request
from core.sources.values import count_of, line_of, text_of

# A «gifv» was a GIF once; servers keep it as a silent MP4.
_KINDS = {"image": MediaKind.IMAGE, "video": MediaKind.VIDEO, "gifv": MediaKind.VIDEO}


class MastodonAdapter:
    """The cursor is the next page's absolute address, on the host that the page came from."""

    name = "mastodon"
    many_hosts = False
    stop_after_known = 1
    about = "an account's public posts on a Mastodon server"
    example = "https://server.example/api/v1/accounts/NUMBER/statuses"

    def reads(self, address: str) -> bool:
        return re.match(r"https?://[^/]+/api/v1/accounts/\d+/statuses\b", address) is not None

    def request(self, address: str, cursor: str | None) -> Request | None:
        return page_request(address, cursor, "application/json")

    def parse(self, page: PageInput) -> FeedPage:
        statuses = load_value(page, max_bytes=SOURCE_JSON_BYTES)
        if not isinstance(statuses, list):
            raise malformed(page, "not_a_feed", "its JSON is no list; one of statuses was expected")
        draft = PageDraft()
        draft.add_each(statuses, _post)
        return draft.finish(_next(statuses, page.url))


def _next(statuses: list[object], url: str) -> str | None:
    """What is older than the last one. An account ends with an empty page, a page kept in a file
    with itself."""
    idents = [ident for status in statuses if (ident := text_of(child(status, "id")))]
    if not idents or base_of(url) is None:
        return None
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query)) | {"max_id": idents[-1]}
    return urlunsplit(parts._replace(query=urlencode(query)))


def _post(status: Item, draft: MediaDraft) -> Post:
    """A boost has its own key and author; what it shows is the original's."""
    original, account = item_of(status.get("reblog")), item_of(status.get("account"))
    shown = original or status
    for number, attached in enumerate(items_of(shown.get("media_attachments")), 1):
        _offer(attached, draft.place(f"attachment {number}"), draft)
    return Post(
        # Ids are counted anew on each server; this is an address.
        key=text_of(status.get("uri")) or text_of(status.get("id")) or draft.where,
        text=text_of(shown.get("content")),
        link=line_of(status.get("url")),
        author=Author(name=line_of(account.get("display_name")), id=line_of(account.get("acct"))),
        created_at=read_date(line_of(status.get("created_at")) or ""),
        media=tuple(draft.media),
        origin=text_of(original.get("uri")),
    )


def _offer(attached: Item, where: str, draft: MediaDraft) -> None:
    kind, url = _KINDS.get(str(attached.get("type"))), resolve(attached.get("url"), None)
    if kind is None or isinstance(url, Unusable):
        draft.skip(where, "unsupported_type" if kind is None else "no_address")
        return
    size = item_of(child(attached, "meta", "original"))
    width, height = count_of(size.get("width")), count_of(size.get("height"))
    title = line_of(attached.get("description"))
    draft.offer([Offer(where, kind, Rendition(url=url, width=width, height=height), title=title)])
