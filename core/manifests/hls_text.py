"""An HLS manifest's bytes as numbered lines, within bounds. Knows what a line is, not what a tag
means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from typing import TypeVar

from core.errors import HeadraceError, Malformed, TooLarge
from core.model.addresses import strike

MAX_MANIFEST_BYTES = 16 * 1024**2  # 18,000 segments with addresses of 800 characters
MAX_LINE_CHARS = 32 * 1024
MAX_NOTES = 20

Refusal = TypeVar("Refusal", bound=HeadraceError)

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\0"
_HEADER = re.compile(r"#EXTM3U(?=[ \t\r\n]|$)")
_HTML = re.compile(
    r"(?:(?>\s*+<\?xml[^>]*>|<!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body|script|title)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Line:
    """A tag, or an address."""

    number: int  # from 1
    tag: str  # "EXT-X-KEY"; empty: an address
    value: str  # what stands behind the tag's colon, or the address


@dataclass(slots=True)
class Text:
    """A manifest being read, and what there is to say of it."""

    url: str
    content: str
    notes: list[str] = field(default_factory=list)

    @property
    def ends_open(self) -> bool:
        """Whether the last line has no end: it may have been cut."""
        return not self.content.endswith("\n")

    def lines(self) -> Iterator[Line]:
        """Every line that says something. Only LF and CR LF end one: titles may hold the other
        characters that Python takes for line ends."""
        for number, raw in enumerate(StringIO(self.content, newline="\n"), 1):
            text = raw.strip(" \t\r\n")
            if not text or (text[0] == "#" and not text.startswith("#EXT")):
                continue
            if len(text) > MAX_LINE_CHARS:
                raise self.malformed(number, "line_too_long", f"over {MAX_LINE_CHARS:,} characters")
            if text[0] != "#":
                yield Line(number, "", text)
                continue
            tag, _, value = text[1:].partition(":")
            yield Line(number, tag.rstrip(), value)

    def note(self, words: str) -> None:
        """Something a person may want to know, once."""
        if len(self.notes) < MAX_NOTES and words not in self.notes:
            self.notes.append(words)

    def malformed(self, line: int, reason: str, words: str) -> Malformed:
        """The error for a line that can't mean anything."""
        return self.refused(Malformed, line, reason, words)

    def refused(self, kind: type[Refusal], line: int, reason: str, words: str) -> Refusal:
        """An error that names manifest and line."""
        return kind(f"{strike(self.url)}: line {line}: {words}", reason=reason)


def read_text(body: bytes, url: str) -> Text:
    """The manifest in `body`. Raises `Malformed` for what is none, `TooLarge` for one without
    end."""
    if len(body) > MAX_MANIFEST_BYTES:
        raise TooLarge(
            f"{strike(url)}: a manifest of over {MAX_MANIFEST_BYTES:,} bytes",
            reason="manifest_too_large",
        )
    notes: list[str] = []
    if body.startswith(_BOM):
        # RFC 8216 lets clients fail here. The mark harms nobody, so the video is got.
        body = body[len(_BOM) :]
        notes.append("a byte order mark stands before the manifest")
    if not body.strip(_BLANK):
        raise Malformed(f"{strike(url)}: the manifest is empty", reason="empty_manifest")
    content = _decoded(body, notes).lstrip(" \t\r\n")
    if not _HEADER.match(content):
        raise Malformed(f"{strike(url)}: {_what_else(content)}", reason="no_extm3u")
    return Text(url, content, notes)


def _decoded(body: bytes, notes: list[str]) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        # Old titles are in Latin-1 and harm nothing; an address with such a byte is refused later.
        notes.append("not all of the manifest is UTF-8")
        return body.decode("utf-8", "replace")


def _what_else(content: str) -> str:
    if _HTML.match(content[:4096]):
        return (
            "an HTML page came instead of a manifest; check the address, or whether it asks "
            "to log in"
        )
    return f"no manifest: its first line is not #EXTM3U but begins with {content[:20]!r}"
