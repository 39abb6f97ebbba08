"""The index of a file: which bytes play when."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest

from core.errors import HeadraceError, Malformed, TooLarge, Unsupported
from core.manifests import dash_index
from core.manifests.dash_index import Indexed, read_index
from core.manifests.dash_reader import Place
from core.manifests.dash_xml import read_document
from tests.support.dash import EXPECTED, FOLDER, URL, mpd

PLACE = Place(read_document(mpd(), URL), "period 1")


def read(body: bytes, offset: int = 0) -> list[Indexed]:
    return read_index(body, offset, PLACE)


def sidx(*references: tuple[int, int], timescale: int = 10, first_offset: int = 0) -> bytes:
    """A box; each reference is a size, with its highest bit set for another index, and a time."""
    told = b"".join(struct.pack(">III", *one, 0) for one in references)
    head = struct.pack(">B3xIIII2xH", 0, 1, timescale, 0, first_offset, len(references))
    return struct.pack(">I4s", 8 + len(head) + len(told), b"sidx") + head + told


def ranges(found: list[Indexed]) -> list[tuple[int, int]]:
    return [(one.byte_range.start, one.byte_range.end - 1) for one in found]


@pytest.mark.parametrize("name", sorted(EXPECTED["sidx"]))
def test_an_index_names_the_bytes_and_times_that_are_expected(name: str):
    expected = EXPECTED["sidx"][name]
    found = read((FOLDER / name).read_bytes(), expected["box_offset_in_file"])

    assert [
        {
            "range": f"{one.byte_range.start}-{one.byte_range.end - 1}",
            "start_s": float(one.start),
            "duration_s": float(one.duration),
            "is_index": False,
        }
        for one in found
    ] == expected["references"]


@pytest.mark.parametrize("name", sorted(EXPECTED["sidx"]))
def test_an_index_cut_anywhere_is_refused(name: str):
    body = (FOLDER / name).read_bytes()

    for end in range(len(body)):
        with pytest.raises(Malformed):
            read(body[:end])


def test_an_index_of_indexes_is_read_where_they_came_with_it():
    below = sidx((100, 10), (200, 10))
    above = sidx((len(below) + 300 | 1 << 31, 20))
    found = read(above + below)
    end = len(above) + len(below)

    assert ranges(found) == [(end, end + 99), (end + 100, end + 299)]
    assert [one.start for one in found] == [0, 1]


def test_an_index_that_leads_elsewhere_in_the_file_is_refused_by_name():
    with pytest.raises(Unsupported) as caught:
        read(sidx((100 | 1 << 31, 20)))

    assert caught.value.reason == "nested_index"


def test_an_index_that_leads_to_itself_has_an_end():
    box = sidx((0 | 1 << 31, 20), first_offset=0)
    around = sidx((40 | 1 << 31, 1), (0, 1)) + box * 3

    with pytest.raises(HeadraceError):
        read(around)


def test_how_often_indexes_may_lead_to_the_same_one_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dash_index, "MAX_READS", 1_000)
    below = sidx(*[(0 | 1 << 31, 0)] * 20)  # each leads to the one behind it, twenty times

    with pytest.raises(Malformed, match="too often"):
        read(below * 3 + sidx((0, 1)))


def test_boxes_before_the_index_are_passed_and_the_media_begins_behind_it():
    before = struct.pack(">I4s", 16, b"free") + bytes(8)
    body = before + sidx((100, 10), first_offset=7)

    assert ranges(read(body, 1_000)) == [(1_000 + len(body) + 7, 1_000 + len(body) + 106)]


@pytest.mark.parametrize(
    "body",
    [
        b"\x1c\x53\xbb\x6b" + bytes(60),  # cues of a WebM
        sidx(),
        sidx((0, 1)),
        sidx((100, 10), timescale=0),
        sidx((100, 10)).replace(b"sidx\0", b"sidx\2"),
        bytes(80),
    ],
)
def test_what_is_no_index_or_names_nothing_is_refused(body: bytes):
    with pytest.raises(Malformed) as caught:
        read(body)

    assert caught.value.reason == "bad_index"


def test_a_segment_past_the_end_of_any_file_is_refused():
    with pytest.raises(Malformed):
        read(sidx((100, 10)), 2**53)


def test_how_many_segments_an_index_names_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dash_index, "MAX_INDEXED", 2)

    with pytest.raises(TooLarge):
        read(sidx((1, 1), (1, 1), (1, 1)))


def test_times_are_exact():
    found = read(sidx((1, 1), (1, 1), timescale=3))

    assert [one.start for one in found] == [0, Fraction(1, 3)]
    assert found[1].end == Fraction(2, 3)
