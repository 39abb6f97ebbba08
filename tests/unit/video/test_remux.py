"""What is made without a look beforehand is what a look leads to; all else goes that longer way."""

from __future__ import annotations

import pytest

from core.model.plan import Container, TrackKind
from core.video.ffmpeg import Ffmpeg
from core.video.mux import Muxer
from tests.support.assembling import encrypted

KEY = b"0123456789abcdef"


@pytest.fixture
def runs(monkeypatch):
    """What ffmpeg was run for, in order."""
    told = []
    for name in ("run_telling", "run", "look"):
        plain = getattr(Ffmpeg, name)

        def noted(self, *given, _name=name, _plain=plain, **more):
            told.append(_name)
            return _plain(self, *given, **more)

        monkeypatch.setattr(Ffmpeg, name, noted)
    return told


@pytest.fixture
def longer(monkeypatch):
    """Have everything looked at beforehand."""
    return lambda: monkeypatch.setattr(Muxer, "remux", lambda *_: None)


def test_it_is_the_same_file_byte_for_byte_with_the_same_record(film, rendered, longer):
    film.track(*film.segments(rendered.ts))
    at_once = film.assembled()
    longer()

    made = film.assembled()

    assert at_once.path.read_bytes() == made.path.read_bytes()
    assert (at_once.pieces, at_once.notes) == (made.pieces, made.notes)
    assert at_once.duration_s == pytest.approx(made.duration_s, abs=0.001)


def test_so_is_an_encrypted_one(film, rendered, longer):
    film.track(*encrypted(film, rendered.ts, KEY, 7))
    at_once = film.assembled()
    longer()

    assert at_once.path.read_bytes() == film.assembled().path.read_bytes()


def test_no_ffprobe_is_started_and_nothing_else_stays(film, rendered, runs):
    film.track(*film.segments(rendered.ts))

    made = film.assembled()

    assert runs[0] == "run_telling"
    assert "look" not in runs
    assert [path.name for path in made.path.parent.iterdir()] == [made.path.name]


@pytest.mark.parametrize(
    ("cut", "more"),
    [
        ("ts", {"kind": TrackKind.AUDIO}),
        ("fmp4", {"container": Container.FMP4}),
    ],
    ids=["sound alone", "no transport stream"],
)
def test_what_is_out_of_the_common_is_looked_at_first(film, rendered, runs, cut, more):
    film.track(*film.segments(getattr(rendered, cut)), **more)

    film.assembled()

    assert "run_telling" not in runs


@pytest.mark.parametrize(
    "name", ["fits_mp4", "_tags"], ids=["no MP4 holds it", "its MP4 needs a word more"]
)
def test_what_turns_out_otherwise_is_made_once_more(film, rendered, runs, monkeypatch, name):
    film.track(*film.segments(rendered.ts))
    whole = film.assembled().path.read_bytes()
    plain, first = getattr(Muxer, "remux"), iter([True])  # noqa: B009 - it is patched below
    monkeypatch.setattr(
        Muxer,
        "remux",
        lambda *given: _against(monkeypatch, name, plain, *given) if next(first) else None,
    )

    made = film.assembled()

    assert made.path.read_bytes() == whole
    assert [path.name for path in made.path.parent.iterdir()] == [made.path.name]
    assert runs[-3:].count("look") >= 1


def _against(monkeypatch, name, remux, *given):
    """Let the first look at what was made say no."""
    answer = [] if name == "fits_mp4" else ["-tag:v", "hvc1"]
    with monkeypatch.context() as patched:
        patched.setattr(f"core.video.mux.{name}", lambda *_: answer)
        made = remux(*given)
    assert made is None
    return made
