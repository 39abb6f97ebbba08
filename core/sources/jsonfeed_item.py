"""One JSON Feed item as a post."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from core.model.post import Author, MediaKind, Post, Rendition
from core.sources.dates import read_date
from core.sources.drafts import MediaDraft, Offer
from core.sources.media_rss import file_offer
from core.sources.resolve import Unusable, resolve
from core.sources.values import digest_of, kept_key, line_of, number_of, text_of

Item = Mapping[str, object]


def read_item(item: Item, base: str | None, draft: MediaDraft) -> Post:
    """The post; what gave no media goes into `draft`."""
    _gather(item, base, draft)
    resolved = resolve(item.get("url"), base)
    link = resolved if isinstance(resolved, str) else None
    created = _date(item, ("date_published", "date_modified"), draft)
    texts = (text_of(item.get(name)) for name in ("content_text", "content_html", "summary"))
    return Post(
        key=kept_key(text_of(item.get("id")) or link or text_of(item.get("url")) or _digest(item)),
        title=line_of(item.get("title")),
        text=next(filter(None, texts), None),
        link=link,
        author=author_of(item),
        created_at=created,
        updated_at=_date(item, ("date_modified",), draft),
        media=tuple(draft.media),
        notes=tuple(dict.fromkeys(draft.notes)),
    )


def author_of(parent: Item) -> Author | None:
    """The first author that an item or feed names: `authors` (1.1), else `author` (1)."""
    authors = parent.get("authors")
    for author in [*(authors if isinstance(authors, list) else []), parent.get("author")]:
        if isinstance(author, dict) and (name := line_of(author.get("name"))):
            return Author(name=name, id=line_of(author.get("url")))
    return None


def _gather(item: Item, base: str | None, draft: MediaDraft) -> None:
    """The image first, unless an attachment repeats it and tells more."""
    attachments = _attachments(item, base, draft)
    image = _image(item, base, draft)
    if image and image.rendition.url not in {offer.rendition.url for offer in attachments}:
        draft.offer([image])
    by_title: dict[str, list[Offer]] = {}
    for number, offer in enumerate(attachments):
        by_title.setdefault(offer.title or f"\0{number}", []).append(offer)
    for renditions in by_title.values():
        draft.offer(renditions)


def _image(item: Item, base: str | None, draft: MediaDraft) -> Offer | None:
    """The item's main picture."""
    if item.get("image") is None:
        return None
    where = draft.place("image")
    match resolve(item["image"], base):
        case Unusable(reason=reason):
            draft.skip(where, reason)
            return None
        case url:
            return Offer(where, MediaKind.IMAGE, Rendition(url=url))


def _attachments(item: Item, base: str | None, draft: MediaDraft) -> list[Offer]:
    told = item.get("attachments")
    if told is not None and not isinstance(told, list):
        draft.notes.append("attachments: not a list")
    offers = []
    for number, attachment in enumerate(told if isinstance(told, list) else [], 1):
        where = draft.place(f"attachment {number}")
        offer = _attachment(attachment, base, where)
        if isinstance(offer, Unusable):
            draft.skip(where, offer.reason)
        else:
            offers.append(offer)
    return offers


def _attachment(attachment: object, base: str | None, where: str) -> Offer | Unusable:
    if not isinstance(attachment, dict):
        return Unusable("not_an_object")
    offer = file_offer(
        attachment.get("url"),
        attachment.get("mime_type"),
        attachment.get("size_in_bytes"),
        base,
        where,
    )
    if isinstance(offer, Unusable):
        return offer
    seconds = number_of(attachment.get("duration_in_seconds"))
    return replace(offer, title=line_of(attachment.get("title")), duration_s=seconds)


def _date(item: Item, names: tuple[str, ...], draft: MediaDraft) -> datetime | None:
    """The first of the dates that can be read; one that can't is noted and costs nothing else."""
    for name in names:
        if text := line_of(item.get(name)):
            if found := read_date(text):
                return found
            draft.notes.append(f"{name}: not a date: {text[:100]!r}")
    return None


def _digest(item: Item) -> str:
    return digest_of([json.dumps(item, sort_keys=True)])
