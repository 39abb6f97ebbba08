"""The last resort for XML whose tags do not match: feedparser's tolerant reading. It flattens
groups and reads dates too freely, so it is used for nothing else, and never where groups are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from core.model.post import Author, Post
from core.sources.dates import read_date
from core.sources.drafts import MediaDraft, Offer
from core.sources.media_rss import content_offer, file_offer
from core.sources.resolve import Unusable, resolve
from core.sources.values import digest_of, kept_key, line_of, text_of

MAX_LOOSE_BYTES = 2 * 1024**2  # its patterns take long on large bodies

_ENDS = (b"</rss>", b"</feed>", b"</rdf:RDF>")
# What it lets through on bodies made to break it, besides what it catches itself.
_FAULTS = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class NotReadable(Exception):
    """Not even so, and why."""


@dataclass(frozen=True, slots=True)
class LooseFeed:
    """What feedparser made of a feed: its entries and the next page."""

    entries: list[Mapping[str, Any]]
    next_address: str | None


def read_loose(document: bytes) -> LooseFeed:
    """The entries of a mended document, which must be whole. Raises `NotReadable`."""
    if len(document) > MAX_LOOSE_BYTES:
        raise NotReadable("too large for a tolerant reading")
    if not any(end in document[-4096:] for end in _ENDS):
        raise NotReadable("its end is missing")
    if b":group" in document or b"<!DOCTYPE" in document or b"<!ENTITY" in document:
        raise NotReadable("it has groups or a DTD, which a tolerant reading would get wrong")
    # Here: hardly any feed needs it, and it would cost each start 25 ms.
    import feedparser  # noqa: PLC0415

    # No content-location: an id that looks like a relative address would be resolved, and the post
    # be another one than in a strict reading.
    headers = {"content-type": "application/xml; charset=utf-8"}
    try:
        # A stream, never a string: a string may be taken for an address or a file's name.
        parsed = feedparser.parse(
            BytesIO(document),
            response_headers=headers,
            resolve_relative_uris=False,
            sanitize_html=False,
        )
    except _FAULTS as error:
        raise NotReadable(f"{type(error).__name__} in the tolerant reading") from error
    entries = list(parsed.get("entries", []))
    if not entries:
        raise NotReadable("no item in it can be told")
    links = parsed["feed"].get("links", [])
    following = (link.get("href") for link in links if link.get("rel") == "next")
    return LooseFeed(entries, next(following, None))


def read_entry(entry: Mapping[str, Any], base: str | None, draft: MediaDraft) -> Post:
    """The post of one entry."""
    _gather(entry, base, draft)
    link = resolve(entry.get("link"), base)
    told = line_of(entry.get("published")) or line_of(entry.get("updated"))
    created = read_date(told) if told else None
    if told and not created:
        draft.notes.append(f"not a date: {told[:100]!r}")
    author = line_of(entry.get("author"))
    text = text_of(entry.get("summary"))
    title = line_of(entry.get("title"))
    usable = link if isinstance(link, str) else None
    urls = [media.renditions[0].url for media in draft.media]
    return Post(
        key=kept_key(text_of(entry.get("id")) or usable or digest_of([title, text, told, *urls])),
        title=title,
        text=text,
        link=usable,
        author=Author(name=author) if author else None,
        created_at=created,
        media=tuple(draft.media),
        notes=tuple(draft.notes),
    )


def _gather(entry: Mapping[str, Any], base: str | None, draft: MediaDraft) -> None:
    for number, content in enumerate(entry.get("media_content", []), 1):
        where = draft.place(f"content {number}")
        # It writes every attribute's name in lower case.
        exact = {
            "fileSize": content.get("filesize", ""),
            "isDefault": content.get("isdefault", ""),
        }
        _offer(content_offer({**content, **exact}, base, where), where, draft)
    for number, file in enumerate(entry.get("enclosures", []), 1):
        where = draft.place(f"enclosure {number}")
        address = file.get("href") or file.get("url")
        found = file_offer(address, file.get("type"), file.get("length"), base, where)
        _offer(found, where, draft)


def _offer(found: Offer | Unusable, where: str, draft: MediaDraft) -> None:
    if isinstance(found, Unusable):
        draft.skip(where, found.reason)
    else:
        draft.offer([found])
