"""Sound in tracks of its own, and alone."""

from __future__ import annotations

import pytest

from core.errors import Mismatch
from core.model.plan import Container, TrackKind
from core.video.shortfall import Doubts
from tests.support.rendered import frames

SOUND = {"kind": TrackKind.AUDIO}

# --- row 14: sound apart ---


@pytest.mark.parametrize("containers", ["ts", "fmp4", "mixed"])
def test_sound_from_a_track_of_its_own_stands_beside_the_picture(film, rendered, containers):
    picture = rendered.picture_ts if containers != "fmp4" else rendered.picture_fmp4
    sound = rendered.sound_ts if containers == "ts" else rendered.sound_fmp4
    film.track(*film.segments(picture))
    film.track(*film.segments(sound), **SOUND)

    made = film.assembled()

    assert frames(made.path).video == rendered.frames_of("picture", picture.joined()).video
    assert frames(made.path).audio == rendered.frames_of("sound", sound.joined()).audio


def test_packed_sound_stands_beside_the_picture_without_its_tags(film, rendered):
    film.track(*film.segments(rendered.picture_ts))
    film.track(*film.segments(rendered.aac), **SOUND, container=Container.AAC)

    made = film.assembled()

    assert len(frames(made.path).audio) >= 4 * 44_100 // 1024
    assert len(frames(made.path).video) == 100


def test_a_sound_track_without_sound_is_no_whole_video(film, rendered):
    film.track(*film.segments(rendered.picture_ts))
    film.track(*film.segments(rendered.picture_ts), **SOUND)

    with pytest.raises(Mismatch, match="audio track has no sound") as caught:
        film.assembled()
    assert caught.value.reason == "missing_stream"


def test_sound_that_the_manifest_promises_and_nobody_has_is_a_mismatch(film, rendered):
    film.track(*film.segments(rendered.picture_ts), codecs="avc1.64001f,mp4a.40.2")

    with pytest.raises(Mismatch, match="promises audio"):
        film.assembled()


def test_sound_that_ends_too_early_is_a_mismatch(film, rendered):
    film.track(*film.segments(rendered.picture_ts))
    short = film.segments(rendered.sound_ts, chosen=[0, 1])
    film.track(*(one.model_copy(update={"duration_s": 2.25}) for one in short), **SOUND)

    twice = Doubts(before={n: {film.path(n).stat().st_size} for n in (4, 5)})

    with pytest.raises(Mismatch, match="the audio of the joined file lasts") as caught:
        film.assembled(doubts=twice)
    assert caught.value.reason == "duration_mismatch"


def test_sound_whose_own_manifest_is_shorter_is_filed_with_a_word_about_it(film, rendered):
    film.track(*film.segments(rendered.picture_ts))
    film.track(*film.segments(rendered.sound_ts, chosen=[0, 1]), **SOUND)

    made = film.assembled()

    told = "by the source's own manifests the audio lasts 2.0 s, the video 4.0 s"
    assert told in made.notes
    assert len(frames(made.path).video) == 100


def test_sound_that_is_a_little_longer_needs_no_word(film, rendered):
    film.track(*film.segments(rendered.picture_ts))
    film.track(*film.segments(rendered.sound_ts), **SOUND)

    assert film.assembled().notes == ()


# --- sound alone ---


@pytest.mark.parametrize("container", [Container.AAC, Container.FMP4, Container.TS])
def test_sound_alone_is_an_m4a(film, rendered, container):
    cuts = {"aac": rendered.aac, "fmp4": rendered.sound_fmp4, "ts": rendered.sound_ts}
    film.track(*film.segments(cuts[container]), **SOUND, container=container)

    made = film.assembled()

    assert (made.extension, made.type, made.width) == (".m4a", "audio/mp4", None)
    assert len(frames(made.path).audio) >= 4 * 44_100 // 1024
