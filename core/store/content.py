"""A post as its record may hold it, and the digest that tells whether two readings say the same.
Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from core.model.addresses import is_plain, strike
from core.model.post import MediaRecord, Post

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
    """The post as a record may hold it: no credentials or signatures in addresses."""
    if all(map(is_plain, _addresses(post))):  # as most are: spares three copies a post
        return post
    media = tuple(_struck_media(record) for record in post.media)
    return post.model_copy(update={"link": post.link and strike(post.link), "media": media})


def _addresses(post: Post) -> Iterator[str]:
    """Every address in a post that a record could tell too much with."""
    for media in post.media:
        yield from (rendition.url for rendition in media.renditions)
        yield from filter(None, (media.referer, media.poster))
    if post.link:
        yield post.link


def _struck_media(record: MediaRecord) -> MediaRecord:
    renditions = tuple(
        rendition.model_copy(update={"url": strike(rendition.url)})
        for rendition in record.renditions
    )
    return record.model_copy(
        update={
            "renditions": renditions,
            "referer": record.referer and strike(record.referer),
            "poster": record.poster and strike(record.poster),
        }
    )
