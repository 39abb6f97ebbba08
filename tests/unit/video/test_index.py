"""An MP4's own index tells what ffprobe would tell; what is not quite right is left to that."""

from __future__ import annotations

import pytest

from core.model.plan import Container
from core.video.ffmpeg import Ffmpeg
from core.video.index import indexed
from core.video.mux import file_of
from core.video.probe import Prober


@pytest.fixture
def made(film, rendered):
    film.track(*film.segments(rendered.ts))
    return film.assembled().path


def test_it_tells_what_ffprobe_tells(made):
    told = Prober(Ffmpeg.find(), made.parent, lambda: None).look(file_of(made, Container.FMP4))

    found = indexed(made)

    assert [stream.kind for stream in found.streams] == [stream.kind for stream in told.streams]
    for ours, theirs in zip(found.streams, told.streams, strict=True):
        assert (ours.index, ours.width, ours.height) == (theirs.index, theirs.width, theirs.height)
        assert ours.end_s == pytest.approx(theirs.end_s, abs=0.03)
    assert found.start_s == pytest.approx(told.start_s, abs=0.03)


@pytest.mark.parametrize("missing", [1, 100, 5_000])
def test_a_file_that_lacks_its_end_tells_nothing(made, missing):
    made.write_bytes(made.read_bytes()[:-missing])

    assert indexed(made) is None


@pytest.mark.parametrize("content", [b"", b"\0\0\0\x08free", b"\0" * 64, b"G" * 376])
def test_no_other_file_tells_anything(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)

    assert indexed(path) is None


def test_a_damaged_index_tells_nothing_and_never_fails(made):
    content = made.read_bytes()
    at = content.index(b"moov")
    for offset in range(at, min(at + 400, len(content))):
        made.write_bytes(content[:offset] + b"\xff\xff" + content[offset + 2 :])
        found = indexed(made)

        assert found is None or found.streams is not None
