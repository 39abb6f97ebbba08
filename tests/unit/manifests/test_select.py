"""What is chosen of an offer."""

from __future__ import annotations

from typing import get_args

import pytest

from core.manifests import Choice, SelectionPolicy, choose
from core.manifests.codecs import AUDIO, VIDEO, families, is_audio_only
from core.manifests.select import PREFERRED_CODECS
from core.model.plan import TrackKind
from core.settings import CodecName, SourceSettings
from tests.support.manifests import BASE, fixture, media, multivariant, segments, variant

AVC, HEVC, AV1 = "avc1.64001f,mp4a.40.2", "hvc1.1.6.L93,mp4a.40.2", "av01.0.04M.08,opus"


def rendition(name: str, *, kind: str = "AUDIO", more: str = "") -> str:
    return f'#EXT-X-MEDIA:TYPE={kind},GROUP-ID="g",NAME="{name}",URI="{name}.m3u8"{more}'


def chosen(*lines: str, **policy: object) -> Choice:
    return choose(multivariant(*lines), SelectionPolicy(**policy))  # type: ignore[arg-type]


def picture(*lines: str, **policy: object) -> str:
    found = chosen(*lines, **policy).variant
    assert found
    return found.url.removeprefix(BASE)


LADDER = [
    *variant("360", resolution="640x360", bandwidth=800_000),
    *variant("1080", resolution="1920x1080", bandwidth=5_000_000),
    *variant("720", resolution="1280x720", bandwidth=2_500_000),
]


@pytest.mark.parametrize(
    ("max_height", "best"),
    [(None, "1080"), (1080, "1080"), (1079, "720"), (720, "720"), (500, "360"), (100, "360")],
)
def test_the_largest_picture_up_to_the_height_is_chosen_else_the_smallest(
    max_height: int | None, best: str
):
    assert picture(*LADDER, max_height=max_height) == best


def test_the_choice_says_why():
    assert chosen(*LADDER, max_height=720).why == (
        "1280x720 2.5 Mbit/s: the best of 3 variants up to 720 lines"
    )
    assert "all of them over 100 lines" in chosen(*LADDER, max_height=100).why


def test_of_one_size_the_most_bandwidth_is_chosen_also_when_all_are_too_high():
    lines = [
        *variant("thin", resolution="640x360", bandwidth=500_000),
        *variant("thick", resolution="640x360", bandwidth=900_000),
    ]

    assert picture(*lines) == "thick"
    assert picture(*lines, max_height=100) == "thick"


def test_of_equals_the_first_is_chosen():
    lines = [*variant("one", resolution="640x360"), *variant("mirror", resolution="640x360")]

    assert picture(*lines) == "one"
    assert picture(*lines, max_height=100) == "one"


@pytest.mark.parametrize(
    ("codecs", "best"),
    [
        (PREFERRED_CODECS, "avc"),
        (("hevc", "avc"), "hevc"),
        (("av1",), "av1"),
        (("vp9",), "av1"),
        ((), "av1"),
    ],
)
def test_among_pictures_of_one_size_the_codec_decides_before_the_bandwidth(
    codecs: tuple[str, ...], best: str
):
    lines = [
        *variant("hevc", resolution="640x360", codecs=HEVC, bandwidth=1_000_000),
        *variant("avc", resolution="640x360", codecs=AVC, bandwidth=900_000),
        *variant("av1", resolution="640x360", codecs=AV1, bandwidth=2_000_000),
    ]

    assert picture(*lines, codecs=codecs) == best


def test_a_larger_picture_wins_over_a_preferred_codec():
    lines = [
        *variant("avc", resolution="640x360", codecs=AVC),
        *variant("hevc", resolution="1280x720", codecs=HEVC),
    ]

    assert picture(*lines) == "hevc"


def test_a_wanted_sound_codec_decides_between_equal_pictures():
    lines = [
        *variant("aac", resolution="640x360", codecs="avc1.64001f,mp4a.40.2", bandwidth=900_000),
        *variant("ec3", resolution="640x360", codecs="avc1.64001f,ec-3", bandwidth=800_000),
    ]

    assert picture(*lines, codecs=("avc", "eac3", "aac")) == "ec3"


def test_a_variant_of_unknown_size_is_chosen_only_when_none_is_known():
    unknown = variant("unknown", bandwidth=9_000_000)

    assert picture(*unknown, *LADDER) == "1080"
    assert picture(*unknown, *LADDER, max_height=100) == "360"
    assert picture(*unknown, *variant("thin", bandwidth=1)) == "unknown"


def test_a_variant_of_sound_only_is_no_small_picture():
    sound = variant("sound", codecs="mp4a.40.2", bandwidth=64_000)

    assert picture(*sound, *LADDER, max_height=100) == "360"
    assert picture(*sound, *variant("unknown", bandwidth=1)) == "unknown"


def test_where_only_sound_is_offered_it_is_chosen_and_said():
    choice = chosen(
        *variant("a", codecs="mp4a.40.2"), *variant("b", codecs="mp4a.40.2", bandwidth=9)
    )

    assert choice.audio_only
    assert choice.wanted[0].kind is TrackKind.AUDIO
    assert choice.notes == ("only sound is offered, no pictures",)


# --- sound ---


@pytest.mark.parametrize(
    ("renditions", "language", "name"),
    [
        ([rendition("a"), rendition("b")], None, "a"),
        ([rendition("a"), rendition("b", more=",AUTOSELECT=YES")], None, "b"),
        (
            [rendition("a", more=",AUTOSELECT=YES"), rendition("b", more=",DEFAULT=YES")],
            None,
            "b",
        ),
        (
            [rendition("a", more=",DEFAULT=YES"), rendition("b", more=',LANGUAGE="cs"')],
            "cs",
            "b",
        ),
        (
            [rendition("a", more=',LANGUAGE="en-US"'), rendition("b", more=',LANGUAGE="en-GB"')],
            "en-gb",
            "b",
        ),
        (
            [rendition("a", more=',LANGUAGE="de"'), rendition("b", more=',LANGUAGE="EN-us"')],
            "en",
            "b",
        ),
        ([rendition("a", more=",DEFAULT=YES"), rendition("b")], "fi", "a"),
    ],
)
def test_the_language_then_default_then_autoselect_decides_the_sound(
    renditions: list[str], language: str | None, name: str
):
    choice = chosen(*renditions, *variant("v", audio="g"), language=language)

    assert choice.audio
    assert choice.audio.name == name
    assert [wanted.kind for wanted in choice.wanted] == [TrackKind.VIDEO, TrackKind.AUDIO]


def test_a_language_that_is_not_there_is_noted():
    choice = chosen(rendition("a"), *variant("v", audio="g"), language="fi")

    assert choice.notes == ("no audio in the language 'fi'",)


def test_sound_inside_the_variant_is_not_fetched_twice():
    inside = '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="in",DEFAULT=YES'
    choice = chosen(inside, rendition("a"), *variant("v", audio="g"))

    assert choice.audio is None
    assert len(choice.wanted) == 1


def test_a_rendition_that_is_the_variant_itself_is_not_fetched_twice():
    assert len(chosen(rendition("a"), *variant("a.m3u8", audio="g")).wanted) == 1


def test_an_audio_group_that_is_not_there_is_noted():
    choice = chosen(*variant("v", audio="g"))

    assert choice.audio is None
    assert "audio group 'g'" in choice.notes[0]


def test_the_sound_is_of_the_chosen_variants_group():
    choice = choose(fixture("master.m3u8"), SelectionPolicy(max_height=400))

    assert choice.variant
    assert choice.variant.audio_group == "muxed"
    assert choice.audio is None


# --- subtitles ---

SUBTITLES = [
    rendition("en", kind="SUBTITLES", more=',LANGUAGE="en"'),
    rendition("cs", kind="SUBTITLES", more=',LANGUAGE="cs"'),
]


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ({}, []),
        ({"subtitles": True}, ["en", "cs"]),
        ({"subtitles": True, "language": "cs"}, ["cs"]),
        ({"subtitles": True, "language": "fi"}, ["en", "cs"]),
    ],
)
def test_subtitles_are_chosen_when_they_are_asked_for(policy: dict[str, object], names: list[str]):
    choice = chosen(*SUBTITLES, *variant("v", subtitles="g"), **policy)

    assert [subtitle.name for subtitle in choice.subtitles] == names
    assert len(choice.wanted) == 1 + len(names)


def test_subtitles_that_are_not_there_are_noted():
    assert chosen(*LADDER, subtitles=True).notes == ("no subtitles are offered with this picture",)


# --- the rest ---


def test_a_media_playlist_leaves_no_choice():
    choice = choose(media(*segments("a.ts")), SelectionPolicy(max_height=1))

    assert choice.variant is None
    assert len(choice.wanted) == 1


@pytest.mark.parametrize(
    ("codecs", "found"),
    [
        (None, set()),
        ("avc1.640028, mp4a.40.2", {"avc", "aac"}),
        ("dvh1.05.06,ec-3", {"dolby_vision", "eac3"}),
        ("vp09.00.10.08,Opus,fLaC", {"vp9", "opus", "flac"}),
        ("mp4a.40.34,mp4a.a6", {"mp3", "eac3"}),
        ("stpp.ttml.im1t,wvtt,zzzz", set()),
    ],
)
def test_codecs_are_told_by_family(codecs: str | None, found: set[str]):
    assert families(codecs) == found


@pytest.mark.parametrize(
    ("codecs", "only"),
    [("mp4a.40.2", True), ("mp4a.40.2,avc1.4d", False), ("zzzz", False), (None, False)],
)
def test_only_what_names_sound_and_nothing_else_is_audio_only(codecs: str | None, only: bool):
    assert is_audio_only(codecs) is only


def test_the_settings_know_every_family_by_the_same_name():
    named = set(get_args(CodecName))

    assert named == (VIDEO | AUDIO) - {"other_video", "other_audio"}
    assert SourceSettings().codecs == PREFERRED_CODECS


# --- a named quality ---

NAMED = [line.replace("BANDWIDTH=2500000", 'BANDWIDTH=2500000,NAME="hd"') for line in LADDER]


@pytest.mark.parametrize(
    ("quality", "max_height", "chosen_one"),
    [
        ((), None, "1080"),
        (("720p",), None, "720"),
        (("HD",), None, "720"),
        (("4k", "360p"), None, "360"),
        (("1080p",), 720, "720"),
        (("8k",), None, "1080"),
    ],
)
def test_a_named_quality_is_chosen_up_to_the_height(quality, max_height, chosen_one):
    assert picture(*NAMED, quality=quality, max_height=max_height).startswith(chosen_one)


def test_a_name_tells_a_variant_that_tells_no_size():
    nameless = ['#EXT-X-STREAM-INF:BANDWIDTH=1000,NAME="sd"', "small.m3u8"]

    choice = chosen(*LADDER, *nameless, quality=("sd",))

    assert choice.wanted[0].url.endswith("small.m3u8")
    assert "wanted quality" in choice.why
