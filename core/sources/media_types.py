"""What an address leads to, by what the feed says of it: image, video, a manifest, or nothing that
is collected. The fetched bytes have the last word; this only decides what is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from core.model.post import MediaKind
from core.sources.resolve import Unusable

UNSUPPORTED = Unusable("unsupported_type")

_MANIFEST_TYPES = {
    "application/x-mpegurl": "hls",
    "application/vnd.apple.mpegurl": "hls",
    "application/mpegurl": "hls",
    "audio/mpegurl": "hls",
    "audio/x-mpegurl": "hls",
    "video/mpegurl": "hls",
    "video/x-mpegurl": "hls",
    "application/dash+xml": "dash",
    "video/vnd.mpeg.dash.mpd": "dash",
}
_MANIFEST_EXTENSIONS = {".m3u8": "hls", ".mpd": "dash"}
_IMAGE_EXTENSION = re.compile(r"\.(?:jpe?g|jpe|jfif|png|gif|webp|avif|hei[cf]|bmp|tiff?|jxl|svg)")
_VIDEO_EXTENSION = re.compile(r"\.(?:mp4|m4v|webm|mov|mkv|avi|flv|f4v|wmv|mpe?g|ogv|3gp|ts)")
_OTHER_EXTENSION = re.compile(
    r"\.(?:mp3|m4a|og[ga]|opus|wav|flac|aac|wma|pdf|epub|txt|html?|zip|gz|tar|7z|docx?|xlsx?|pptx?"
    r"|swf|exe|torrent|srt|vtt|json|xml)"
)
# What servers say when they know nothing.
_SAYS_NOTHING = frozenset(["application/octet-stream", "binary/octet-stream", "application/binary"])


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media that is collected. `guessed` when nothing told its kind."""

    kind: MediaKind
    manifest: str | None = None  # "hls" or "dash"
    guessed: bool = False


def extension_of(url: str) -> str:
    """`.jpg`, in lower case; empty when the path has none."""
    return PurePosixPath(urlsplit(url).path).suffix.lower()


def media_type(
    url: str, mime: str | None = None, medium: str | None = None
) -> MediaType | Unusable:
    """By MIME type, else by Media RSS's medium, else by extension. What none of them tells is taken
    for an image: a wrong guess costs one request, a wrong «no» the media."""
    told = (mime or "").partition(";")[0].strip().lower()
    if medium in ("audio", "document", "executable"):
        return UNSUPPORTED
    if manifest := _MANIFEST_TYPES.get(told) or _MANIFEST_EXTENSIONS.get(extension_of(url)):
        return MediaType(MediaKind.VIDEO, manifest)
    family = told.partition("/")[0]
    if family in ("image", "video"):
        return MediaType(MediaKind(family))
    if "/" in told and told not in _SAYS_NOTHING:
        return UNSUPPORTED
    if medium in ("image", "video"):
        return MediaType(MediaKind(medium))
    return by_extension(url)


def by_extension(url: str) -> MediaType | Unusable:
    """By the address alone."""
    extension = extension_of(url)
    if extension in _MANIFEST_EXTENSIONS:
        return MediaType(MediaKind.VIDEO, _MANIFEST_EXTENSIONS[extension])
    if _VIDEO_EXTENSION.fullmatch(extension):
        return MediaType(MediaKind.VIDEO)
    if _OTHER_EXTENSION.fullmatch(extension):
        return UNSUPPORTED
    return MediaType(MediaKind.IMAGE, guessed=not _IMAGE_EXTENSION.fullmatch(extension))
