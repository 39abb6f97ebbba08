"""An address that is no feed but a media itself, told by its first bytes: a manifest, a picture, a
video in one file. Read as a list of one."""

from __future__ import annotations

from core.fetch import types
from core.model.post import FeedPage, MediaKind, MediaRecord, Post, Rendition
from core.sources.adapter import PageInput
from core.sources.body import head, malformed
from core.sources.resolve import Unusable, resolve
from core.sources.values import kept_key

_HLS_TAG = b"#EXT-X-"  # every HLS manifest has one; an M3U without any is a list of addresses


def is_file(first: bytes) -> bool:
    """Whether a body that begins so is a picture or a video: the rest of it says nothing more. All
    of them have a zero byte this early, and a text has none, whatever it begins with."""
    return b"\0" in first and types.sniff(first) is not None


def one_media(page: PageInput) -> FeedPage | None:
    """The page of a list of one; None for what is no media. Raises `Malformed` for a file of this
    machine, which has no address to get it from."""
    found = _what(page)
    if found is None:
        return None
    kind, manifest = found
    # The address that a person named: where it redirects to may be another one tomorrow.
    url = resolve(page.feed or page.url, None)
    if isinstance(url, Unusable):
        words = "a picture, video or manifest on this machine: give its http address instead"
        raise malformed(page, "local_media", words)
    media = MediaRecord(kind=kind, renditions=(Rendition(url=url, manifest=manifest),))
    return FeedPage(posts=(Post(key=kept_key(url), media=(media,)),))


def _what(page: PageInput) -> tuple[MediaKind, str | None] | None:
    """Which kind, and which manifest if it is one. Leaves the stream at its start."""
    page.stream.seek(0)
    first = page.stream.read(types.HEAD_BYTES)
    sniffed = types.sniff(first) if is_file(first) else None
    if sniffed is not None:
        page.stream.seek(0)
        return sniffed.kind, None
    manifest = _manifest(head(page).replace(b"\0", b""))  # UTF-16 shows its ASCII so
    return None if manifest is None else (MediaKind.VIDEO, manifest)


def _manifest(plain: bytes) -> str | None:
    if not types.is_manifest(plain):
        return None
    if plain.startswith(b"<"):
        return "dash"
    return "hls" if _HLS_TAG in plain else None
