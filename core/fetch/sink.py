"""The bytes of a partial as they come: appended, hashed, remembered for a successor. The only code
in this folder that writes files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from core.errors import StorageDown
from core.fetch.resume import Plan, plan
from core.model.partial import Validators
from core.model.request import Span
from core.ports import Partial

_READ_BYTES = 1024 * 1024
# A smaller file is sooner fetched again than remembered; so most images cost no extra write.
_REMEMBERED_FROM_BYTES = 1024 * 1024
# A smaller file stays in memory until it is looked at: to read it again takes five system calls.
_HELD_BELOW_BYTES = 1024 * 1024
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
_CLOSED = -1


class Sink:
    """Writes one partial, of a file or of a span of one. `held` is how many bytes it has."""

    def __init__(self, partial: Partial, span: Span | None = None) -> None:
        self._partial = partial
        self.span = span
        self._digest = hashlib.sha256()
        self._is_kept = partial.validators is not None
        self.validators = partial.validators
        self.resumed = False  # some bytes came with an earlier attempt
        with self._storage():
            self._file = self._open()
            self.held = os.fstat(self._file).st_size
        self._chunks: list[bytes] | None = None if self.held else []  # all bytes held, or None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    @property
    def sha256(self) -> str:
        """Of all bytes held."""
        return self._digest.hexdigest()

    @property
    def content(self) -> bytes | None:
        """All bytes held, where they came with this sink and are few."""
        return None if self._chunks is None else b"".join(self._chunks)

    @property
    def start(self) -> int:
        """The byte of the file that the partial begins with."""
        return 0 if self.span is None else self.span.start

    @property
    def wanted_bytes(self) -> int | None:
        """How many there will be when nothing is missing; None when nobody told."""
        if self.span is not None:
            return self.span.length
        return None if self.validators is None else self.validators.total_bytes

    def resume(self, url: str, check: Callable[[], None]) -> Plan:
        """How to go on from what is held, which is hashed again: it was written by another run.
        What can't be continued is dropped. `check` may raise, meanwhile."""
        planned = plan(self.validators, url, self.held, self.span)
        if not planned.start:
            self.restart()
            return planned
        self.resumed = True
        with self._storage(), self._partial.path.open("rb") as file:
            while chunk := file.read(_READ_BYTES):
                self._digest.update(chunk)
                check()
        return planned

    def restart(self) -> None:
        """Drop everything held."""
        if not self.held and self.validators is None:
            return
        self._close()
        self._partial.restart()
        self._digest, self._chunks = hashlib.sha256(), []
        self.held, self.validators, self.resumed = 0, None, False
        self._is_kept = False
        with self._storage():
            self._file = self._open()

    def begin(self, validators: Validators) -> None:
        """The file from its first byte, as this answer has it."""
        self.restart()
        self.validators = validators

    def write(self, chunk: bytes) -> None:
        """More bytes of the file."""
        rest = memoryview(chunk)
        with self._storage():
            while rest:
                count = self._append(rest)  # fewer than asked, when the disk is nearly full
                self._digest.update(rest[:count])
                self.held += count
                rest = rest[count:]
        self._hold(chunk)
        if self.held >= _REMEMBERED_FROM_BYTES:
            self.keep()

    def keep(self) -> None:
        """Remember the answer for a successor, if there is something to continue."""
        if self.held and self.validators is not None and not self._is_kept:
            self._partial.keep(self.validators)
            self._is_kept = True

    def _hold(self, chunk: bytes) -> None:
        if self.held >= _HELD_BELOW_BYTES:
            self._chunks = None
        elif self._chunks is not None:
            self._chunks.append(chunk)

    def _open(self) -> int:
        """A bare descriptor: a file object would look twice where it stands."""
        return os.open(self._partial.path, _APPEND, 0o666)

    def _append(self, data: memoryview) -> int:
        return os.write(self._file, data)

    def _close(self) -> None:
        descriptor, self._file = self._file, _CLOSED
        if descriptor != _CLOSED:
            os.close(descriptor)

    @contextmanager
    def _storage(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageDown(
                f"{self._partial.path}: {error.strerror}; "
                "the task waits until the store can be written again"
            ) from error
