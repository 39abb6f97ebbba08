"""Lists in all their forms: addresses one a line, CSV and TSV, JSON Lines, one JSON array; told
apart by their first bytes. Read 250 entries at a time: memory stays flat however long a list is.
The cursor is "OFFSET:NUMBER", where to go on in the kept body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, Protocol

from core.model.post import FeedPage, Post, Skipped
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.body import head, malformed, refuse_unreadable
from core.sources.list_entry import Found
from core.sources.list_items import Items
from core.sources.list_rows import Rows, delimiter_of
from core.sources.resolve import Unusable
from core.sources.text_list import Lines, address_line, json_line

ENTRIES_A_PAGE = 250  # the first media wait for a page: 0.1 s of CPU, where 1,000 took 0.26
ACCEPT = "text/plain, text/csv, application/json;q=0.9, */*;q=0.5"

_CURSOR = re.compile(r"(\d{1,18}):(\d{1,18})", re.ASCII)
_BOM = b"\xef\xbb\xbf"
_OTHER_UNICODE = (b"\xff\xfe", b"\xfe\xff")


class _Form(Protocol):
    """How a list is written."""

    unit: str  # what its entries are called

    def entries(self, number: int) -> Iterator[tuple[int, Found]]:
        """What the entries say, from where the stream stands; behind each, it stands behind it."""


class ListAdapter:
    """Addresses, with or without columns that tell about them."""

    name = "list"
    many_hosts = True
    stop_after_known = 1
    about = "lists of media addresses: text, CSV, TSV, JSON Lines, JSON array"
    example = "https://site.example/pictures.csv.gz"

    def request(self, address: str, cursor: str | None) -> Request | None:
        if cursor is not None or address.startswith("file:"):
            return None
        return Request(address, headers={"Accept": ACCEPT})

    def parse(self, page: PageInput) -> FeedPage:
        form = _form(page)
        number = 1 if page.cursor is None else _go_on(page, page.cursor)
        chunk = _Chunk(form.unit)
        for current, found in islice(form.entries(number), ENTRIES_A_PAGE):
            chunk.take(current, found)
            number = current + 1
        cursor = _cursor(page.stream, number)
        if page.cursor is None and cursor is None and chunk.skipped and not chunk.posts:
            words = f"no http address in any of its {len(chunk.skipped)} {form.unit}s"
            raise malformed(page, "no_addresses", words)
        return FeedPage(
            posts=tuple(chunk.posts.values()), cursor=cursor, skipped=tuple(chunk.skipped)
        )


class _Chunk:
    """What the entries of one page gave."""

    def __init__(self, unit: str) -> None:
        self.posts: dict[str, Post] = {}
        self.skipped: list[Skipped] = []
        self._unit = unit

    def take(self, number: int, found: Found) -> None:
        """One entry, if it says anything."""
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
        self.skipped.append(Skipped(where=f"{self._unit} {number}", reason=reason))


def _form(page: PageInput) -> _Form:
    """The list's form, with the stream at its first entry."""
    first = head(page)
    mark = page.stream.read(len(_BOM))
    _refuse_binary(first, mark, page)
    page.stream.seek(len(_BOM) if mark == _BOM else 0)
    if first.startswith(b"["):
        return Items(page)
    if first.startswith(b"{"):
        return Lines(page.stream, json_line)
    delimiter = delimiter_of(first)
    return Rows(page.stream, delimiter) if delimiter else Lines(page.stream, address_line)


def _refuse_binary(first: bytes, mark: bytes, page: PageInput) -> None:
    refuse_unreadable(first, page)
    if first.startswith(b"PAR1"):
        raise malformed(page, "parquet", "a Parquet file, which is not read: save it as CSV")
    if mark.startswith(_OTHER_UNICODE) or b"\0" in first:
        raise malformed(page, "not_text", "not a text in UTF-8; save the list as UTF-8")


def _go_on(page: PageInput, cursor: str) -> int:
    """Set the stream to where this page begins; the number of its first entry."""
    place = _CURSOR.fullmatch(cursor)
    if not place or int(place[1]) > page.stream.seek(0, 2):
        words = f"{cursor[:60]!r} is no place in this list; start a new walk"
        raise malformed(page, "bad_cursor", words)
    page.stream.seek(int(place[1]))
    return int(place[2])


def _cursor(stream: BinaryIO, number: int) -> str | None:
    """Where the next page begins; None when nothing is left."""
    place = stream.tell()
    return f"{place}:{number}" if stream.read(1) else None
