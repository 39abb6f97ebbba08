"""A post as its record may hold it, and the digest that tells whether two readings say the same.
Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from core.model.addresses import is_plain, strike, strike_within
from core.model.post import MediaRecord, Post, Rendition

_ADDRESSES = ("referer", "poster")  # of a media
_TEXTS = ("key", "ref", "motion_of")  # of a media: each may hold addresses, or be one
_OF_TODAY = frozenset(["renditions", "poster", "ref"])


def digest(post: Post) -> str:
    """Of the content alone. Fields at their defaults don't count, so that a field which a later
    version adds does not make every post a changed one; nor do an adapter's notes, where the post
    stands, and a time told as «3 hours ago», which is another at each reading. A media that the
    source names by a key is known by it: its addresses are others at each reading."""
    aside = {"notes", "pinned"}
    if post.within_s is not None:
        aside |= {"created_at", "within_s"}
    content = post.model_dump(mode="json", exclude_defaults=True, exclude=aside)
    for media in content.get("media", []):
        if "key" in media:
            for field in _OF_TODAY & media.keys():
                del media[field]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def address(media: MediaRecord) -> str:
    """The one that a media without a key is known by."""
    return media.renditions[0].url


def is_doubtful(post: Post) -> bool:
    """Whether a reading may lack media that the post has: it says so itself, or something in it
    could not be read."""
    listed = sum(media.motion_of is None for media in post.media)
    return bool(post.notes) or (post.announced or 0) > listed


def struck(post: Post) -> Post:
    """The post as a record may hold it: no credentials or signatures in addresses. Ids are made of
    what it was before."""
    if not any(map(_tells, _addresses(post))):  # as with most: spares three copies a post
        return post
    media = tuple(_struck_media(record) for record in post.media)
    told = {"link": post.link and strike(post.link), "origin": _struck_text(post.origin)}
    return post.model_copy(update={"key": strike_within(post.key), "media": media, **told})


def _tells(text: str) -> bool:
    """Whether there may be something to strike out."""
    return "://" in text and not is_plain(text)


def _addresses(post: Post) -> Iterator[str]:
    """Every text in a post that a record could tell too much with."""
    yield post.key
    yield from filter(None, (post.link, post.origin))
    for media in post.media:
        for rendition in media.renditions:
            yield rendition.url
            yield from rendition.backups
        yield from filter(None, (getattr(media, name) for name in (*_ADDRESSES, *_TEXTS)))


def _struck_media(record: MediaRecord) -> MediaRecord:
    update: dict[str, object] = {
        name: strike(told) for name in _ADDRESSES if (told := getattr(record, name))
    }
    update |= {name: _struck_text(getattr(record, name)) for name in _TEXTS}
    update["renditions"] = tuple(_struck_rendition(one) for one in record.renditions)
    return record.model_copy(update=update)


def _struck_rendition(rendition: Rendition) -> Rendition:
    url, *backups = map(strike, (rendition.url, *rendition.backups))
    return rendition.model_copy(update={"url": url, "backups": tuple(backups)})


def _struck_text(text: str | None) -> str | None:
    return text and strike_within(text)
