"""What the posts of all three interfaces have alike: who, when, whose post they share; what is no
post of the member's at all."""

from __future__ import annotations

import re

from core.model.post import Author, Post
from core.sources.json_page import Item, child, item_of
from core.sources.values import digest_of, line_of, number_of, text_of
from core.sources.weibo_address import link_of, post_address
from core.sources.weibo_dates import read_moment
from core.sources.weibo_draft import Place, PostDraft

REPOST_OF_DELETED = "repost_of_deleted"
TEXT_CUT = "its text is cut off; the whole stands on its own page"

_LIKED = re.compile("赞过")
_ON_TOP = "置顶"
_PUBLIC = "0"


def key_of(status: Item) -> str | None:
    """A post's id. Ids are beyond what a float holds, so the spelled one goes first."""
    for name in ("idstr", "id", "mid"):
        if found := line_of(status.get(name)):
            return found
    return None


def draft_of(status: Item, where: str, place: Place, *, ident: str | None) -> PostDraft:
    """What gathers a post's media; `ident` is how the interface calls the post, None where it
    tells none apart."""
    link = _link(status, place, ident)
    own_address = post_address(link) if link and ident else None
    return PostDraft(where, place, own_address)


def finished(status: Item, draft: PostDraft, *, ident: str | None, text: str | None) -> Post:
    """The post, with its media. What is missing costs nothing else."""
    place = draft.place
    moment = read_moment(status.get("created_at"), place.read_at)
    restricted = text_of(child(status, "visible", "type")) or _PUBLIC
    if restricted != _PUBLIC:
        draft.notes.append(f"not for everybody to see (visible.type {restricted})")
    return Post(
        key=key_of(status) or digest_of([text, text_of(status.get("created_at"))]),
        text=text,
        link=_link(status, place, ident),
        author=_author(status),
        created_at=moment.at,
        within_s=moment.within_s,
        media=tuple(draft.media),
        announced=draft.announced,
        pinned=is_pinned(status),
        origin=_origin(status),
        notes=tuple(draft.notes),
    )


def shared_of(status: Item, draft: PostDraft) -> Item:
    """The post that this one shares, where it can still be seen; else an empty one, and why."""
    shared = status.get("retweeted_status")
    if shared is None:
        return {}
    found = item_of(shared)
    if found and not is_deleted(found) and (found.get("user") or _has_media(found)):
        return found
    draft.skip("", REPOST_OF_DELETED)
    draft.notes.append("the post that it shares is deleted, or hidden from us")
    return {}


def is_deleted(status: Item) -> bool:
    """By the mark, which comes as text or number."""
    return text_of(status.get("deleted")) == "1"


def is_pinned(status: Item) -> bool:
    """Whether it stands on top whatever its age."""
    told = (text_of(status.get("isTop")), text_of(status.get("mblogtype")))
    title = line_of(child(status, "title", "text")) or ""
    return told[0] == "1" or status.get("isTop") is True or told[1] == "2" or title == _ON_TOP


def not_a_post(status: Item) -> str | None:
    """Why an entry is no post of this member's; None for one that is."""
    if is_deleted(status):
        return "deleted"
    if _LIKED.search(line_of(child(status, "title", "text")) or ""):
        return "liked_not_posted"
    if line_of(status.get("ori_mid")):
        return "quick_repost"
    return None


def missing_of(post: Post) -> int:
    """How many of the media that it says it has are not listed. A live photo is one of them."""
    listed = sum(media.motion_of is None for media in post.media)
    return max(0, (post.announced or 0) - listed)


def has_cut_text(post: Post) -> bool:
    """Whether a list showed the beginning of its text only."""
    return TEXT_CUT in post.notes


def incomplete(post: Post) -> str:
    """In words."""
    told = post.announced or 0
    return f"incomplete: {told - missing_of(post)} of {told}"


def pictures_told(status: Item) -> int:
    """How many pictures a post says it has."""
    return int(number_of(status.get("pic_num")) or 0)


def _has_media(status: Item) -> bool:
    names = ("pics", "pic_ids", "pic_urls", "page_info", "mix_media_info", "original_pic")
    return any(status.get(name) for name in names)


def _link(status: Item, place: Place, ident: str | None) -> str | None:
    uid = line_of(child(status, "user", "idstr")) or line_of(child(status, "user", "id"))
    named = ident or key_of(status)
    return link_of(place.shape, place.url, named, uid) if named else None


def _author(status: Item) -> Author | None:
    user = item_of(status.get("user"))
    ident = line_of(user.get("idstr")) or line_of(user.get("id"))
    name = line_of(user.get("screen_name")) or line_of(user.get("name"))
    return Author(name=name, id=ident) if ident or name else None


def _origin(status: Item) -> str | None:
    shared = item_of(status.get("retweeted_status"))
    return key_of(shared) if shared else None
