"""A plain list of addresses, one a line, read 250 lines at a time: memory stays flat however
long the list or a line is. The cursor is where to go on, "OFFSET:LINE", in the kept body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from core.model.post import FeedPage, MediaRecord, Post, Rendition, Skipped
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.body import head, malformed, refuse_unreadable
from core.sources.media_types import MediaType, by_extension
from core.sources.resolve import Unusable, resolve

LINES_A_PAGE = 250  # the first media wait for a page: 0.1 s of CPU, where 1,000 lines took 0.26
MAX_LINE_BYTES = 64 * 1024

_CURSOR = re.compile(r"(\d{1,18}):(\d{1,18})", re.ASCII)
_BOM = b"\xef\xbb\xbf"
_OTHER_UNICODE = (b"\xff\xfe", b"\xfe\xff")


class ListAdapter:
    """Addresses, one a line; blank lines and lines that start with `#` say nothing."""

    name = "list"
    many_hosts = True

    def request(self, address: str, cursor: str | None) -> Request | None:
        if cursor is not None or address.startswith("file:"):
            return None
        return Request(address, headers={"Accept": "text/plain, */*;q=0.5"})

    def parse(self, page: PageInput) -> FeedPage:
        line = _start(page)
        chunk = _Chunk()
        for number, raw in _lines(page.stream, line):
            chunk.read(number, raw)
            line = number + 1
        cursor = _cursor(page.stream, line)
        if page.cursor is None and cursor is None and chunk.skipped and not chunk.posts:
            words = f"no http address in any of {len(chunk.skipped)} lines; a list has one a line"
            raise malformed(page, "no_addresses", words)
        return FeedPage(
            posts=tuple(chunk.posts.values()), cursor=cursor, skipped=tuple(chunk.skipped)
        )


class _Chunk:
    """What the lines of one page gave."""

    def __init__(self) -> None:
        self.posts: dict[str, Post] = {}
        self.skipped: list[Skipped] = []

    def read(self, number: int, raw: bytes | Unusable) -> None:
        """One line, if it says anything."""
        found = raw if isinstance(raw, Unusable) else _post(raw)
        match found:
            case Unusable(reason=reason):
                self._skip(number, reason)
            case Post(key=key) if key in self.posts:
                self._skip(number, "duplicate")
            case Post(key=key) as post:
                self.posts[key] = post
            case None:
                pass

    def _skip(self, number: int, reason: str) -> None:
        self.skipped.append(Skipped(where=f"line {number}", reason=reason))


def _start(page: PageInput) -> int:
    """Set the stream to where this page begins; the number of its first line."""
    if page.cursor is None:
        first = head(page)
        page.stream.seek(0)
        mark = page.stream.read(len(_BOM))
        _refuse_binary(first, mark, page)
        page.stream.seek(len(_BOM) if mark == _BOM else 0)
        return 1
    place = _CURSOR.fullmatch(page.cursor)
    if not place or int(place[1]) > page.stream.seek(0, 2):
        words = f"{page.cursor[:60]!r} is no place in this list; start a new walk"
        raise malformed(page, "bad_cursor", words)
    page.stream.seek(int(place[1]))
    return int(place[2])


def _refuse_binary(first: bytes, mark: bytes, page: PageInput) -> None:
    refuse_unreadable(first, page)
    if mark.startswith(_OTHER_UNICODE) or b"\0" in first:
        raise malformed(page, "not_text", "not a text in UTF-8; save the list as UTF-8")


def _lines(stream: BinaryIO, number: int) -> Iterator[tuple[int, bytes | Unusable]]:
    """The next lines with their numbers. A line past the bound is passed over piece by piece."""
    for current in range(number, number + LINES_A_PAGE):
        raw = stream.readline(MAX_LINE_BYTES + 2)  # with CR and LF
        if not raw:
            return
        if len(raw.rstrip(b"\r\n")) <= MAX_LINE_BYTES:
            yield current, raw
            continue
        while raw and not raw.endswith(b"\n"):
            raw = stream.readline(MAX_LINE_BYTES)
        yield current, Unusable("line_too_long")


def _cursor(stream: BinaryIO, line: int) -> str | None:
    """Where the next page begins; None when nothing is left."""
    place = stream.tell()
    return f"{place}:{line}" if stream.read(1) else None


def _post(raw: bytes) -> Post | Unusable | None:
    """The line's post; None for a line that says nothing. Its key is its address and not its
    number: a line added on top would make every other line a new post."""
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError:
        return Unusable("not_utf8")
    if not text or text.startswith("#"):
        return None
    match resolve(text, None):
        case Unusable(reason="relative_without_base"):
            return Unusable("not_http_url")
        case Unusable() as unusable:
            return unusable
        case url:
            return _media_post(url)


def _media_post(url: str) -> Post | Unusable:
    match by_extension(url):
        case Unusable() as unusable:
            return unusable
        case MediaType(kind=kind, manifest=manifest):
            rendition = Rendition(url=url, manifest=manifest)
            return Post(key=url, media=(MediaRecord(kind=kind, renditions=(rendition,)),))
