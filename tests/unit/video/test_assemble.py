"""Whole videos, judged by the frames that a decoder gives: never by a container's bytes."""

from __future__ import annotations

import hashlib
import shutil
import tracemalloc

import pytest

from core.errors import DamagedPiece, LeaseLost, Mismatch, Released, StorageDown
from core.model.plan import Container, Part
from core.video.ffmpeg import Ffmpeg
from core.video.join import Oddities, join
from core.video.pieces import Pieces
from core.video.shortfall import Doubts
from tests.support.assembling import encrypted, segment
from tests.support.media import png
from tests.support.rendered import Cut, ffmpeg, frames

KEY = b"0123456789abcdef"
FMP4 = {"container": Container.FMP4}


# --- transport streams ---


def test_transport_streams_become_one_mp4_with_every_frame(film, rendered):
    film.track(*film.segments(rendered.ts))

    made = film.assembled()

    assert frames(made.path) == rendered.frames_of("ts.ts", rendered.ts.joined())
    assert (made.extension, made.type, made.width, made.height) == (".mp4", "video/mp4", 160, 90)


def test_the_same_video_assembled_again_is_the_same_bytes(film, rendered):
    film.track(*film.segments(rendered.ts))

    first, second = film.assembled(), film.assembled()

    assert first.path.read_bytes() == second.path.read_bytes()


def test_every_piece_is_told_as_it_was_fetched(film, rendered):
    film.track(*encrypted(film, rendered.ts, KEY, 7))

    made = film.assembled()

    got = [film.path(number).read_bytes() for number in range(4)]
    assert made.pieces == tuple((len(one), hashlib.sha256(one).hexdigest()) for one in got)


def test_a_file_that_ffmpeg_made_names_its_version_and_durations(film, rendered):
    film.track(*film.segments(rendered.ts))

    made = film.assembled()

    assert made.tool.startswith("ffmpeg ")
    assert made.expected_duration_s == 4.0
    assert made.duration_s == pytest.approx(4.0, abs=0.2)


def test_a_duplicate_piece_is_joined_at_each_of_its_places(film, rendered):
    first, second = film.segments(rendered.ts, chosen=[0, 1])
    film.track(first, second, first.model_copy(update={"discontinuity": 1}))

    made = film.assembled()

    seconds = [rendered.frames_of(f"{n}.ts", rendered.ts.segments[n]) for n in (0, 1, 0)]
    assert frames(made.path).video == sum((one.video for one in seconds), ())
    assert len(made.pieces) == 2


def test_a_picture_before_the_transport_stream_is_stripped_and_noted(film, rendered):
    cut = Cut(tuple(png(3, 3) + content for content in rendered.ts.segments))
    film.track(*film.segments(cut))

    made = film.assembled()

    assert frames(made.path) == rendered.frames_of("ts.ts", rendered.ts.joined())
    assert made.notes == ("a PNG picture before the transport stream of 4 segments was stripped",)


def test_a_transport_stream_that_no_mp4_holds_stays_as_it_is(film, rendered):
    sound = ("-c:v", "copy", "-c:a", "s302m", "-strict", "-2", "-ar", "48000", "-ac", "2")
    content = ffmpeg("-i", rendered.film, *sound, "-f", "mpegts", "-")
    film.track(segment(film.part(content), duration_s=4.0))

    made = film.assembled()

    assert (made.extension, made.tool) == (".ts", None)
    assert made.path.read_bytes() == content


# --- fMP4 ---


def test_one_fmp4_track_is_filed_as_the_sources_own_bytes(film, rendered):
    film.track(*film.segments(rendered.fmp4), **FMP4)

    made = film.assembled()

    assert made.path.read_bytes() == rendered.fmp4.joined()
    assert made.tool is None
    assert made.duration_s == pytest.approx(4.0, abs=0.2)


def test_an_encrypted_init_part_and_its_segments_are_opened_each_with_its_iv(film, rendered):
    cut = rendered.fmp4
    init = film.part(cut.init, KEY, b"\x01" * 16)
    parts = [film.part(content, KEY, 7 + n) for n, content in enumerate(cut.segments)]
    film.track(*(segment(part, init=init) for part in parts), **FMP4)

    made = film.assembled()

    assert made.path.read_bytes() == cut.joined()


def test_a_cut_fmp4_piece_is_named_to_be_got_again(film, rendered):
    film.track(*film.segments(rendered.fmp4), **FMP4)
    film.path(3).write_bytes(film.path(3).read_bytes()[:-1])

    with pytest.raises(DamagedPiece, match="piece 3 ends within a box"):
        film.assembled()


# --- what is not whole ---


def cut_in_the_middle(film, rendered):
    """After a whole packet, so that only time is missing."""
    first, *middle, last = rendered.ts.segments
    cut = [content[: 188 * 12] for content in middle]
    film.track(*film.segments(Cut((first, *cut, last))))


def test_pieces_cut_in_the_middle_of_a_video_are_got_again(film, rendered):
    cut_in_the_middle(film, rendered)
    doubts = Doubts()

    with pytest.raises(DamagedPiece, match=r"pieces 2, 3 .*has holes of 1\.\d s in all"):
        film.assembled(doubts=doubts)
    assert doubts.found == {1: 188 * 12, 2: 188 * 12}


def test_pieces_that_came_cut_twice_are_a_mismatch_that_names_them(film, rendered):
    cut_in_the_middle(film, rendered)

    with pytest.raises(
        Mismatch, match=r"has holes of 1\.\d s.*is missing in pieces 2, 3"
    ) as caught:
        film.assembled(doubts=Doubts(before={1: {188 * 12}, 2: {188 * 12}}))
    assert caught.value.reason == "duration_mismatch"


def test_an_ffmpeg_too_old_to_see_holes_lets_a_video_pass_with_a_note(film, rendered, old_ffmpeg):
    film.track(*film.segments(rendered.ts))

    made = film.assembled(old_ffmpeg)

    assert made.notes == ("nobody looked for holes: setts came with ffmpeg 4.4",)
    assert frames(made.path) == rendered.frames_of("ts.ts", rendered.ts.joined())


def test_an_ffmpeg_too_old_to_see_holes_measures_the_whole_all_the_same(film, rendered, old_ffmpeg):
    film.track(*film.segments(rendered.ts, chosen=[0, 1]))
    long = [one.model_copy(update={"duration_s": 2.25}) for one in film.tracks[0].segments]
    film.tracks[0] = film.tracks[0].model_copy(update={"segments": tuple(long)})
    twice = Doubts(before={n: {film.path(n).stat().st_size} for n in range(2)})

    with pytest.raises(Mismatch, match=r"lasts 2\.\d s, by the manifest 4\.5 s"):
        film.assembled(old_ffmpeg, doubts=twice)


@pytest.fixture
def old_ffmpeg(tmp_path):
    """The machine's, without the filter that ffmpeg 4.4 brought, as an older one says it."""
    words = "[NULL @ 0x1] Unknown bitstream filter setts; Error parsing bitstream filter sequence"
    script = tmp_path / "ffmpeg-4.3"
    script.write_text(
        f"#!/bin/sh\ncase \"$*\" in *setts*) echo '{words}' >&2; exit 1;; esac\n"
        f'exec {shutil.which("ffmpeg")} "$@"\n'
    )
    script.chmod(0o755)
    found = Ffmpeg.find()
    return Ffmpeg.at(script, found.ffprobe, found.clock)


def test_a_manifest_that_is_wrong_all_over_has_nothing_got_again(film, rendered):
    film.track(*film.segments(rendered.ts))
    wrong = [one.model_copy(update={"duration_s": 1.75}) for one in film.tracks[0].segments]
    film.tracks[0] = film.tracks[0].model_copy(update={"segments": tuple(wrong)})

    with pytest.raises(Mismatch, match="is missing in pieces 1, 2, 3, 4"):
        film.assembled()


def test_a_video_shorter_than_its_manifest_says_is_a_mismatch(film, rendered):
    short = film.segments(rendered.ts, chosen=[0, 1])
    film.track(*(one.model_copy(update={"duration_s": 2.5}) for one in short))

    twice = Doubts(before={n: {film.path(n).stat().st_size} for n in range(2)})

    with pytest.raises(Mismatch, match=r"lasts 2\.\d s, by the manifest 5\.0 s") as caught:
        film.assembled(doubts=twice)
    assert caught.value.reason == "duration_mismatch"


def test_durations_in_whole_seconds_may_be_rounded_ones(film, rendered):
    first, *others = film.segments(rendered.ts)
    film.track(first.model_copy(update={"duration_s": 3.0}), *others)

    made = film.assembled()

    assert made.expected_duration_s == 6.0
    assert made.notes == ("the manifest's durations are rounded to whole seconds",)


def test_a_hole_is_not_joined_over(film, rendered):
    film.track(*film.segments(rendered.ts), segment(None, sequence=9))

    with pytest.raises(Mismatch, match="segment 9 of the video track is a hole"):
        film.assembled()


def test_a_piece_of_another_length_than_planned_is_got_again(film, rendered):
    film.track(*film.segments(rendered.ts))
    film.pieces[1] = film.pieces[1].model_copy(update={"start": 0, "length": 5})

    with pytest.raises(DamagedPiece, match=r"piece 1 has [\d,]+ bytes, its plan says 5"):
        film.assembled()


def test_a_piece_that_is_gone_is_trouble_with_the_store(film, rendered):
    film.track(segment(Part(piece=film.piece(b""))))
    film.path(0).unlink()

    with pytest.raises(StorageDown, match="cannot read piece 0"):
        film.assembled()


def test_a_page_instead_of_a_segment_is_got_again(film):
    film.track(segment(Part(piece=film.piece(b"<html>not here</html>"))))

    with pytest.raises(DamagedPiece, match="should be ts and is nothing known"):
        film.assembled()


# --- while it runs ---


def test_a_lost_lease_ends_everything(film, rendered):
    film.track(*film.segments(rendered.ts))

    def lost():
        raise LeaseLost("another has it")

    with pytest.raises(LeaseLost):
        film.assembled(check=lost)


def test_a_join_stopped_at_any_moment_and_begun_again_is_the_same_file(film, rendered):
    film.track(*encrypted(film, rendered.fmp4, KEY, 7), **FMP4)
    init = film.part(rendered.fmp4.init)
    segments = tuple(one.model_copy(update={"init": init}) for one in film.tracks[0].segments)
    film.tracks[0] = film.tracks[0].model_copy(update={"segments": segments})

    for moment in range(1, 6):
        with pytest.raises(Released):
            film.assembled(check=stop_at(moment))

        assert film.assembled().path.read_bytes() == rendered.fmp4.joined()


def stop_at(moment):
    """A check that ends the work when it is called for this time."""
    calls = iter(range(1, moment))

    def check():
        if next(calls, None) is None:
            raise Released("this process ends")

    return check


@pytest.mark.parametrize("key", [None, KEY])
def test_a_large_piece_streams_through_little_memory(film, key):
    size = 32 * 1024**2
    box = size.to_bytes(4, "big") + b"mdat" + bytes(size - 8)
    film.track(segment(film.part(box, key)), **FMP4)
    del box
    pieces = Pieces(film.staged(), film.path, lambda: None)

    tracemalloc.start()
    join(film.tracks[0], "track0", pieces, film.folder, Oddities())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 * 1024**2
    assert (film.folder / "track0-000000").stat().st_size == size
