"""weibo.com's own pages. Of a shared post the pictures stand in it and its video stands outside,
beside what the sharing post adds."""

from __future__ import annotations

from core.model.post import FeedPage
from core.sources.adapter import PageInput
from core.sources.body import leads_back
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.values import line_of, text_of
from core.sources.weibo_address import asked_by, cursor_of, read_cursor
from core.sources.weibo_draft import Place, PostDraft
from core.sources.weibo_page import Found, PostPage, entries_of
from core.sources.weibo_pictures import add_desktop
from core.sources.weibo_post import TEXT_CUT, draft_of, finished, pictures_told, shared_of
from core.sources.weibo_text import plain
from core.sources.weibo_video import add_video

PIC_INFO_MISSING = "pic_info_missing"


def read_blog(page: PageInput, body: Item, place: Place) -> FeedPage:
    """One page of a member's posts."""
    draft = PostPage(place)
    if not body:
        return draft.finish(None)
    data = item_of(body.get("data"))
    entries = entries_of(page, data.get("list"), "posts")
    for number, status in enumerate(entries, 1):
        draft.add(status, f"item {number}", read_ajax)
    following = line_of(data.get("since_id"))
    return draft.finish(_next(page, following) if entries and following else None)


def read_ajax(status: Item, where: str, place: Place) -> Found:
    """One post."""
    ident = line_of(status.get("mblogid")) or line_of(status.get("idstr"))
    ident = ident or line_of(status.get("id"))
    draft = draft_of(status, where, place, ident=ident)
    _add_own(draft, status)
    shared = shared_of(status, draft)
    if shared:
        _add_pictures(draft, shared)
    mixed = _mixed(shared) or _mixed(status)
    if not mixed:
        add_video(draft, "its video", item_of(status.get("page_info")), beside=True)
        add_video(draft, "its video", item_of(shared.get("page_info")), beside=True)
    long_text = child(status, "longText", "content")
    if status.get("isLongText") is True and not long_text:
        draft.notes.append(TEXT_CUT)
    text = text_of(long_text) or text_of(status.get("text_raw")) or plain(status.get("text"))
    return finished(status, draft, ident=ident, text=text), draft.skipped


def _add_own(draft: PostDraft, status: Item) -> None:
    """What the post itself shows, and the pictures behind links in its text."""
    _add_pictures(draft, status)
    for link in items_of(status.get("url_struct")):
        infos = item_of(link.get("pic_infos"))
        for ident, told in _ordered(link.get("pic_ids"), infos):
            add_desktop(draft, item_of(told), ident, beside=True)


def _add_pictures(draft: PostDraft, status: Item) -> None:
    """In the order of `pic_ids`, since `pic_infos` has none. A mixed post lists everything anew."""
    mixed = _mixed(status)
    for number, item in enumerate(mixed, 1):
        _add_mixed(draft, number, item)
    listed = len(mixed) or _add_listed(draft, status)
    draft.announce(max(pictures_told(status), listed))


def _add_listed(draft: PostDraft, status: Item) -> int:
    """How many there should be."""
    pictures = _ordered(status.get("pic_ids"), item_of(status.get("pic_infos")))
    for ident, told in pictures:
        if told is None:
            draft.skip(f"picture {ident}", PIC_INFO_MISSING)
        else:
            add_desktop(draft, item_of(told), ident)
    return len(pictures)


def _add_mixed(draft: PostDraft, number: int, item: Item) -> None:
    data, ident = item_of(item.get("data")), line_of(item.get("id"))
    if line_of(item.get("type")) == "pic":
        add_desktop(draft, data, ident)
    elif line_of(item.get("type")) == "video":
        card = data if line_of(data.get("object_id")) else {**data, "object_id": ident}
        add_video(draft, f"video {ident or number}", card)
    else:
        draft.skip(f"part {number}", "unsupported_type", wanted=False)


def _mixed(status: Item) -> list[Item]:
    return list(items_of(child(status, "mix_media_info", "items")))


def _ordered(ids: object, infos: Item) -> list[tuple[str, object]]:
    """The picture of each id; all there are where no order is told."""
    named = [line_of(one) for one in ids] if isinstance(ids, list) else []
    told = [(ident, infos.get(ident)) for ident in named if ident]
    return told or list(infos.items())


def _next(page: PageInput, since_id: str) -> str:
    """Both by number and by the id to go on from: the site asks so itself."""
    asked = read_cursor(page.cursor) if page.cursor else asked_by(page.url)
    if since_id == asked.get("since_id"):
        raise leads_back(page)
    told = asked.get("page", "")
    number = int(told) if told.isascii() and told.isdigit() and len(told) < 10 else 1
    return cursor_of({"page": str(number + 1), "since_id": since_id})
