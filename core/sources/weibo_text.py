"""A post's text where it comes as HTML: as people read it, and the pictures it links to."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from core.model.post import MediaKind
from core.sources.media_types import MediaType, by_extension
from core.sources.values import text_of

MAX_HTML_CHARS = 200_000  # the longest posts have 5,000 signs, each perhaps a link

_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_DRAWN = re.compile(r"<img[^<>]*>")
_NAME = re.compile(r' alt="?(\[[^\[\]<>"]{1,40}\])')  # a face's
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_MORE = re.compile(r"<a [^<>]*>全文</a>$")
_LINK = re.compile(r'<a [^<>]*?href="([^"<>]{1,4000})"')


def leads_to_more(raw: object) -> bool:
    """Whether an HTML text ends in the link to its whole."""
    return _MORE.search((text_of(raw) or "").rstrip()) is not None


def plain(raw: object) -> str | None:
    """The text without its tags."""
    told = text_of(raw)
    if told is None:
        return None
    text = _DRAWN.sub(_named, _BREAK.sub("\n", told[:MAX_HTML_CHARS]))
    return html.unescape(_TAG.sub("", text)).strip() or None


def _named(tag: re.Match[str]) -> str:
    """A face as its name. Looked for within the tag: one expression for both would begin the tag's
    rest anew behind every name."""
    name = _NAME.search(tag[0])
    return name[1] if name else ""


def linked_pictures(raw: object) -> Iterator[str]:
    """The addresses behind «查看图片»: the site's own redirect with a picture's address in it."""
    for link in _LINK.findall((text_of(raw) or "")[:MAX_HTML_CHARS]):
        try:
            parts = urlsplit(html.unescape(link))
            target = dict(parse_qsl(parts.query)).get("u", "")
            found = by_extension(target) if parts.path.endswith("/sinaurl") and target else None
        except ValueError:  # no address
            continue
        if isinstance(found, MediaType) and found.kind is MediaKind.IMAGE and not found.guessed:
            yield target
