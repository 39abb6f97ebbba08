"""Writing and syncing by descriptors: the few system calls that a file of the store costs. Raises
OSError; `Disk` says what it means."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_BLOCK_BYTES = 64 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def read(path: Path) -> bytes:
    """The whole content of a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        blocks = [os.read(descriptor, os.fstat(descriptor).st_size + 1)]
        while blocks[-1]:
            blocks.append(os.read(descriptor, _BLOCK_BYTES))
    finally:
        os.close(descriptor)
    return b"".join(blocks)


def write_new(path: Path, chunks: Iterable[bytes], mode: int, *, durable: bool) -> None:
    """Write a file that nobody else has. By a bare descriptor: a file object asks what it is and
    whether a child inherits it, two more system calls."""
    descriptor = os.open(path, _NEW, mode)
    try:
        for block in joined(chunks):
            write_all(descriptor, block)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def write_all(descriptor: int, block: bytes) -> None:
    """A disk that is nearly full takes less than it is given."""
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
