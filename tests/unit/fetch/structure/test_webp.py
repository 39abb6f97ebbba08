from __future__ import annotations

import io
import struct

import pytest

from core.errors import Truncated
from core.fetch.structure import webp as structure
from core.fetch.structure.walk import Shape
from tests.support.media import webp


def _walk(body: bytes) -> Shape:
    return structure.walk(io.BytesIO(body), len(body))


def _riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"WEBP"
    for kind, data in chunks:
        body += kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


_LOSSY = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", 300, 200) + bytes(20)


def test_a_lossless_picture() -> None:
    body = webp(40, 30)

    assert _walk(body) == Shape(len(body), 40, 30)


def test_a_lossy_picture() -> None:
    body = _riff((b"VP8 ", _LOSSY))

    assert _walk(body) == Shape(len(body), 300, 200)


def test_an_animation_has_its_canvas_size() -> None:
    canvas = bytes(4) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
    body = _riff((b"VP8X", canvas), (b"ANIM", bytes(6)), (b"ANMF", bytes(30)))

    assert _walk(body) == Shape(len(body), 640, 480)


def test_a_file_shorter_than_its_container_says_is_truncated() -> None:
    with pytest.raises(Truncated):
        _walk(webp(size_bytes=3000)[:2999])


def test_a_chunk_beyond_its_container_is_damage() -> None:
    body = bytearray(webp())
    body[16:20] = struct.pack("<I", 5000)

    with pytest.raises(Truncated, match="beyond"):
        _walk(bytes(body))


@pytest.mark.parametrize("chunks", [[], [(b"EXIF", bytes(8))], [(b"VP8X", bytes(10))]])
def test_no_picture_within_is_damage(chunks: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(Truncated, match="no picture"):
        _walk(_riff(*chunks))
