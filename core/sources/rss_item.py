"""One RSS item or Atom entry as a post."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from email.utils import parseaddr
from xml.etree.ElementTree import Element

from core.model.post import Author, Post
from core.sources.dates import read_date
from core.sources.drafts import MediaDraft
from core.sources.media_rss import gather_media, relation
from core.sources.resolve import resolve
from core.sources.values import digest_of, kept_key, line_of, text_of
from core.sources.xml_names import BASE, children, first_text

_CREATED = ("pubDate", "atom:published", "atom:issued", "dc:date", "atom:updated", "atom:modified")
_UPDATED = ("atom:updated", "atom:modified")


def read_item(item: Element, base: str | None, draft: MediaDraft) -> Post:
    """The post; what gave no media goes into `draft`."""
    gather_media(item, base, draft)
    address = _address(item)
    resolved = resolve(address, base)
    link = resolved if isinstance(resolved, str) else None
    created, updated = _date(item, _CREATED, draft), _date(item, _UPDATED, draft)
    return Post(
        key=kept_key(
            text_of(first_text(item, "guid", "atom:id"))
            or link
            or text_of(address)
            or _digest(item)
        ),
        title=line_of(first_text(item, "title", "atom:title")),
        text=text_of(
            first_text(item, "content:encoded", "description", "atom:content", "atom:summary")
        ),
        link=link,
        author=item_author(item) or _credit(item),
        created_at=created,
        updated_at=updated,
        media=tuple(draft.media),
        notes=tuple(dict.fromkeys(draft.notes)),
    )


def item_author(parent: Element) -> Author | None:
    """Who an item or its source says has posted: a name, or a mail address with one."""
    for element in children(parent, "atom:author"):
        if author := atom_author(element):
            return author
    if told := line_of(first_text(parent, "author", "dc:creator", "itunes:author")):
        return Author(name=parseaddr(told)[0] or told) if "@" in told else Author(name=told)
    for source in children(parent, "atom:source"):
        return item_author(source)
    return None


def atom_author(element: Element) -> Author | None:
    """An `atom:author`; None where it names nobody."""
    name = line_of(first_text(element, "atom:name"))
    return Author(name=name, id=line_of(first_text(element, "atom:uri"))) if name else None


def _credit(item: Element) -> Author | None:
    """Media RSS's credit for an author, wherever it stands in the item."""
    for element in item.iter():
        for credit in children(element, "media:credit"):
            role = (credit.get("role") or "author").strip().lower()
            if role == "author" and (name := line_of(credit.text)):
                return Author(name=name)
    return None


def _address(item: Element) -> str | None:
    """The item's own page: its link, else a guid that is one (unless it says otherwise)."""
    if told := first_text(item, "link"):
        return told
    for link in children(item, "atom:link"):
        if relation(link) == "alternate":
            inner = resolve(link.get("href"), link.get(BASE))
            return inner if isinstance(inner, str) else link.get("href")
    for guid in children(item, "guid"):
        text = (guid.text or "").strip()
        if guid.get("isPermaLink", "true").lower() != "false" and text.startswith("http"):
            return text
    return None


def _date(item: Element, names: tuple[str, ...], draft: MediaDraft) -> datetime | None:
    """The first of the dates that can be read; one that can't is noted and costs nothing else."""
    for name in names:
        if text := first_text(item, name):
            if found := read_date(text):
                return found
            draft.notes.append(f"{name}: not a date: {text[:100]!r}")
    return None


def _digest(item: Element) -> str:
    return digest_of(_content(item))


def _content(item: Element) -> Iterator[str | None]:
    for element in item.iter():
        yield element.tag
        yield element.text
        for name, value in sorted(element.attrib.items()):
            yield name
            yield value
