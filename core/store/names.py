"""Readable names, out of what feeds say. Pure; a name made here is one component of a path on any
system, at most 255 bytes long, and never decides where bytes go."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from functools import lru_cache
from urllib.parse import unquote

from core.model.end import MediaEnd

MAX_BYTES = 255  # of one component: the limit of the common Linux file systems
UNDATED = "undated"
_RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=\.|\s*$)")
_FORBIDDEN = re.compile(r'[\\/:*?"<>|]')  # separators here and elsewhere, and what Windows refuses
_EXTENSION = re.compile(r"\.[a-z0-9]{1,12}")
_UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, lone surrogates, breaks
_FORMAT = "Cf"  # invisible; among them those that turn the direction: "exe.gpj"
_JOINERS = frozenset({"\u200c", "\u200d"})  # of the same kind, but scripts and emoji need them


@lru_cache(256)  # sources and authors come again and again
def component(text: str | None, fallback: str, *, max_bytes: int = MAX_BYTES) -> str:
    """`text` as one harmless component, or `fallback` when nothing of it is left."""
    plain = "".join(_visible(char) for char in unicodedata.normalize("NFC", text or ""))
    plain = " ".join(_FORBIDDEN.sub("_", plain).split())
    plain = cut(plain.lstrip(". ~-"), max_bytes - 1).rstrip(". ")
    if not plain.strip("_"):
        return fallback
    return f"_{plain}" if _RESERVED.match(plain) else plain


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if category == _FORMAT and char not in _JOINERS:
        return ""
    if category in _UNPRINTABLE:
        return " " if char.isspace() else "_"
    return char


def cut(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` that fits, never half a character."""
    return text.encode()[: max(0, max_bytes)].decode(errors="ignore")


def folders(end: MediaEnd) -> tuple[str, str, str]:
    """Source, author and year: the folders a media's name stands in."""
    created = _created(end)
    year = f"{created.year:04d}" if created else UNDATED
    return component(end.source, "source"), component(end.author, "unknown"), year


def name(end: MediaEnd, id_digits: int = 8) -> str:
    """Date, title (else what the address calls it), the beginning of the media's id, extension;
    the title is cut to what fits."""
    created = _created(end)
    date = f"{created.date().isoformat()}_" if created else ""  # its folder says «undated»
    extension = end.file.extension if end.file else ""
    extension = extension if _EXTENSION.fullmatch(extension) else ""
    tail = f"_{component(end.media[:id_digits], 'id')}{extension}"
    room = MAX_BYTES - len(f"{date}{tail}".encode())
    title = component(end.title, "", max_bytes=room) or _own_name(end.url, room)
    return f"{date}{title}{tail}"


def _own_name(url: str, max_bytes: int) -> str:
    """What the address calls the file, without its extension."""
    last = unquote(url.partition("?")[0].partition("#")[0].rpartition("/")[2])
    stem = last.rpartition(".")[0] or last
    return component(stem, "media", max_bytes=max_bytes)


def _created(end: MediaEnd) -> datetime | None:
    try:
        return datetime.fromisoformat(end.created_at) if end.created_at else None
    except ValueError:
        return None
