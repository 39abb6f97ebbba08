"""One item of a dynamics feed as a post: by its major part's type, which stands for what the member
put in it; a repost shows what its original does. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from core.model.post import Author, Post
from core.sources.bilibili_media import Found
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.resolve import Unusable, resolve
from core.sources.values import digest_of, line_of, number_of, text_of

PINNED = "置顶"

_TYPE = "MAJOR_TYPE_"


def read_item(item: Item, page_url: str) -> tuple[Post, Found]:
    """The post, and what was seen of its media."""
    found = Found(page_url)
    major = _read_major(item, found)
    original = item.get("orig")
    origin: str | None = None
    if isinstance(original, dict):
        origin = text_of(original.get("id_str"))
        if not _read_original(original, found):
            found.reasons.append("repost_of_deleted")
    elif _is_repost(item):
        found.reasons.append("repost_of_deleted")
    return _post(item, major, found, origin), found


def _is_repost(item: Item) -> bool:
    return item.get("type") == "DYNAMIC_TYPE_FORWARD"


def _read_original(original: Item, found: Found) -> bool:
    """False for one that is no more."""
    kind = child(original, "modules", "module_dynamic", "major", "type")
    if kind == "MAJOR_TYPE_NONE" or original.get("type") == "DYNAMIC_TYPE_NONE":
        return False
    _read_major(original, found)
    return True


def _read_major(item: Item, found: Found) -> Item:
    """What it says by itself, apart from its kind: title, text, link."""
    major = item_of(child(item, "modules", "module_dynamic", "major"))
    kind = line_of(major.get("type"))
    if kind is None:
        return {}
    name = kind.removeprefix(_TYPE).lower()
    inner = item_of(major.get(name))
    if (read := _READERS.get(name)) is None:
        found.reasons.append(f"unsupported:{kind[:60]}")
    else:
        read(inner, found)
    return inner


def _opus(inner: Item, found: Found) -> None:
    for picture in items_of(inner.get("pics")):
        found.picture(picture.get("url"), picture)


def _draw(inner: Item, found: Found) -> None:
    """The shape in which pictures came before; some posts still do."""
    for picture in items_of(inner.get("items")):
        found.picture(picture.get("src"), picture)


def _archive(inner: Item, found: Found) -> None:
    found.video(inner)


def _article(inner: Item, found: Found) -> None:
    """Its covers are all that the feed has of it."""
    covers = inner.get("covers")
    for cover in covers if isinstance(covers, list) else []:
        found.picture(cover, {})
    found.notes.append("an article: its covers are all that the feed has of it")
    found.reasons.append("article")


def _blocked(inner: Item, found: Found) -> None:
    words = line_of(inner.get("hint_message")) or line_of(inner.get("title"))
    found.notes.append("only for those who pay" + (f" ({words})" if words else ""))
    found.reasons.append("restricted")


def _live(_inner: Item, found: Found) -> None:
    found.reasons.append("live")


def _none(inner: Item, found: Found) -> None:
    words = line_of(inner.get("tips"))
    found.notes.append("its content is gone" + (f" ({words})" if words else ""))
    found.reasons.append("gone")


_READERS: dict[str, Callable[[Item, Found], None]] = {
    "opus": _opus,
    "draw": _draw,
    "archive": _archive,
    "ugc_season": _archive,
    "article": _article,
    "blocked": _blocked,
    "live_rcmd": _live,
    "live": _live,
    "none": _none,
}


# --- the post ---


def _post(item: Item, major: Item, found: Found, origin: str | None) -> Post:
    author = item_of(child(item, "modules", "module_author"))
    text = text_of(child(item, "modules", "module_dynamic", "desc", "text"))
    text = text or text_of(child(major, "summary", "text")) or text_of(major.get("desc"))
    created_at = moment_of(author.get("pub_ts"))
    key = text_of(item.get("id_str")) or text_of(item.get("id"))
    if key is None:
        urls = [media.renditions[0].url for media in found.media]
        key = digest_of([text, str(created_at), *urls])
        found.notes.append("it has no id; known by its content")
    return Post(
        key=key,
        title=line_of(major.get("title")),
        text=text,
        link=_link(major.get("jump_url"), found.page_url) or f"https://t.bilibili.com/{key}",
        author=author_of(author),
        created_at=created_at,
        media=tuple(found.media),
        pinned=child(item, "modules", "module_tag", "text") == PINNED,
        origin=origin,
        notes=tuple(found.notes),
    )


def _link(raw: object, page_url: str) -> str | None:
    link = resolve(raw, page_url)
    return None if isinstance(link, Unusable) else link


def author_of(author: Item) -> Author | None:
    """Whose post it is."""
    name, ident = line_of(author.get("name")), text_of(author.get("mid"))
    return Author(name=name, id=ident) if name or ident else None


def moment_of(raw: object) -> datetime | None:
    """Unix seconds, as a number or as text."""
    seconds = number_of(raw)
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
