"""Identity is computed, never assigned: the same thing found twice has the same id, which makes
twice harmless."""

from __future__ import annotations

import hashlib
from urllib.parse import urldefrag

_LENGTH = 32  # hex digits: 128 bits, enough for any collection


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


def media_id(source: str, key: str) -> str:
    """A media is its source and the adapter's key for it, else its address."""
    return _digest("media", source, urldefrag(key).url)


def post_id(source: str, key: str) -> str:
    """A post is its source and the source's own id for it."""
    return _digest("post", source, key)


def feed_id(source: str, address: str) -> str:
    """A feed is its source and its address."""
    return _digest("feed", source, address)[:16]


def media_task_id(kind: str, media: str) -> str:
    """One task a media and kind."""
    return f"{kind}-{media}"


def fragment_task_id(media: str, piece: int) -> str:
    """One fragment task a piece of a video's plan."""
    return f"fragment-{media}-{piece:06d}"


def verify_task_id(media: str) -> str:
    """One verify task a video."""
    return media_task_id("verify", media)


def discover_task_id(feed: str, walk: str, page: int) -> str:
    """One discover task a page of a walk."""
    return f"discover-{feed}-{walk}-{page:06d}"
