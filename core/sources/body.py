"""A page's bytes, read whole within a bound, and the refusals that every format shares."""

from __future__ import annotations

import re

from core.errors import Malformed
from core.model.addresses import strike
from core.sources.adapter import PageInput

MAX_BODY_BYTES = 64 * 1024**2  # a page, not a dump; a list has no such bound
MAX_ITEMS = 100_000  # of one page: each becomes a post, held until the page is done
# Reasons of `Malformed` that another answer may not have.
CUT_REASONS = frozenset(["empty", "truncated"])
HEAD_BYTES = 64 * 1024  # enough to tell what a body is

_BLANK = b"\xef\xbb\xbf\xff\xfe \t\r\n\0"  # byte-order marks, spaces, and UTF-16's empty halves
_PROLOGUE = re.compile(rb"\s*(?:<\?.*?\?>|<!--.*?-->)\s*", re.DOTALL)
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body)\b")


def malformed(page: PageInput, reason: str, words: str) -> Malformed:
    """The error for a page of which nothing can be read: which page, what is wrong, what next."""
    return Malformed(f"{strike(page.url)}: {words}", reason=reason)


def leads_back(page: PageInput) -> Malformed:
    """The error for a page that says that it is followed by itself. Another answer may say better;
    an end of the list it is not."""
    words = "its next page is this one once more"
    return malformed(page, "truncated", words)


def too_large(page: PageInput, bound: str) -> Malformed:
    """The error for a page that would not fit into memory as posts."""
    words = f"more than {bound} in one page; split it, or make it a text list"
    return malformed(page, "page_too_large", words)


def head(page: PageInput) -> bytes:
    """The body's first bytes, without byte-order mark and leading blanks. Leaves the stream at its
    start."""
    page.stream.seek(0)
    first = page.stream.read(HEAD_BYTES)
    page.stream.seek(0)
    return first.lstrip(_BLANK)


def read_body(page: PageInput, *, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """The whole body. Raises `Malformed` for an empty one, an HTML page and one past the bound."""
    page.stream.seek(0)
    body = page.stream.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise too_large(page, f"{max_bytes} bytes")
    refuse_unreadable(body, page)
    return body


def refuse_unreadable(first: bytes, page: PageInput) -> None:
    """Raise `Malformed` for a body that is blank or starts as an HTML page does."""
    if not first.strip(_BLANK):
        raise malformed(page, "empty", "the body is empty; a feed was expected")
    if is_html(first):
        words = (
            "an HTML page came instead of a feed; check the address, or whether it asks to log in"
        )
        raise malformed(page, "html_instead_of_feed", words)


def is_html(body: bytes) -> bool:
    """Whether a body starts as an HTML page does, behind any declaration and comments."""
    start = body[:HEAD_BYTES].replace(b"\0", b"").lstrip(_BLANK).lower()
    return _HTML.match(behind_prologue(start)) is not None


def behind_prologue(start: bytes) -> bytes:
    """What follows the declaration and comments that a document begins with."""
    at = 0
    while prologue := _PROLOGUE.match(start, at):
        at = prologue.end()
    return start[at:].lstrip()
