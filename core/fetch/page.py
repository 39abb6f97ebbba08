"""One feed page: decoded, with a cap on what comes out, so that no compression bomb gets far. A
file that is gzip itself is undone here too, once: whoever reads pages never meets one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from core.errors import EmptyBody, ServerTrouble, StorageDown
from core.fetch.exchange import Answer
from core.fetch.inflate import inflate, unzipped, within
from core.fetch.types import HEAD_BYTES

PAGE_HEADERS = {"Accept-Encoding": "gzip, deflate"}
PART_HEADERS = {"Accept-Encoding": "identity"}  # a range counts the bytes as they lie there
_IN_MEMORY_BYTES = 2 * 1024**2


@dataclass(frozen=True, slots=True)
class PageBody:
    """A page's bytes, decoded. The stream lives as long as its visit."""

    stream: BinaryIO  # seekable, at its start
    url: str  # the final address, without credentials
    content_type: str | None  # the header, as sent
    status: int
    headers: Mapping[str, str]  # by names in any case


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
    if not size and answer.status < 400:  # of a refusal that is read also, the status says it all
        stream.close()
        raise EmptyBody(
            f"{answer.shown}: status {answer.status} without a byte",
            http_status=answer.status,
        )
    stream.seek(0)
    told = answer.headers
    return PageBody(stream, answer.url, told.get("Content-Type"), answer.status, told)


def _copy(
    answer: Answer, stream: BinaryIO, max_bytes: int, enough: Callable[[bytes], bool] | None
) -> int:
    what = answer.shown
    # Both stages are bounded: a bomb in a bomb must not even be unpacked to its inner shell.
    pieces = within(unzipped(within(_decoded(answer), max_bytes, what), what), max_bytes, what)
    size = 0
    for piece in pieces if enough is None else _until(enough, pieces):
        size += len(piece)
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
