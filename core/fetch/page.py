"""One feed page: decoded, with a cap on what comes out, so that no compression bomb gets far."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from core.errors import EmptyBody, ServerTrouble, StorageDown, TooLarge, Truncated
from core.fetch.exchange import Answer
from core.fetch.types import HEAD_BYTES

PAGE_HEADERS = {"Accept-Encoding": "gzip, deflate"}
_IN_MEMORY_BYTES = 2 * 1024**2
_PIECE_BYTES = 64 * 1024

_GZIP, _ZLIB, _RAW = 31, 15, -15  # zlib's window bits


@dataclass(frozen=True, slots=True)
class PageBody:
    """A page's bytes, decoded. The stream lives as long as its visit."""

    stream: BinaryIO  # seekable, at its start
    url: str  # the final address, without credentials
    content_type: str | None  # the header, as sent
    status: int


def read_page(
    answer: Answer, max_bytes: int, enough: Callable[[bytes], bool] | None = None
) -> PageBody:
    """Read the answer's body. Where `enough` says so of its first `HEAD_BYTES`, the rest is left.
    Raises `TooLarge`, `EmptyBody`, `Truncated` or `ServerTrouble`."""
    stream = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))  # noqa: SIM115 - the visit closes it
    try:
        size = _copy(answer, stream, max_bytes, enough)
    except BaseException:
        stream.close()
        raise
    if not size:
        stream.close()
        raise EmptyBody(
            f"{answer.shown}: status {answer.status} without a byte",
            http_status=answer.status,
        )
    stream.seek(0)
    return PageBody(stream, answer.url, answer.headers.get("Content-Type"), answer.status)


def _copy(
    answer: Answer, stream: BinaryIO, max_bytes: int, enough: Callable[[bytes], bool] | None
) -> int:
    pieces = _decoded(answer)
    size = 0
    for piece in pieces if enough is None else _until(enough, pieces):
        size += len(piece)
        if size > max_bytes:
            raise TooLarge(
                f"{answer.shown}: a page over the cap of {max_bytes:,} bytes; "
                "max_page_bytes of its source would allow more"
            )
        try:
            stream.write(piece)
        except OSError as error:
            raise StorageDown(f"the folder for temporary files: {error.strerror}") from error
    return size


def _until(enough: Callable[[bytes], bool], pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, or only the first ones."""
    head = b""
    for piece in pieces:
        yield piece
        if len(head) < HEAD_BYTES:
            head += piece[: HEAD_BYTES - len(head)]
            if len(head) == HEAD_BYTES and enough(head):
                return


def _decoded(answer: Answer) -> Iterator[bytes]:
    coding = answer.headers.get("Content-Encoding", "").strip().lower()
    if coding in ("", "identity"):
        return answer.chunks()
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ServerTrouble(
            f"{answer.shown}: coded as {coding[:40]!r}, which was not asked for",
            reason="content_coded",
        )
    return inflate(answer.chunks(), is_gzip=coding != "deflate", what=answer.shown)


def inflate(chunks: Iterable[bytes], *, is_gzip: bool, what: str) -> Iterator[bytes]:
    """Decompress in small pieces. Raises `Truncated` for damage, and when the end is missing."""
    machine = zlib.decompressobj(_GZIP) if is_gzip else None
    for chunk in chunks:
        # «deflate» should be a zlib stream; some servers send it bare.
        machine = machine or zlib.decompressobj(_ZLIB if chunk[0] & 15 == 8 else _RAW)
        data = chunk
        while data:
            yield from _pieces(machine, data, what)
            data = machine.unused_data
            if data and is_gzip and data[0] == 0x1F:
                machine = zlib.decompressobj(_GZIP)  # another member follows
            else:
                break  # used up, or padding behind the end
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
