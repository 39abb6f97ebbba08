"""Lists whose entries are lines: addresses, or JSON objects. A line past the bound is passed over
and never held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from core.sources.json_page import DECODER
from core.sources.list_entry import Found, address_post, value_post
from core.sources.resolve import Unusable

MAX_LINE_BYTES = 64 * 1024


class Lines:
    """A list of lines, of which `read` makes posts. The stream stands at its first line."""

    unit = "line"

    def __init__(self, stream: BinaryIO, read: Callable[[str], Found]) -> None:
        self._stream = stream
        self._read = read

    def entries(self, number: int) -> Iterator[tuple[int, Found]]:
        """What the lines say, from where the stream stands; the first of them has this number."""
        while raw := self._stream.readline(MAX_LINE_BYTES + 2):  # with CR and LF
            yield number, self._found(raw)
            number += 1

    def _found(self, raw: bytes) -> Found:
        if len(raw.rstrip(b"\r\n")) > MAX_LINE_BYTES:
            pass_over(self._stream, raw)
            return Unusable("line_too_long")
        try:
            return self._read(raw.decode("utf-8").strip())
        except UnicodeDecodeError:
            return Unusable("not_utf8")


def pass_over(stream: BinaryIO, raw: bytes) -> None:
    """Read on to the end of the line that `raw` is a piece of, without holding it."""
    while raw and not raw.endswith(b"\n"):
        raw = stream.readline(MAX_LINE_BYTES)


def address_line(text: str) -> Found:
    """One line of a plain list: an address; blank ones and those after `#` say nothing."""
    return None if not text or text.startswith("#") else address_post(text)


def json_line(text: str) -> Found:
    """One line of JSON Lines."""
    if not text:
        return None
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return Unusable("bad_json")
    return value_post(value) if not text[end:].strip() else Unusable("bad_json")
