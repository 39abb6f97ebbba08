"""What first bytes say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.plan import Container
from core.video.heads import Head, look
from tests.support.media import gif, jpeg, png
from tests.support.rendered import id3_timestamp

PACKETS = (b"\x47" + bytes(187)) * 8
BMP = b"BM" + (58).to_bytes(4, "little") + bytes(8) + b"\x28" + bytes(43)


@pytest.mark.parametrize(
    ("head", "container"),
    [
        (PACKETS, Container.TS),
        (PACKETS[:188], Container.TS),
        (b"\0\0\0\x18styp" + bytes(16), Container.FMP4),
        (b"\0\0\0\x18ftypisom", Container.FMP4),
        (b"\0\0\x02\x18moof" + bytes(16), Container.FMP4),
        (b"\xff\xf1\x50\x80" + bytes(20), Container.AAC),
        (b"\xff\xfb\x90\x00" + bytes(20), Container.MP3),
        (b"\x0b\x77" + bytes(20), Container.AC3),
        (b"\x1a\x45\xdf\xa3" + bytes(20), Container.WEBM),
        (b"\x1f\x43\xb6\x75" + bytes(20), Container.WEBM),
        (b"WEBVTT\n\n", Container.VTT),
        (b"\xef\xbb\xbfWEBVTT\n", Container.VTT),
        (b"<html>", None),
        (b"GET the film", None),
        (b"", None),
    ],
)
def test_the_container_is_told_by_its_bytes(head, container):
    assert look(head).container == container


@pytest.mark.parametrize(
    ("name", "picture"),
    [("PNG", png(1, 1)), ("JPEG", jpeg()), ("GIF", gif()), ("BMP", BMP)],
)
def test_a_picture_before_the_packets_is_no_part_of_them(name, picture):
    assert look(picture + PACKETS) == Head(Container.TS, len(picture), name)


def test_a_picture_with_sync_bytes_in_it_ends_where_packets_begin():
    picture = png(1, 1) + b"\x47" * 50

    found = look(picture + PACKETS)

    assert (picture + PACKETS)[found.skip_bytes :: 188][:5] == b"\x47" * 5


def test_a_picture_alone_is_no_segment():
    assert look(png(8, 8)).container is None


def test_an_id3_tag_before_sound_tells_when_it_plays():
    tag = id3_timestamp(12.5)

    found = look(tag + b"\xff\xf1\x50\x80" + bytes(20))

    assert found == Head(Container.AAC, len(tag), start_s=12.5)


def test_two_tags_are_passed_over_both():
    tags = id3_timestamp(1.0) + id3_timestamp(2.0)

    assert look(tags + b"\xff\xf1\x50\x80").skip_bytes == len(tags)


@given(st.binary(max_size=600))
def test_any_bytes_get_an_answer_within_them(head):
    found = look(head)

    assert found.container is None or 0 <= found.skip_bytes <= len(head)
