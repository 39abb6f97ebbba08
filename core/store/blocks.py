"""Writing and syncing by descriptors: the few system calls that a file of the store costs. Raises
OSError; `Disk` says what it means."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path

_BLOCK_BYTES = 64 * 1024


def sync(path: Path, mode: int | None = None) -> None:
    """Make a file or a folder durable; with `mode`, its permissions are set on the way."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def joined(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks joined until they are worth a system call."""
    waiting: list[bytes] = []
    size_bytes = 0
    for chunk in chunks:
        waiting.append(chunk)
        size_bytes += len(chunk)
        if size_bytes >= _BLOCK_BYTES:
            yield b"".join(waiting)
            waiting, size_bytes = [], 0
    if waiting:
        yield b"".join(waiting)


def write_all(file: FileIO, block: bytes) -> None:
    """A disk that is nearly full takes less than it is given."""
    rest = memoryview(block)
    while rest:
        rest = rest[file.write(rest) :]
