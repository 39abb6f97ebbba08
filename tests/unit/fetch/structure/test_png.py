from __future__ import annotations

import io
import struct
import zlib

import pytest

from core.errors import Truncated
from core.fetch.structure import png as structure
from core.fetch.structure.walk import Shape
from tests.support.media import png


def _walk(body: bytes) -> Shape:
    return structure.walk(io.BytesIO(body), len(body))


def test_a_whole_picture_ends_with_iend() -> None:
    body = png(40, 30)

    assert _walk(body) == Shape(len(body), 40, 30)


@pytest.mark.parametrize("place", [20, 60, -6])
def test_a_flipped_bit_is_found_by_its_checksum(place: int) -> None:
    body = bytearray(png())
    body[place] ^= 1

    with pytest.raises(Truncated) as caught:
        _walk(bytes(body))

    assert caught.value.reason == "damaged"


def test_a_length_that_lies_is_truncated() -> None:
    body = png()[:33] + b"\x7f\xff\xff\xffIDAT"

    with pytest.raises(Truncated, match="ends within its IDAT"):
        _walk(body)


def test_no_data_is_no_picture() -> None:
    body = png()
    empty = body[:33] + body[-12:]

    with pytest.raises(Truncated, match="no image data"):
        _walk(empty)


def test_no_pixels_is_no_picture() -> None:
    body = bytearray(png())
    body[16:20] = bytes(4)
    body[29:33] = struct.pack(">I", zlib.crc32(body[12:29]))

    with pytest.raises(Truncated, match="no pixels"):
        _walk(bytes(body))


def test_data_before_the_header_is_damage() -> None:
    body = png()

    with pytest.raises(Truncated, match="does not begin"):
        _walk(body[:8] + body[33:])


def test_a_chunk_larger_than_a_block_is_checked() -> None:
    body = png(size_bytes=700_000)

    assert _walk(body).end == 700_000
