"""Discontinuities, and init parts and sizes that change on the way (row 17)."""

from __future__ import annotations

import pytest

from core.errors import Unsupported
from core.model.plan import Container, TrackKind
from tests.support.rendered import frames

SOUND = {"kind": TrackKind.AUDIO}
FMP4 = {"container": Container.FMP4}


def test_a_new_init_part_of_the_same_size_ends_in_one_mp4(film, rendered):
    first = film.segments(rendered.fmp4)
    second = film.segments(rendered.other_fmp4, discontinuity=1)
    film.track(*first, *second, **FMP4)

    made = film.assembled()

    expected = rendered.frames_of("film", rendered.fmp4.joined()) + rendered.frames_of(
        "other", rendered.other_fmp4.joined()
    )
    assert frames(made.path).video == expected.video
    assert made.extension == ".mp4"
    assert made.duration_s == pytest.approx(8.0, abs=0.3)
    assert "2 stretches" in made.notes[0]


def test_a_new_size_on_the_way_stays_a_transport_stream(film, rendered):
    first = film.segments(rendered.fmp4)
    second = film.segments(rendered.wide_fmp4, discontinuity=1)
    film.track(*first, *second, **FMP4)

    made = film.assembled()

    assert (made.extension, made.type) == (".ts", "video/mp2t")
    assert len(frames(made.path).video) == 200


def test_transport_streams_with_a_discontinuity_keep_every_frame(film, rendered):
    film.track(*film.segments(rendered.ts), *film.segments(rendered.other_ts, discontinuity=1))

    made = film.assembled()

    expected = rendered.frames_of("film", rendered.ts.joined()) + rendered.frames_of(
        "other", rendered.other_ts.joined()
    )
    assert frames(made.path).video == expected.video
    assert len(frames(made.path).audio) == len(expected.audio)
    assert made.extension == ".mp4"


def test_sound_apart_stays_with_its_picture_over_a_discontinuity(film, rendered):
    for cut, kind in (
        (rendered.picture_fmp4, TrackKind.VIDEO),
        (rendered.sound_fmp4, TrackKind.AUDIO),
    ):
        first, again = film.segments(cut), film.segments(cut, discontinuity=1)
        film.track(*first, *again, kind=kind, container=Container.FMP4)

    made = film.assembled()

    once = rendered.frames_of("picture", rendered.picture_fmp4.joined()).video
    assert frames(made.path).video == once * 2
    assert made.duration_s == pytest.approx(8.0, abs=0.3)


def test_discontinuities_at_different_places_are_joined_apart_and_noted(film, rendered):
    pictures = film.segments(rendered.picture_ts)
    film.track(*(one.model_copy(update={"discontinuity": n}) for n, one in enumerate(pictures)))
    film.track(*film.segments(rendered.sound_ts), **SOUND)

    made = film.assembled()

    assert len(frames(made.path).video) == 100
    assert made.notes[0].startswith("sound and picture change at different places")


def test_a_stretch_without_sound_is_refused_by_name(film, rendered):
    film.track(*film.segments(rendered.ts), *film.segments(rendered.picture_ts, discontinuity=1))

    with pytest.raises(Unsupported, match="codecs change on the way") as caught:
        film.assembled()
    assert caught.value.reason == "codecs_change"


@pytest.mark.parametrize("kind", ["ts", "fmp4"])
def test_a_discontinuity_before_each_of_many_segments_costs_no_frame(film, rendered, kind):
    cut = getattr(rendered, kind)
    container = Container.TS if kind == "ts" else Container.FMP4
    many = [
        one.model_copy(update={"discontinuity": 4 * again + number})
        for again in range(8)
        for number, one in enumerate(film.segments(cut))
    ]
    film.track(*many, container=container)

    made = film.assembled()

    once = rendered.frames_of("once", cut.joined()).video
    assert frames(made.path).video == once * 8
    assert "32 stretches" in made.notes[0]
