"""The staged pieces of one video, read as its plan uses them: hashed as they were fetched, measured
against the plan, decrypted. Holds one chunk at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from core.errors import DamagedPiece, Malformed, StorageDown
from core.model.plan import Part
from core.model.video import StagedVideo

_CHUNK_BYTES = 1024 * 1024
_KEY_BYTES = 16

Sum = tuple[int, str]  # size in bytes, SHA-256


class Pieces:
    """Reads parts. `check` is called with every chunk and ends the reading by raising."""

    def __init__(
        self, staged: StagedVideo, path: Callable[[int], Path], check: Callable[[], None]
    ) -> None:
        self._plan = staged.plan
        self._keys = staged.keys
        self._path = path
        self._check = check
        self._sums: list[Sum | None] = [None] * len(staged.plan.pieces)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._sums)

    def chunks(self, part: Part) -> Iterator[bytes]:
        """The plain bytes of a piece at one place of its use. Raises `DamagedPiece`."""
        raw = self._raw(part.piece)
        if part.key is None:
            return raw
        # Here: most videos are not encrypted, and the library takes 0.02 s of a start.
        from core.video.decrypt import decrypted  # noqa: PLC0415

        return decrypted(raw, self._key(part.key.url), bytes.fromhex(part.key.iv), part.piece)

    def sums(self) -> tuple[Sum, ...]:
        """Size and hash of every piece as it was fetched; reads those that nothing used."""
        for piece, known in enumerate(self._sums):
            if known is None:
                for _ in self._raw(piece):
                    pass
        return tuple(known for known in self._sums if known is not None)

    def size_bytes(self) -> int:
        """Of all that was read so far."""
        return sum(known[0] for known in self._sums if known is not None)

    def _raw(self, piece: int) -> Iterator[bytes]:
        """A piece as it was fetched. Its first reading hashes it; the others need not."""
        digest = hashlib.sha256() if self._sums[piece] is None else None
        size = 0
        for chunk in self._read(piece):
            self._check()
            size += len(chunk)
            if digest is not None:
                digest.update(chunk)
            yield chunk
        if digest is not None:
            self._measure(piece, size)
            self._sums[piece] = (size, digest.hexdigest())

    def _read(self, piece: int) -> Iterator[bytes]:
        path = self._path(piece)
        try:
            with path.open("rb", buffering=0) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    yield chunk
        except OSError as error:
            raise StorageDown(
                f"cannot read piece {piece} ({path}): {error.strerror or error}: check the disk of "
                "the store, and that nobody cleared its staging folder"
            ) from error

    def _measure(self, piece: int, size: int) -> None:
        planned = self._plan.pieces[piece].length or self._plan.pieces[piece].size_bytes
        if size == 0 or (planned is not None and size != planned):
            wanted = "at least one" if planned is None else f"{planned:,}"
            raise DamagedPiece(
                f"piece {piece} has {size:,} bytes, its plan says {wanted}",
                piece=piece,
            )

    def _key(self, url: str) -> bytes:
        key = bytes.fromhex(self._keys.get(url, ""))
        if len(key) != _KEY_BYTES:
            raise Malformed(
                f"the staged plan of video {self._plan.media} has {len(key)} bytes of a key "
                f"instead of {_KEY_BYTES}: discard the video's staging and requeue it",
                reason="bad_key",
            )
        return key
