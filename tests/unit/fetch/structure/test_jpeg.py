from __future__ import annotations

import io

import pytest

from core.errors import Truncated
from core.fetch.structure import jpeg as structure
from core.fetch.structure.walk import Shape
from tests.support.media import jpeg


def _walk(body: bytes) -> Shape:
    return structure.walk(io.BytesIO(body), len(body))


def test_the_end_marker_of_a_thumbnail_is_not_the_pictures() -> None:
    body = jpeg(24, 16, thumbnail=jpeg(8, 8))

    assert _walk(body) == Shape(len(body), 24, 16)


def test_a_picture_cut_after_its_thumbnail_is_truncated() -> None:
    thumbnail = jpeg(8, 8)
    body = jpeg(24, 16, thumbnail=thumbnail)
    cut = body[: body.index(thumbnail) + len(thumbnail)]

    with pytest.raises(Truncated):
        _walk(cut)


def test_restart_markers_are_data() -> None:
    body = jpeg(64, 64, restart=2)

    assert b"\xff\xd0" in body
    assert _walk(body).end == len(body)


def test_every_scan_of_a_progressive_picture_is_walked() -> None:
    body = jpeg(progressive=True)
    first_scan = body[: body.rindex(b"\xff\xda")]

    assert _walk(body).end == len(body)
    with pytest.raises(Truncated):
        _walk(first_scan)


def test_stuffed_and_fill_bytes_are_no_markers() -> None:
    body = jpeg()
    stuffed = body[:-2] + b"\xff\x00\xff\xff\xff\xd9"

    assert _walk(stuffed).end == len(stuffed)


def test_a_marker_across_the_blocks_of_reading_is_found() -> None:
    for pad in range(60, 70):
        body = jpeg()[:-2] + b"\x11" * pad + b"\xff\xd9"
        assert _walk(body).end == len(body)


def test_the_second_picture_of_a_phone_is_trailing() -> None:
    first, second = jpeg(), jpeg(seed=1)

    assert _walk(first + second).end == len(first)


def test_strange_bytes_between_segments_are_passed_over() -> None:
    body = jpeg()
    odd = body[:2] + b"\x00\x00" + body[2:]

    assert _walk(odd).end == len(odd)


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8\xff\xe0\x00\x01\xff\xd9",
        b"\xff\xd8\xff\xe0\xff\xff" + bytes(10),
        jpeg()[: jpeg().index(b"\xff\xda")] + b"\xff\xd9",
        b"\xff\xd8" + jpeg(),
    ],
    ids=["nothing", "length 1", "length too long", "no scan", "two starts"],
)
def test_a_picture_that_is_none_is_truncated(body: bytes) -> None:
    with pytest.raises(Truncated):
        _walk(body)


def test_a_height_told_late_is_found() -> None:
    body = bytearray(jpeg(24, 16))
    frame = body.index(b"\xff\xc0")
    body[frame + 5 : frame + 7] = b"\0\0"
    late = bytes(body[:-2]) + b"\xff\xdc\x00\x04\x00\x10\xff\xd9"

    assert _walk(late) == Shape(len(late), 24, 16)
