"""Presentations as a packager cuts them, from manifest to file, judged frame by frame."""

from __future__ import annotations

import json
import subprocess

import pytest

from core.manifests import SelectionPolicy
from tests.support.dash import Presentation, cut, mpd, names, read
from tests.support.rendered import Frames, Rendered, ffmpeg, frames

TEMPLATE = ("-use_template", 1, "-use_timeline")
NAMED = ("-init_seg_name", "init-$RepresentationID$", "-media_seg_name")
PIECES = (*NAMED, "$RepresentationID$-$Number$")


@pytest.fixture
def made(tmp_path, rendered: Rendered):
    """A film in a folder, cut so."""

    def make(*options: object, film=None, name: str = "dash") -> Presentation:
        cut(film or rendered.film, tmp_path / name, *options)
        return Presentation(tmp_path / name)

    return make


def pieces(presentation: Presentation, rendered: Rendered, video: int, audio: int) -> Frames:
    """The frames of the first so many segments of each stream."""
    parts = [
        presentation.joined(
            rendered, f"init-{stream}", *(f"{stream}-{n}" for n in range(1, count + 1))
        )
        for stream, count in ((0, video), (1, audio))
    ]
    return Frames(parts[0].video, parts[1].audio)


def test_a_template_with_a_timeline_ends_in_every_frame(made, rendered):
    presentation = made(*TEMPLATE, 1, *PIECES)

    file = presentation.assembled()

    assert frames(file.path) == pieces(presentation, rendered, 4, 5)
    assert (file.extension, file.width, file.height) == (".mp4", 160, 90)
    assert file.duration_s == pytest.approx(4.0, abs=0.2)


def test_a_template_with_numbers_ends_in_every_frame_it_names(made, rendered):
    presentation = made(*TEMPLATE, 0, *PIECES)

    file = presentation.assembled()

    assert frames(file.path) == pieces(presentation, rendered, 4, 4)


def test_a_template_with_times_ends_in_every_frame(made, rendered):
    presentation = made(*TEMPLATE, 1, *PIECES)
    expected = pieces(presentation, rendered, 4, 5)
    by_number = [name for playlist in read(presentation.body)[1] for name in names(playlist)]
    presentation.change("$Number$", "$Time$")
    by_time = [name for playlist in read(presentation.body)[1] for name in names(playlist)]
    for old, new in zip(reversed(by_number), reversed(by_time), strict=True):
        presentation.folder.joinpath(old).rename(presentation.folder / new)

    file = presentation.assembled()

    assert by_time[:4] == ["0-0", "0-12800", "0-25600", "0-38400"]
    assert frames(file.path) == expected


def test_one_file_by_ranges_ends_in_every_frame(made, rendered):
    presentation = made("-single_file", 1, "-use_template", 0)

    file = presentation.assembled()

    assert frames(file.path) == whole_files(presentation, rendered)


def test_one_file_with_an_index_ends_in_every_frame(made, rendered):
    presentation = made("-single_file", 1, "-use_template", 0, "-global_sidx", 1)
    presentation.folder.joinpath("index.mpd").write_bytes(by_index())

    file = presentation.assembled()

    assert frames(file.path) == whole_files(presentation, rendered)
    assert len(file.pieces) == 2


def whole_files(presentation: Presentation, rendered: Rendered) -> Frames:
    video, audio = (presentation.joined(rendered, f"index-stream{n}.mp4") for n in (0, 1))
    return Frames(video.video, audio.audio)


def by_index() -> bytes:
    sets = (
        f'<AdaptationSet mimeType="{mime}"><Representation id="{n}" bandwidth="1"'
        f' codecs="{codecs}"><BaseURL>index-stream{n}.mp4</BaseURL>'
        '<SegmentBase indexRange="800-1000"><Initialization range="0-799"/></SegmentBase>'
        "</Representation></AdaptationSet>"
        for n, (mime, codecs) in enumerate(
            [("video/mp4", "avc1.4d400b"), ("audio/mp4", "mp4a.40.2")]
        )
    )
    return mpd("<Period>", *sets, "</Period>", total="PT4S")


def test_a_picture_alone_is_kept_as_its_pieces_are(made, rendered, tmp_path):
    cut(rendered.film, tmp_path / "alone", *TEMPLATE, 1, *PIECES, "-an", streams=("v",))
    presentation = Presentation(tmp_path / "alone")

    file = presentation.assembled()

    parts = ["init-0", *(f"0-{n}" for n in range(1, 5))]
    assert file.path.read_bytes() == b"".join(
        presentation.folder.joinpath(part).read_bytes() for part in parts
    )
    assert file.tool is None


# --- periods ---


def in_periods(*presentations: Presentation) -> bytes:
    """Each as a period of one presentation, in a folder of its own."""
    bodies = [one.body.decode() for one in presentations]
    periods = [
        "<Period>".join(
            ["", body.partition("<Period")[2].partition(">")[2].partition("</Period>")[0]]
        )
        for body in bodies
    ]
    told = [
        one.replace("<Period>", f'<Period start="PT{4 * n}S"><BaseURL>{p.folder.name}/</BaseURL>')
        for n, (one, p) in enumerate(zip(periods, presentations, strict=True))
    ]
    return mpd(*(f"{one}</Period>" for one in told), total=f"PT{4 * len(told)}S")


def test_periods_of_different_films_play_one_after_the_other(made, rendered, tmp_path):
    first = made(*TEMPLATE, 1, *PIECES, name="first")
    second = made(*TEMPLATE, 1, *PIECES, film=rendered.other, name="second")

    file = Presentation(tmp_path).assembled(in_periods(first, second))

    expected = pieces(first, rendered, 4, 5) + pieces(second, rendered, 4, 5)
    assert frames(file.path).video == expected.video
    assert len(frames(file.path).audio) == pytest.approx(len(expected.audio), abs=2)
    assert file.duration_s == pytest.approx(8.0, abs=0.3)
    assert any("2 stretches" in note for note in file.notes)


def test_a_film_goes_on_after_a_period_between(made, rendered, tmp_path):
    film = made(*TEMPLATE, 1, *PIECES, name="film")
    other = made(*TEMPLATE, 1, *PIECES, film=rendered.other, name="other")

    file = Presentation(tmp_path).assembled(in_periods(film, other, film))

    once, between = pieces(film, rendered, 4, 5), pieces(other, rendered, 4, 5)
    assert frames(file.path).video == once.video + between.video + once.video


def indexed(presentation: Presentation, clock_s: float, stream: int) -> str:
    """A set of one of its files, which shows what plays from `clock_s` on."""
    name = f"index-stream{stream}.mp4"
    content = (presentation.folder / name).read_bytes()
    at = content.index(b"sidx") - 4
    size = int.from_bytes(content[at : at + 4], "big")
    mime, codecs = [("video/mp4", "avc1.4d400b"), ("audio/mp4", "mp4a.40.2")][stream]
    return (
        f'<AdaptationSet mimeType="{mime}"><Representation id="{stream}" bandwidth="1"'
        f' codecs="{codecs}"><BaseURL>{presentation.folder.name}/{name}</BaseURL>'
        f'<SegmentBase indexRange="{at}-{at + size - 1}" presentationTimeOffset="{clock_s:.0f}"/>'
        "</Representation></AdaptationSet>"
    )


def interrupted(film: Presentation, other: Presentation, *more: str) -> bytes:
    """Two seconds of a film, another one, and the rest of the film."""
    shown = ((film, 0, 2), (other, 0, 4), (film, 2, 2))
    return mpd(
        *(
            f'<Period duration="PT{seconds}S">{indexed(one, clock, 0)}{indexed(one, clock, 1)}'
            f"{''.join(more)}</Period>"
            for one, clock, seconds in shown
        ),
        total="PT8S",
    )


ONE_FILE = ("-single_file", 1, "-use_template", 0, "-global_sidx", 1)


def test_a_file_that_another_interrupts_ends_in_every_frame_and_none_twice(
    made, rendered, tmp_path
):
    film, other = made(*ONE_FILE, name="film"), made(*ONE_FILE, film=rendered.other, name="other")

    file = Presentation(tmp_path).assembled(interrupted(film, other))

    whole, between = whole_files(film, rendered), whole_files(other, rendered)
    half = len(whole.video) // 2
    assert frames(file.path).video == whole.video[:half] + between.video + whole.video[half:]
    assert file.duration_s == pytest.approx(8.0, abs=0.3)


def test_a_file_that_periods_only_divide_is_kept_as_it_is(made, rendered, tmp_path):
    film = made(*ONE_FILE, name="film")
    halves = (f'<Period duration="PT2S">{indexed(film, at, 0)}</Period>' for at in (0, 2))

    file = Presentation(tmp_path).assembled(mpd(*halves, total="PT4S"))

    assert file.path.read_bytes() == (film.folder / "index-stream0.mp4").read_bytes()
    assert file.tool is None


def test_subtitles_show_in_the_period_that_they_are_of(made, rendered, tmp_path):
    film, other = made(*ONE_FILE, name="film"), made(*ONE_FILE, film=rendered.other, name="other")
    tmp_path.joinpath("t.vtt").write_text("WEBVTT\n\n00:01.000 --> 00:01.500\nHello\n")
    text = (
        '<AdaptationSet mimeType="text/vtt" lang="en"><Representation id="t" bandwidth="1">'
        "<BaseURL>t.vtt</BaseURL></Representation></AdaptationSet>"
    )
    body = interrupted(film, other, text)

    file = Presentation(tmp_path).assembled(body, SelectionPolicy(subtitles=True))

    assert shown_from_s(file.path) == pytest.approx([1.0, 3.0, 7.0], abs=0.001)
    assert "subtitles 1: en" in file.notes


def shown_from_s(path) -> list[float]:
    """When each text begins to show."""
    show = ("-v", "error", "-select_streams", "s:0", "-show_entries", "packet=pts_time,size")
    told = subprocess.run(["ffprobe", *show, "-of", "json", path], check=True, capture_output=True)
    packets = json.loads(told.stdout)["packets"]
    return [float(one["pts_time"]) for one in packets if int(one["size"]) > 2]  # 2: shows nothing


# --- the media's own clock ---


def test_sound_whose_clock_shows_another_time_begins_with_its_picture(made, rendered, tmp_path):
    plain = made(*TEMPLATE, 1, *PIECES)
    expected = starts(plain.assembled().path)
    late = tmp_path / "late.mp4"
    ffmpeg("-i", rendered.film, "-c", "copy", "-output_ts_offset", "2", late)
    shifted = made("-copyts", *TEMPLATE, 1, *PIECES, film=late, name="late")
    for name in ("init-1", *(f"1-{number}" for number in range(1, 6))):
        content = shifted.folder.joinpath(name).read_bytes()
        plain.folder.joinpath(name).write_bytes(content)
    plain.change('timescale="44100"', 'timescale="44100" presentationTimeOffset="88200"')

    file = plain.assembled()

    assert starts(file.path) == pytest.approx(expected, abs=0.03)
    assert frames(file.path).audio == pieces(plain, rendered, 4, 5).audio


def starts(path) -> list[float]:
    """When the first packet of each stream plays."""
    return [first_s(path, stream) for stream in ("v:0", "a:0")]


def first_s(path, stream: str) -> float:
    told = ffmpeg("-i", path, "-map", f"0:{stream}", "-c", "copy", "-copyts", "-f", "framecrc", "-")
    lines = [line for line in told.decode().splitlines() if line and not line.startswith("#")]
    base = next(line for line in told.decode().splitlines() if line.startswith("#tb 0:"))
    top, bottom = base.partition(": ")[2].split("/")
    return min(int(line.split(",")[2]) for line in lines) * int(top) / int(bottom)


# --- WebM ---


@pytest.fixture(scope="module")
def webm(tmp_path_factory: pytest.TempPathFactory, rendered: Rendered):
    """The film in WebM, by the names of its codecs."""

    def encode(picture: str, sound: str):
        path = tmp_path_factory.getbasetemp() / f"{picture}-{sound}.webm"
        fast = ("-deadline", "realtime", "-cpu-used", "8", "-g", "25", "-keyint_min", "25")
        codecs = ("-c:v", picture, "-c:a", sound, "-ar", "48000")
        if not path.exists():
            ffmpeg("-i", rendered.film, *codecs, *fast, path)
        return path

    return encode


def frames_in_webm(presentation: Presentation, rendered: Rendered) -> Frames:
    both = []
    for stream in (0, 1):
        found = sorted(presentation.folder.glob(f"{stream}-*"), key=lambda path: path.name)
        parts = [presentation.folder / f"init-{stream}", *found]
        content = b"".join(path.read_bytes() for path in parts)
        both.append(rendered.frames_of(f"joined-{stream}.webm", content))
    return Frames(both[0].video, both[1].audio)


@pytest.mark.parametrize(
    ("picture", "sound", "extension"),
    [("libvpx", "libvorbis", ".webm"), ("libvpx-vp9", "libopus", ".mp4")],
)
def test_webm_in_segments_ends_in_what_holds_it(
    made, webm, rendered, picture: str, sound: str, extension: str
):
    how = (*TEMPLATE, 1, *PIECES, "-dash_segment_type", "webm")
    presentation = made(*how, film=webm(picture, sound))

    file = presentation.assembled()

    expected = frames_in_webm(presentation, rendered)
    assert file.extension == extension
    assert frames(file.path).video == expected.video
    assert len(frames(file.path).audio) == pytest.approx(len(expected.audio), abs=1)


def test_a_webm_that_is_one_file_is_kept_as_it_is(webm, tmp_path):
    content = webm("libvpx", "libvorbis").read_bytes()
    tmp_path.joinpath("clip.webm").write_bytes(content)
    whole = '<Representation id="w" bandwidth="1"><BaseURL>clip.webm</BaseURL></Representation>'
    adaptation = f'<AdaptationSet mimeType="video/webm">{whole}</AdaptationSet>'

    file = Presentation(tmp_path).assembled(mpd(f"<Period>{adaptation}</Period>", total="PT4S"))

    assert file.path.read_bytes() == content
    assert (file.extension, file.type, file.width) == (".webm", "video/webm", 160)


def test_periods_of_webm_play_one_after_the_other(made, webm, rendered, tmp_path):
    how = (*TEMPLATE, 1, *PIECES, "-dash_segment_type", "webm")
    film = made(*how, film=webm("libvpx", "libvorbis"), name="film")

    file = Presentation(tmp_path).assembled(in_periods(film, film))

    assert frames(file.path).video == frames_in_webm(film, rendered).video * 2
    assert file.extension == ".webm"
