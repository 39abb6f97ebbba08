"""FLV parts, which each begin their time and codecs anew: remuxed into one file, judged frame by
frame. Put one after the other as bytes they would play the first part only."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import DamagedPiece, Unsupported
from core.model.plan import Container
from core.video.heads import look
from tests.support.assembling import segment
from tests.support.rendered import Rendered, ffmpeg, frames


@pytest.fixture
def flv(tmp_path, rendered: Rendered):
    """A film as an FLV."""

    def make(film: Path, *ways: object) -> bytes:
        path = tmp_path / f"{len(list(tmp_path.glob('*.flv')))}.flv"
        ffmpeg("-i", film, *(ways or ("-c", "copy")), "-f", "flv", path)
        return path.read_bytes()

    return make


def parts(film, *contents: bytes, duration_s: float = 4.0) -> None:
    film.track(
        *(
            segment(film.part(content), duration_s=duration_s, discontinuity=number)
            for number, content in enumerate(contents)
        ),
        container=Container.FLV,
    )


def sound(path: Path) -> list[str]:
    """Every packet of sound, as it is stored: decoded, those behind a seam sound of what was
    before it."""
    told = ffmpeg("-i", path, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-")
    lines = (line for line in told.decode().splitlines() if not line.startswith("#"))
    return [line.split(",")[5].strip() for line in lines]  # behind it may stand what an MP4 adds


def assert_same(path: Path, *parts: Path) -> None:
    """Every picture decoded, every packet of sound."""
    pictures = tuple(one for part in parts for one in frames(part).video)

    assert frames(path).video == pictures
    assert sound(path) == [one for part in parts for one in sound(part)]


def test_parts_become_one_mp4_with_every_frame(film, rendered, flv):
    first, second = flv(rendered.film), flv(rendered.other)
    parts(film, first, second)

    file = film.assembled()

    assert_same(file.path, rendered.write("1.flv", first), rendered.write("2.flv", second))
    assert (file.extension, file.type) == (".mp4", "video/mp4")
    assert file.duration_s == pytest.approx(8.0, abs=0.3)


def test_three_parts_cut_from_one_film_are_the_film(film, rendered, flv, tmp_path):
    listed = ("-c", "copy", "-f", "segment", "-segment_time", "1.3", "-segment_format", "flv")
    ffmpeg("-i", rendered.film, *listed, "-reset_timestamps", "1", tmp_path / "cut-%d.flv")
    contents = [path.read_bytes() for path in sorted(tmp_path.glob("cut-*.flv"))]
    parts(film, *contents, duration_s=4.0 / len(contents))

    file = film.assembled()

    assert len(contents) == 3
    assert_same(file.path, rendered.film)


def test_parts_of_other_parameters_keep_their_own(film, rendered, flv):
    """Each FLV has its decoder's parameters in its head: the first one's would break the second."""
    ways = ("-c:v", "libx264", "-profile:v", "baseline", "-g", "10", "-pix_fmt", "yuv420p")
    first, second = flv(rendered.film), flv(rendered.other, *ways, "-c:a", "copy")
    parts(film, first, second)

    file = film.assembled()

    assert_same(file.path, rendered.write("1.flv", first), rendered.write("2.flv", second))


def test_a_single_part_is_remuxed_too(film, rendered, flv):
    content = flv(rendered.film)
    parts(film, content)

    file = film.assembled()

    assert frames(file.path) == rendered.frames_of("1.flv", content)
    assert (file.extension, file.tool is not None) == (".mp4", True)


def test_a_part_that_is_a_page_is_got_again(film, rendered, flv):
    parts(film, flv(rendered.film), b"<html>not here</html>" * 10)

    with pytest.raises(DamagedPiece) as caught:
        film.assembled()
    assert caught.value.piece == 1


def test_a_part_of_another_size_than_told_is_got_again(film, rendered, flv):
    content = flv(rendered.film)
    parts(film, content, content)
    film.pieces[1] = film.pieces[1].model_copy(update={"size_bytes": len(content) + 1})

    with pytest.raises(DamagedPiece) as caught:
        film.assembled()
    assert caught.value.piece == 1


def test_a_codec_that_no_file_of_today_holds_is_refused_by_name(film, rendered, flv):
    parts(film, flv(rendered.film, "-c:v", "flv1", "-an"))

    with pytest.raises(Unsupported, match="flv1"):
        film.assembled()


def test_mp4_parts_are_joined_as_well(film, rendered):
    contents = [path.read_bytes() for path in (rendered.film, rendered.other)]
    film.track(
        *(
            segment(film.part(content), duration_s=4.0, discontinuity=number)
            for number, content in enumerate(contents)
        ),
        container=Container.FMP4,
    )

    file = film.assembled()

    assert_same(file.path, rendered.film, rendered.other)


def test_a_single_mp4_is_filed_as_the_sources_own_bytes(film, rendered):
    content = rendered.film.read_bytes()
    film.track(segment(film.part(content), duration_s=4.0), container=Container.FMP4)

    file = film.assembled()

    assert file.path.read_bytes() == content
    assert file.tool is None


def test_an_flv_is_known_by_its_first_bytes():
    assert look(b"FLV\x01\x05\0\0\0\x09\0\0\0\0").container is Container.FLV
    assert look(b"FLVx\x05\0\0\0\x09").container is not Container.FLV
