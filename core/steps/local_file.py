"""A feed that is a local file, as its bytes are kept: what is in it where it is gzip."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from core.errors import Malformed, StorageDown, Truncated
from core.fetch.inflate import unzipped, within

_IN_MEMORY_BYTES = 2 * 1024**2
_PIECE_BYTES = 256 * 1024
_MAGIC = b"\x1f\x8b"


@contextmanager
def opened(path: Path, max_bytes: int) -> Iterator[BinaryIO]:
    """The file for reading, without its gzip. Raises `TooLarge` for more than `max_bytes` in that,
    `Malformed` for a damaged one."""
    with path.open("rb") as file:
        zipped = file.read(len(_MAGIC)) == _MAGIC
        file.seek(0)
        if not zipped:
            yield file
            return
        with SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as inside:
            _unzip(file, cast("BinaryIO", inside), path, max_bytes)
            inside.seek(0)
            yield cast("BinaryIO", inside)


def _unzip(file: BinaryIO, inside: BinaryIO, path: Path, max_bytes: int) -> None:
    try:
        inside.writelines(within(unzipped(_pieces(file), str(path)), max_bytes, str(path)))
    except Truncated as error:  # no other attempt changes a file
        raise Malformed(f"{error}; make the file anew", reason="damaged_gzip") from error
    except OSError as error:
        raise StorageDown(f"{path}, or the folder for temporary files: {error.strerror}") from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece
