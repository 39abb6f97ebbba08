"""Lists that are one JSON array, read item by item: it is never held as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from core.errors import Malformed
from core.sources.adapter import PageInput
from core.sources.body import malformed
from core.sources.json_page import DECODER
from core.sources.list_entry import Found, value_post

MAX_ITEM_BYTES = 1024 * 1024

_WINDOW_BYTES = 64 * 1024
_BLANK = re.compile(r"[ \t\r\n]*")
_LAST = re.compile(r"\][ \t\r\n]*")
# Keeps bytes that are no UTF-8, so that places are still counted in bytes.
_KEPT = "surrogateescape"


class Items:
    """An array. The stream stands at its bracket, and behind it when this is made. Raises
    `Malformed` for one that is cut: a list must not end early and pass for whole."""

    unit = "item"

    def __init__(self, page: PageInput) -> None:
        self._page = page
        self._stream = page.stream
        start = self._stream.tell()
        if not _ends_well(self._stream):
            raise malformed(page, "truncated", "its JSON array is cut off; fetch it again")
        self._stream.seek(start)
        while self._stream.read(1) not in (b"[", b""):
            pass

    def entries(self, number: int) -> Iterator[tuple[int, Found]]:
        """What the items say, from where the stream stands; the first of them has this number.
        Damage is raised on a page of its own: the items before it are kept."""
        window = _Window(self._stream)
        first = number
        while True:
            try:
                if window.at_end():
                    break
                value = window.item()
            except (ValueError, RecursionError) as error:
                if number > first and window.more:
                    break
                raise self._bad(number, error) from error
            self._stream.seek(window.place)
            yield number, value_post(value)
            number += 1
        self._stream.seek(window.place)

    def _bad(self, number: int, error: Exception) -> Malformed:
        if isinstance(error, RecursionError):
            return malformed(self._page, "too_deep", f"item {number} nests without end")
        what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return malformed(self._page, "bad_json", f"item {number} can't be read: {what}")


class _Window:
    """A piece of the array, which begins at `place` in the stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self.place = stream.tell()
        self._stream = stream
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(_KEPT)
        self._read_to = self.place
        self._end = stream.seek(0, 2)
        self._closed = False  # whether the array's end was passed

    @property
    def more(self) -> bool:
        """Whether anything is left."""
        return self.place < self._end

    def at_end(self) -> bool:
        """Whether no item follows; then the window is at the stream's end. Raises `ValueError` for
        anything behind the array's."""
        if self._closed or self._next() != "]":
            return self._closed
        place = self.place
        self._drop(1)
        if self._next():
            self.place = place  # there it is found again
            raise ValueError("something follows the array's end")
        self._closed = True
        return True

    def item(self) -> object:
        """The next item; what parts it from its follower is passed too, also when that is the end.
        Raises `ValueError` and `RecursionError`."""
        value, end = self._decoded()
        self._drop(end)
        if self._next() == ",":
            self._drop(1)
        elif self._whole and _LAST.fullmatch(self._text):
            self._drop(len(self._text))
            self._closed = True
        return value

    @property
    def _whole(self) -> bool:
        return self._read_to >= self._end

    def _decoded(self) -> tuple[object, int]:
        while True:
            try:
                value, end = DECODER.raw_decode(self._text)
            except json.JSONDecodeError:
                if self._whole or len(self._text) > MAX_ITEM_BYTES:
                    raise
            else:
                if end < len(self._text) or self._whole:  # else a number may go on behind it
                    return value, end
            self._more()

    def _next(self) -> str:
        """The next letter that is no blank, at which the window then begins; empty at the end."""
        while True:
            blank = _BLANK.match(self._text)
            self._drop(blank.end() if blank else 0)
            if self._text or self._whole:
                return self._text[:1]
            self._more()

    def _drop(self, letters: int) -> None:
        self.place += len(self._text[:letters].encode("utf-8", _KEPT))
        self._text = self._text[letters:]

    def _more(self) -> None:
        self._stream.seek(self._read_to)
        raw = self._stream.read(_WINDOW_BYTES)
        self._read_to += len(raw)
        self._text += self._decoder.decode(raw, final=self._whole)


def _ends_well(stream: BinaryIO) -> bool:
    """Whether the last that is no blank is a closing bracket."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _WINDOW_BYTES))
    return stream.read(_WINDOW_BYTES).rstrip(b" \t\r\n\0").endswith(b"]")
