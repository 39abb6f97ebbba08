"""WebVTT segments on the video's time."""

from __future__ import annotations

import json
import subprocess

import pytest

from core.errors import Malformed
from core.model.plan import Container, TrackKind
from core.video.pieces import Pieces
from core.video.subtitles import join_subtitles
from tests.support.assembling import Film, nothing, segment
from tests.support.rendered import frames

TEXTS = {"kind": TrackKind.SUBTITLES, "container": Container.VTT}
CUE = "00:01.000 --> 00:02.500 line:0\nHello\n\n"


def joined(tmp_path, *texts, video_start_s=0.0, told=({},), **more):
    """The file of so many texts; `told` is what the manifest says of each."""
    film = Film(tmp_path)
    told = told if len(told) == len(texts) else told * len(texts)
    segments = (
        segment(film.part(text.encode()), **one) for text, one in zip(texts, told, strict=True)
    )
    film.track(*segments, **(TEXTS | more))
    path = tmp_path / "out.vtt"
    pieces = Pieces(film.staged(), film.path, nothing)
    join_subtitles(film.tracks[0], pieces, video_start_s, path)
    return path.read_text(encoding="utf-8")


def test_cues_of_all_segments_are_joined_in_their_order(tmp_path):
    second = (
        "WEBVTT\r\n\r\nNOTE of a person\r\n\r\nname\r\n01:00:03.000 --> 01:00:04.000\r\na\r\nb\r\n"
    )

    text = joined(tmp_path, "\ufeffWEBVTT\n\n" + CUE, second)

    assert text == (
        "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nHello\n\n01:00:03.000 --> 01:00:04.000\na\nb\n\n"
    )


def test_a_cue_that_stands_in_two_segments_is_kept_once(tmp_path):
    assert joined(tmp_path, "WEBVTT\n\n" + CUE, "WEBVTT\n\n" + CUE).count("Hello") == 1


def test_a_map_to_the_transport_stream_sets_cues_to_the_videos_time(tmp_path):
    mapped = "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n" + CUE

    text = joined(tmp_path, mapped, video_start_s=9.5)

    assert "00:00:01.500 --> 00:00:03.000" in text


def test_a_map_across_the_clocks_turn_is_still_near(tmp_path):
    late = 2**33 / 90_000 - 1.0
    mapped = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:90000,LOCAL:00:00:00.000\n\n" + CUE

    text = joined(tmp_path, mapped, video_start_s=late)

    assert "00:00:03.000 --> 00:00:04.500" in text


# --- told by the manifest when they show ---

PERIODS = (
    {"shift_s": 0.0, "duration_s": 4.0},
    {"shift_s": 10.0, "duration_s": 4.0, "discontinuity": 1},
)


def test_each_periods_cues_are_shifted_to_where_it_plays(tmp_path):
    text = joined(tmp_path, "WEBVTT\n\n" + CUE, "WEBVTT\n\n" + CUE, told=PERIODS)

    assert "00:00:01.000 --> 00:00:02.500" in text
    assert "00:00:11.000 --> 00:00:12.500" in text


def test_of_a_file_that_periods_share_each_shows_its_own_part(tmp_path):
    both = "WEBVTT\n\n" + CUE + "00:05.000 --> 00:06.000\nBye\n\n"
    later = {"clock_s": 4.0, "shift_s": 2.0, "duration_s": 4.0, "discontinuity": 2}

    text = joined(tmp_path, both, both, told=(PERIODS[0], later))

    assert text.count("Hello") == text.count("Bye") == 1
    assert "00:00:07.000 --> 00:00:08.000\nBye" in text


def test_where_the_manifest_tells_no_time_cues_count_from_the_videos_begin(tmp_path):
    late = "WEBVTT\n\n00:11.000 --> 00:12.500\nBye\n\n"
    told = ({"duration_s": 4.0}, {"duration_s": 4.0, "discontinuity": 1})

    text = joined(tmp_path, "WEBVTT\n\n" + CUE, late, told=told)

    assert "00:00:01.000 --> 00:00:02.500\nHello" in text
    assert "00:00:11.000 --> 00:00:12.500\nBye" in text


def test_one_period_may_begin_late_on_its_texts_own_clock(tmp_path):
    text = joined(tmp_path, "WEBVTT\n\n" + CUE, told=({"shift_s": -0.5},))

    assert "00:00:00.500 --> 00:00:02.000" in text


def test_a_map_that_begins_anew_in_each_period_is_said_to_be_no_time(tmp_path):
    mapped = "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n" + CUE

    with pytest.raises(Malformed, match="begins anew"):
        joined(tmp_path, mapped, mapped, told=PERIODS)


def test_ttml_becomes_cues_too(tmp_path):
    ttml = (
        '<tt xmlns="http://www.w3.org/ns/ttml"><body><div><p begin="1s" end="2.5s">Hello</p></div>'
        "</body></tt>"
    )

    text = joined(tmp_path, ttml, container=Container.TTML, told=({"shift_s": 1.0},))

    assert text == "WEBVTT\n\n00:00:02.000 --> 00:00:03.500\nHello\n\n"


@pytest.mark.parametrize("text", ["<tt/>", "WEBVTT\n\n", "WEBVTT\n\nno --> time\nx\n\n"])
def test_what_is_no_webvtt_or_empty_is_said_to_be_so(tmp_path, text):
    with pytest.raises(Malformed):
        joined(tmp_path, text)


def test_subtitles_stand_in_the_file_beside_picture_and_sound(tmp_path, rendered):
    film = Film(tmp_path)
    film.track(*film.segments(rendered.fmp4), container=Container.FMP4)
    film.track(segment(film.part(("WEBVTT\n\n" + CUE).encode())), **TEXTS, language="en")

    made = film.assembled()

    show = ["-v", "error", "-select_streams", "s", "-show_entries", "packet=pts_time,size"]
    told = subprocess.run(
        ["ffprobe", *show, "-of", "json", made.path], check=True, capture_output=True
    )
    packets = json.loads(told.stdout)["packets"]
    assert "1.000000" in [packet["pts_time"] for packet in packets if int(packet["size"]) > 2]
    assert frames(made.path).video == rendered.frames_of("film", rendered.fmp4.joined()).video
    assert made.notes == ("subtitles 1: en",)


def test_subtitles_that_are_not_simple_are_left_out_and_the_video_is_whole(tmp_path, rendered):
    film = Film(tmp_path)
    film.track(*film.segments(rendered.fmp4), container=Container.FMP4)
    film.track(segment(film.part(b"<tt/>")), **TEXTS, language="de")

    made = film.assembled()

    assert made.notes == ("subtitles (de) are left out: they are no WebVTT",)
    assert made.path.read_bytes() == rendered.fmp4.joined()
    assert len(made.pieces) == len(film.pieces)
