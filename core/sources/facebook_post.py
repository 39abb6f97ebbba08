"""A post of a page and what is attached to it: pictures, videos, albums. Previews of what lies
elsewhere are no content of the page. A `message` is taken for whole: neither the API's documents
nor what is known of its answers tell of a cut, or of a field for the rest."""

from __future__ import annotations

import re

from core.model.post import MediaKind, MediaRecord, Post, Rendition
from core.sources.facebook_node import Draft, address_of, base_post, node_id, stem_of
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.values import count_of, line_of, text_of

ALBUM_CUT_AT = 12  # a post lists no more of its album; so exactly as many may be a part

_DEEPEST = 4  # attachments within attachments: albums have one level
_OTHERS = frozenset(["link", "event"])  # coarse kinds whose picture is a preview
# The fine kinds of the same; an open list, so that what is new counts as content.
_PREVIEWS = re.compile(
    "share|multi_share.*|animated_image_share|fallback|event|file_upload|native_templates|"
    "commerce_product_item"
)


def read_post(node: Item, draft: Draft) -> Post | None:
    """The post; None, and skipped, for one that is not for everybody. It is then news on the day
    that it is published."""
    if reason := _hidden(node):
        draft.skip(reason)
        return None
    attachments = child(node, "attachments", "data")
    for number, attachment in enumerate(items_of(attachments), 1):
        _gather(attachment, draft, f"attachment {number}")
    text = text_of(node.get("message")) or text_of(node.get("story"))
    post = base_post(node, draft, text=text, link=node.get("permalink_url"))
    origin = text_of(node.get("parent_id"))
    return post.model_copy(
        update={
            "media": placed(post.media),
            "origin": origin if origin != post.key else None,
        }
    )


def placed(media: tuple[MediaRecord, ...]) -> tuple[MediaRecord, ...]:
    """Each media once, with its place within the post."""
    once: dict[str, MediaRecord] = {}
    for record in media:
        once.setdefault(record.key or record.renditions[0].url, record)
    return tuple(
        record.model_copy(update={"position": position})
        for position, record in enumerate(once.values())
    )


def _hidden(node: Item) -> str | None:
    if node.get("is_hidden") is True or node.get("timeline_visibility") == "hidden":
        return "hidden"
    if node.get("is_published") is False:
        return "unpublished"
    return "expired" if node.get("is_expired") is True else None


def _gather(attachment: Item, draft: Draft, where: str) -> None:
    """An album's own picture repeats its first child: the children alone count."""
    children = [*items_of(child(attachment, "subattachments", "data"))]
    album = _album(attachment, len(children))
    if not children:
        _add(attachment, draft, where, album)
    for number, one in enumerate(children, 1):
        place = f"{where}.{number}"
        if place.count(".") >= _DEEPEST:
            draft.skip("nested_too_deep", place)
        elif child(one, "subattachments", "data"):
            _gather(one, draft, place)
        else:
            _add(one, draft, place, album)


def _album(attachment: Item, listed: int) -> str | None:
    """The id of an album that may have more than the post lists."""
    is_album = "album" in (line_of(attachment.get("type")) or "")
    is_album |= attachment.get("media_type") == "album"
    return _target(attachment) if is_album and listed in (0, ALBUM_CUT_AT) else None


def _add(attachment: Item, draft: Draft, where: str, album: str | None) -> None:
    if reason := _no_content(attachment):
        draft.skip(reason, where)
    elif source := address_of(child(attachment, "media", "source")):
        draft.media.append(_video(attachment, source, draft))
    elif _is_video(attachment):
        draft.skip("video_without_source", where)
    elif picture := _picture(attachment, draft, album):
        draft.media.append(picture)
    else:
        draft.skip("no_media", where)


def _no_content(attachment: Item) -> str | None:
    fine = line_of(attachment.get("type")) or ""
    if fine == "unavailable":
        return "unavailable"
    # A film of another site: its `source` is a player's page.
    outside = fine.startswith("video_share") and fine != "video_share_highlighted"
    if outside or _PREVIEWS.fullmatch(fine) or line_of(attachment.get("media_type")) in _OTHERS:
        return "link_preview"
    return None


def _is_video(attachment: Item) -> bool:
    """Moving pictures are videos too: they are kept as mp4."""
    fine = line_of(attachment.get("type")) or ""
    return attachment.get("media_type") == "video" or fine.startswith(("video", "animated_image"))


def _video(attachment: Item, source: str, draft: Draft) -> MediaRecord:
    ident = _target(attachment)
    return MediaRecord(
        kind=MediaKind.VIDEO,
        renditions=(Rendition(url=source),),
        key=ident or stem_of(source),
        title=line_of(attachment.get("title")),
        poster=address_of(child(attachment, "media", "image", "src")),
        ref=draft.ref(ident, MediaKind.VIDEO),
    )


def _picture(attachment: Item, draft: Draft, album: str | None) -> MediaRecord | None:
    """In the one size that a post names."""
    image = item_of(child(attachment, "media", "image"))
    url = address_of(image.get("src"))
    if url is None:
        return None
    is_set = album is not None and album == _target(attachment)  # no photo's id
    ident = None if is_set else _target(attachment)
    width, height = count_of(image.get("width")), count_of(image.get("height"))
    return MediaRecord(
        kind=MediaKind.IMAGE,
        renditions=(Rendition(url=url, width=width, height=height),),
        key=ident or stem_of(url),
        title=line_of(attachment.get("title")),
        ref=draft.ref(ident or album, MediaKind.IMAGE, album),
    )


def _target(attachment: Item) -> str | None:
    return node_id(item_of(attachment.get("target")))
