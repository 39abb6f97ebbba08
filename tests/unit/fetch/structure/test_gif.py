from __future__ import annotations

import io

import pytest

from core.errors import Truncated
from core.fetch.structure import gif as structure
from core.fetch.structure.walk import Shape
from tests.support.media import gif


def _walk(body: bytes) -> Shape:
    return structure.walk(io.BytesIO(body), len(body))


def test_every_frame_is_walked_to_the_trailer() -> None:
    body = gif(40, 30, frames=4)

    assert _walk(body) == Shape(len(body), 40, 30)


def test_a_trailers_byte_within_data_is_no_trailer() -> None:
    body = gif(size_bytes=5000)

    assert b"\x3b" in body[:-1]
    assert _walk(body).end == 5000


def test_a_missing_trailer_is_truncated() -> None:
    with pytest.raises(Truncated):
        _walk(gif()[:-1])


def test_one_terminator_too_many_is_passed_over() -> None:
    body = gif()[:-1] + b"\0\0\x3b"

    assert _walk(body).end == len(body)


def test_an_unknown_block_is_damage() -> None:
    with pytest.raises(Truncated) as caught:
        _walk(gif()[:-1] + b"\x99\x3b")

    assert caught.value.reason == "damaged"


def test_no_image_is_no_picture() -> None:
    with pytest.raises(Truncated, match="no image"):
        _walk(gif()[:25] + b"\x3b")
