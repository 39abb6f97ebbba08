"""Compressed bodies undone piece by piece, within a bound: no compression bomb gets far."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from core.errors import TooLarge, Truncated

_PIECE_BYTES = 64 * 1024
_GZIP, _ZLIB, _RAW = 31, 15, -15  # zlib's window bits
_MAGIC = b"\x1f\x8b"


def within(pieces: Iterable[bytes], max_bytes: int, what: str) -> Iterator[bytes]:
    """The pieces. Raises `TooLarge` when they are more than `max_bytes` together, once what fits
    was handed on: the first bytes may be all that is wanted, however much came with them."""
    room = max_bytes
    for piece in pieces:
        if len(piece) > room:
            yield piece[:room]
            raise TooLarge(
                f"{what}: a page over the cap of {max_bytes:,} bytes; "
                "max_page_bytes of its source would allow more"
            )
        room -= len(piece)
        yield piece


def unzipped(pieces: Iterable[bytes], what: str) -> Iterator[bytes]:
    """A file that is gzip by its first bytes, as what is in it; any other as it is. Sitemaps and
    lists are kept so, and no header tells. Undone once: what is in a gzip stays as it is."""
    rest, head = iter(pieces), b""
    for piece in rest:
        head += piece
        if len(head) >= len(_MAGIC):
            break
    whole = chain([head], rest)
    return inflate(whole, is_gzip=True, what=what) if head.startswith(_MAGIC) else whole


def inflate(chunks: Iterable[bytes], *, is_gzip: bool, what: str) -> Iterator[bytes]:
    """Decompress in small pieces. A gzip file may have several members, one behind the other, cut
    anywhere on the way. Raises `Truncated` for damage, and when the end is missing."""
    machine = zlib.decompressobj(_GZIP) if is_gzip else None
    is_over = False
    for chunk in filter(None, chunks):
        # «deflate» should be a zlib stream; some servers send it bare.
        machine = machine or zlib.decompressobj(_ZLIB if chunk[0] & 15 == 8 else _RAW)
        data = chunk
        while data and not is_over:
            if machine.eof and is_gzip and data[0] == _MAGIC[0]:
                machine = zlib.decompressobj(_GZIP)  # another member follows
            elif machine.eof:
                is_over = True  # padding behind the end; read all the same, within its bound
            yield from _pieces(machine, data, what)
            data = machine.unused_data
    if machine is not None and not machine.eof:
        raise Truncated(f"{what}: the compressed page breaks off")


def _pieces(machine: zlib._Decompress, data: bytes, what: str) -> Iterator[bytes]:
    while not machine.eof:
        try:
            piece = machine.decompress(data, _PIECE_BYTES)
        except zlib.error as error:
            raise Truncated(f"{what}: the compressed page is damaged", reason="damaged") from error
        yield piece
        data = machine.unconsumed_tail
        if not data and len(piece) < _PIECE_BYTES:
            return
