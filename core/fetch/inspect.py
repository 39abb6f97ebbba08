"""What a downloaded file is, and whether it is whole. Reads the file and nothing else; never
decodes pixels."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from core.errors import EmptyBody, NotMedia, StorageDown, Unsupported
from core.fetch import types
from core.fetch.structure import gif, isobmff, jpeg, png, webp
from core.fetch.structure.walk import Shape
from core.model.post import MediaKind

MANIFEST = "unsupported_manifest"  # the reason by which a manifest is told from a file
_BUFFER_BYTES = 64 * 1024
_IN_MEMORY_BYTES = 1024 * 1024

_WALKS: dict[types.Sniffed, Callable[[BinaryIO, int], Shape]] = {
    types.JPEG: jpeg.walk,
    types.PNG: png.walk,
    types.GIF: gif.walk,
    types.WEBP: webp.walk,
    types.MP4: isobmff.walk_video,
    types.MOV: isobmff.walk_video,
    types.THREE_GP: isobmff.walk_video,
    types.HEIC: isobmff.walk_image,
    types.HEIF: isobmff.walk_image,
    types.AVIF: isobmff.walk_image,
}


@dataclass(frozen=True, slots=True)
class Inspected:
    """A file's own testimony; the fields of `core.model.end.MediaFile` without size and hash."""

    type: str  # MIME
    extension: str  # with the dot
    kind: MediaKind
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    checked: str = "structure"  # or "signature", where only the head is known
    trailing_bytes: int = 0  # after the end marker


def inspect(path: Path, content: bytes | None = None) -> Inspected:
    """Look at a whole file, in memory where its content is given. Raises `NotMedia`, `Unsupported`,
    `Truncated` or `EmptyBody`."""
    if content is not None:
        return _inspect(io.BytesIO(content), len(content))
    try:
        size = path.stat().st_size
        with path.open("rb", buffering=0 if size <= _IN_MEMORY_BYTES else _BUFFER_BYTES) as file:
            # Each seek in a file is a system call, and a walk through a JPEG makes 25 of them.
            held = io.BytesIO(file.read(size)) if size <= _IN_MEMORY_BYTES else file
            return _inspect(held, size)
    except OSError as error:
        raise StorageDown(
            f"{path}: {error.strerror}; check the store's disk and permissions"
        ) from error


def _inspect(file: BinaryIO, size: int) -> Inspected:
    if size == 0:
        raise EmptyBody("the file has no bytes")
    head = file.read(types.HEAD_BYTES)
    sniffed = types.sniff(head)
    if sniffed is None:
        raise _not_media(head)
    walk = _WALKS.get(sniffed)
    if walk is None:
        return Inspected(sniffed.type, sniffed.extension, sniffed.kind, checked="signature")
    file.seek(0)
    shape = walk(file, size)
    return Inspected(
        sniffed.type,
        sniffed.extension,
        sniffed.kind,
        shape.width,
        shape.height,
        trailing_bytes=size - shape.end,
    )


def _not_media(head: bytes) -> NotMedia | Unsupported:
    """The error that names what came instead."""
    if types.is_manifest(head):
        return Unsupported(
            "an HLS or DASH manifest, which names the video's pieces and is none itself",
            reason=MANIFEST,
        )
    if types.is_svg(head):
        return Unsupported("an SVG drawing: not collected", reason="unsupported_svg")
    name = types.name_of_other(head)
    if name == "unknown":
        return NotMedia(f"no image or video: it begins with {head[:8].hex(' ')}")
    return NotMedia(f"{name} instead of an image or video", reason=f"{name}_instead_of_media")
