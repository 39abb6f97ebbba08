"""A segment that came cut is told from one whose manifest is sloppy, and is got again once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DamagedPiece, Mismatch
from core.video.shortfall import Doubts, Ends
from tests.support.assembling import segment
from tests.support.rendered import Cut

TICKS = 90_000


def ends_of(*chunks: bytes) -> Ends:
    ends = Ends()
    for chunk in chunks:
        ends.feed(chunk)
    return ends


def packet(stamp: int | None = None, stream: int = 0xE0, fill: int = 0) -> bytes:
    """A packet in which a frame begins that plays at `stamp`; in which none does without."""
    if stamp is None:
        return bytes([0x47, 0, 0x20, 0x10]) + bytes(184)
    stamp %= 1 << 33
    told = bytes(
        [
            0x21 | stamp >> 29 & 0x0E,
            stamp >> 22 & 0xFF,
            0x01 | stamp >> 14 & 0xFE,
            stamp >> 7 & 0xFF,
            0x01 | stamp << 1 & 0xFE,
        ]
    )
    pes = b"\0\0\1" + bytes([stream, 0, 0, 0x80, 0x80, 5]) + told
    adaptation = bytes([fill]) + bytes(fill) if fill else b""
    head = bytes([0x47, 0x40, 0x20, 0x30 if fill else 0x10]) + adaptation
    return (head + pes).ljust(188, b"\xff")


# --- how long it lasts ---


def test_a_rendered_segment_lasts_as_long_as_its_manifest_says(rendered):
    for content in rendered.ts.segments:
        assert ends_of(content).lasts_s() == pytest.approx(1.0, abs=0.1)


def test_sound_alone_is_measured_too(rendered):
    assert ends_of(rendered.sound_ts.joined()).lasts_s() == pytest.approx(4.0, abs=0.5)


@given(
    begins=st.integers(0, 2**33 - 1),
    steps=st.lists(st.integers(0, 5 * TICKS), max_size=30),
    fill=st.sampled_from([0, 1, 40]),
    size=st.integers(1, 400),
)
def test_any_run_of_frames_is_measured_over_the_end_of_the_clock(begins, steps, fill, size):
    stamps = [begins]
    for step in steps:
        stamps += [stamps[-1] + step]
    content = b"".join(packet() + packet(stamp, fill=fill) for stamp in stamps)
    chunks = [content[at : at + size] for at in range(0, len(content), size)]

    assert ends_of(*chunks).lasts_s() == pytest.approx(sum(steps) / TICKS)


def test_pictures_that_are_shown_in_another_order_than_they_come_in_are_measured_by_their_times():
    shown = [3, 0, 6, 9, 12]

    ends = ends_of(b"".join(packet(n * TICKS) for n in shown))

    assert ends.lasts_s() == 12.0


def test_the_last_frame_of_a_large_segment_is_found_in_its_end():
    many = packet(0) + packet() * 10_000 + packet(5 * TICKS) + packet() * 20

    assert ends_of(*(many[at : at + 100_001] for at in range(0, len(many), 100_001))).lasts_s() == 5


@pytest.mark.parametrize(
    "content",
    [b"", packet(), packet(5, stream=0xBC), packet(9 * TICKS) + packet() * 9000 + packet(0)],
    ids=["nothing", "no frame", "no picture or sound", "a clock set back"],
)
def test_what_tells_no_time_is_not_measured(content):
    assert ends_of(content).lasts_s() is None


# --- what it lacks ---


@pytest.mark.parametrize(
    ("lasts_s", "told_s", "lacks"),
    [(4, 10, True), (8.1, 10, False), (2, 2.9, False), (2, 3.1, True), (4, 4, False)],
)
def test_only_more_than_a_second_and_a_fifth_is_lacking(lasts_s, told_s, lacks):
    content = packet(7) + packet(7 + round(lasts_s * TICKS))

    assert ends_of(content).lacks(told_s) == lacks


def test_a_segment_is_cut_where_its_last_packet_is():
    assert not ends_of(packet() * 3).is_cut
    assert ends_of(packet() * 3 + b"G").is_cut


# --- doubts ---


def test_what_comes_with_the_same_size_again_is_what_the_source_has():
    doubts = Doubts(before={3: {100}})

    doubts.doubt(3, 100)

    assert doubts.found == {}
    assert list(doubts.notes()) == ["shorter than the manifest says, and got twice so: piece 4"]


def test_what_comes_with_another_size_is_doubted_again():
    doubts = Doubts(before={3: {100}})
    doubts.doubt(3, 120)

    with pytest.raises(DamagedPiece, match="piece 4 came cut") as caught:
        doubts.insist("came cut")
    assert caught.value.piece == 3


# --- in a video ---


def one_segment(film, rendered, lose: int = 0, told_s: float = 4.0):
    """The film of four seconds as one segment, without its last bytes."""
    content = rendered.ts.joined()
    film.track(segment(film.part(content[: len(content) - lose]), duration_s=told_s))
    return len(content) - lose


def test_a_segment_that_ends_in_the_middle_is_to_be_got_again(film, rendered):
    one_segment(film, rendered, lose=len(rendered.ts.joined()) // 2 // 188 * 188 + 100)

    with pytest.raises(DamagedPiece, match="piece 1 came cut"):
        film.assembled()


def test_every_cut_segment_is_told_at_once(film, rendered):
    content = rendered.ts.joined()
    cut = Cut((content, content[: len(content) // 2 // 188 * 188 + 5]))
    track = [segment(film.part(one), duration_s=4.0, discontinuity=0) for one in cut.segments * 2]
    film.track(*track)
    doubts = Doubts()

    with pytest.raises(DamagedPiece, match="pieces 2, 4 came cut"):
        film.assembled(doubts=doubts)
    assert set(doubts.found) == {1, 3}


def test_a_segment_whose_last_packet_is_cut_and_that_lasts_long_enough_is_taken(film, rendered):
    one_segment(film, rendered, lose=50)

    assert film.assembled().notes == ("the last packet of one segment is cut",)


def test_a_short_last_segment_whose_packets_are_whole_is_taken(film, rendered):
    film.track(*film.segments(rendered.ts))
    first, *others = film.tracks[0].segments
    sloppy = first.model_copy(update={"duration_s": 1.9})
    film.tracks[0] = film.tracks[0].model_copy(update={"segments": (*others, sloppy)})

    assert film.assembled().duration_s == pytest.approx(4.0, abs=0.2)


def test_what_came_cut_twice_is_no_reason_to_get_it_a_third_time(film, rendered):
    size = one_segment(film, rendered, lose=len(rendered.ts.joined()) // 2 // 188 * 188 + 100)

    with pytest.raises(Mismatch, match=r"lasts 2\.\d s.*is missing in piece 1"):
        film.assembled(doubts=Doubts(before={0: {size}}))


def test_what_the_source_has_no_longer_is_taken_where_the_whole_is_long_enough(film, rendered):
    content = rendered.ts.joined()
    lost = len(content) // 3 // 188 * 188 + 100
    whole = [segment(film.part(content), discontinuity=n, duration_s=4.0) for n in range(20)]
    last = segment(film.part(content[:-lost]), discontinuity=20, duration_s=4.0)
    film.track(*whole, last)
    size = len(content) - lost

    made = film.assembled(doubts=Doubts(before={20: {size}}))

    assert "shorter than the manifest says, and got twice so: piece 21" in made.notes
