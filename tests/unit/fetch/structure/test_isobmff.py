from __future__ import annotations

import io
import struct

import pytest

from core.errors import Truncated
from core.fetch.structure import isobmff
from core.fetch.structure.walk import Shape
from tests.support.media import box, heif, mp4


def _video(body: bytes) -> Shape:
    return isobmff.walk_video(io.BytesIO(body), len(body))


def _image(body: bytes) -> Shape:
    return isobmff.walk_image(io.BytesIO(body), len(body))


@pytest.mark.parametrize("fast_start", [True, False])
@pytest.mark.parametrize("wide", [True, False])
def test_index_and_data_may_stand_in_any_order_and_width(fast_start: bool, wide: bool) -> None:
    body = mp4(640, 360, fast_start=fast_start, wide=wide)

    assert _video(body) == Shape(len(body), 640, 360)


def test_data_without_a_length_runs_to_the_end() -> None:
    body = mp4(fast_start=True)
    at = body.index(b"mdat") - 4
    open_ended = body[:at] + bytes(4) + body[at + 4 :]

    assert _video(open_ended).end == len(body)


def test_a_fragmented_video_is_walked_to_its_last_fragment() -> None:
    body = mp4(fast_start=True) + box(b"moof", bytes(30)) + box(b"mdat", bytes(500))

    assert _video(body).end == len(body)
    with pytest.raises(Truncated):
        _video(body[:-1])


def test_an_index_without_data_is_truncated() -> None:
    body = mp4(fast_start=True)

    with pytest.raises(Truncated, match="index and data"):
        _video(body[: body.index(b"mdat") - 4])


def test_data_without_an_index_is_truncated() -> None:
    body = mp4()

    with pytest.raises(Truncated):
        _video(body[: body.index(b"moov") - 4])


@pytest.mark.parametrize("length", [2, 7])
def test_a_length_shorter_than_its_header_is_damage(length: int) -> None:
    with pytest.raises(Truncated) as caught:
        _video(box(b"ftyp", b"isom") + struct.pack(">I4s", length, b"mdat") + bytes(50))

    assert caught.value.reason == "damaged"


def test_a_wide_length_of_nothing_does_not_loop() -> None:
    with pytest.raises(Truncated):
        _video(box(b"ftyp", b"isom") + struct.pack(">I4sQ", 1, b"mdat", 0) * 10)


def test_something_appended_is_trailing() -> None:
    body = mp4()

    assert _video(body + b"\xde\xad\xbe\xef" * 10).end == len(body)
    assert _video(body + b"\xff\xff\xff\xffNOTE of a person").end == len(body)


def test_a_cut_box_at_the_end_is_not_taken_for_something_appended() -> None:
    with pytest.raises(Truncated):
        _video(mp4() + box(b"moof", bytes(100))[:-1])


def test_the_largest_track_is_the_size() -> None:
    small, large = mp4(16, 16), mp4(640, 360)
    tracks = [body[body.index(b"trak") - 4 :][:200] for body in (small, large)]
    lengths = [int.from_bytes(track[:4], "big") for track in tracks]
    index = box(b"moov", *(t[:n] for t, n in zip(tracks, lengths, strict=True)))

    assert _video(box(b"mdat", bytes(9)) + index).width == 640


def test_damage_within_the_index_does_not_condemn_the_file() -> None:
    index = box(b"moov", struct.pack(">I4s", 5000, b"trak") + bytes(20))

    assert _video(box(b"mdat", bytes(9)) + index).width is None


def test_boxes_nested_without_end_are_not_followed() -> None:
    nested = b""
    for _ in range(3000):
        nested = box(b"trak", nested)

    assert _video(box(b"moov", nested) + box(b"mdat", b"")).width is None


@pytest.mark.parametrize("brand", [b"heic", b"avif"])
def test_a_picture_tells_its_size(brand: bytes) -> None:
    body = heif(800, 600, brand=brand)

    assert _image(body) == Shape(len(body), 800, 600)


def test_a_small_picture_may_keep_its_data_in_its_index() -> None:
    body = box(b"ftyp", b"avif") + box(b"meta", bytes(4), box(b"idat", bytes(10)))

    assert _image(body).end == len(body)


def test_a_picture_without_data_is_truncated() -> None:
    body = heif()

    with pytest.raises(Truncated):
        _image(body[: body.index(b"mdat") - 4])
