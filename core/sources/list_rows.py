"""Lists that are tables: CSV with a header line, whatever parts its cells. A row may span lines, so
rows are counted, and a quote that never closes costs its own line only."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import BinaryIO

from core.sources.list_entry import ADDRESS, Found, row_post
from core.sources.resolve import Unusable
from core.sources.text_list import MAX_LINE_BYTES, pass_over

MAX_ROW_BYTES = 128 * 1024

_DELIMITERS = "\t,;|"


class _TooLong(Exception):
    """The row is longer than any that is read."""


class _Pieces:
    """One row's lines, as `csv` asks for them."""

    def __init__(self, stream: BinaryIO) -> None:
        self.ended = False  # whether a line was wanted and there was none
        self._stream = stream
        self._left_bytes = MAX_ROW_BYTES

    def __iter__(self) -> _Pieces:
        return self

    def __next__(self) -> str:
        raw = self._stream.readline(self._left_bytes + 1)
        self._left_bytes -= len(raw)
        if self._left_bytes < 0:
            raise _TooLong
        if not raw:
            self.ended = True
            raise StopIteration
        return raw.decode("utf-8", "replace")


def delimiter_of(first: bytes) -> str | None:
    """What parts the cells of the table that begins so; None when its first line names no column
    for addresses."""
    line = first.partition(b"\n")[0].decode("utf-8", "replace")
    return next((one for one in _DELIMITERS if ADDRESS in _names(line, one)), None)


def _names(line: str, delimiter: str) -> list[str]:
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
    return [cell.strip().lower() for cell in cells]


class Rows:
    """A table. The stream stands at its header, and behind it when this is made."""

    unit = "row"

    def __init__(self, stream: BinaryIO, delimiter: str) -> None:
        self._stream = stream
        self._delimiter = delimiter
        self._names: list[str] = []
        while not any(self._names) and (raw := stream.readline(MAX_LINE_BYTES)):
            self._names = _names(raw.decode("utf-8", "replace"), delimiter)

    def entries(self, number: int) -> Iterator[tuple[int, Found]]:
        """What the rows say, from where the stream stands; the first of them has this number."""
        while (cells := self._cells()) is not None:
            yield number, self._found(cells)
            number += 1

    def _found(self, cells: list[str] | Unusable) -> Found:
        if isinstance(cells, Unusable):
            return cells
        if not any(cells):
            return None
        return row_post(dict(zip(self._names, cells, strict=False)))

    def _cells(self) -> list[str] | Unusable | None:
        """The next row; None when there is no more."""
        start = self._stream.tell()
        lines = _Pieces(self._stream)
        try:
            cells = next(csv.reader(lines, delimiter=self._delimiter), None)
        except (csv.Error, _TooLong):
            return self._one_line(start)
        # A row that wants lines behind the last one has a quote that never closes.
        return self._one_line(start) if cells is not None and lines.ended else cells

    def _one_line(self, start: int) -> list[str] | Unusable:
        """The row that begins there, as the one line that it is by its look, quotes and all."""
        self._stream.seek(start)
        raw = self._stream.readline(MAX_LINE_BYTES)
        if not raw.endswith(b"\n") and len(raw) == MAX_LINE_BYTES:
            pass_over(self._stream, raw)
            return Unusable("line_too_long")
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        cells = line.split(self._delimiter)
        return cells if len(cells) == len(self._names) else Unusable("bad_row")
