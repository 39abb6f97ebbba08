"""In which order renditions are wanted."""

from __future__ import annotations

import pytest

from core.model.post import MediaKind, Rendition
from core.model.source import SourceTerms
from core.settings import SourceSettings
from core.steps.terms import selection_policy, source_terms
from core.steps.wish import Wish, wish_of


def offered(*told: str) -> list[Rendition]:
    """Renditions by «HEIGHT CODECS QUALITY», where - is not told."""
    found = []
    for one in told:
        height, codecs, quality = (None if word == "-" else word for word in one.split())
        size = {"width": int(height) * 16 // 9, "height": int(height)} if height else {}
        found.append(Rendition(url=f"u:{one}", codecs=codecs, quality=quality, **size))
    return found


def first(wish: Wish, *told: str, kind: MediaKind = MediaKind.VIDEO) -> str:
    return wish.ranked(offered(*told), kind)[0].url.removeprefix("u:")


@pytest.mark.parametrize(
    ("quality", "wanted"),
    [
        ((), "1080 - hd"),
        (("sd",), "480 - sd"),
        (("720p",), "720 - -"),
        (("720P60", "sd"), "720 - -"),
        (("4k", "SD"), "480 - sd"),
        (("8k",), "1080 - hd"),
    ],
)
def test_a_named_quality_goes_before_the_best(quality, wanted):
    assert first(Wish(quality=quality), "1080 - hd", "720 - -", "480 - sd") == wanted


def test_a_name_is_of_pictures_too():
    wish = Wish(quality=("bmiddle",), max_height=1)

    assert first(wish, "- - large", "- - bmiddle", kind=MediaKind.IMAGE) == "- - bmiddle"


def test_no_quality_is_got_over_the_height():
    wish = Wish(max_height=720, quality=("hd",))

    assert first(wish, "1080 - hd", "720 - -") == "720 - -"


def test_a_video_that_stands_upright_is_called_by_its_shorter_side():
    upright = Rendition(url="u", width=720, height=1280)

    assert Wish(quality=("720p",)).ranked([Rendition(url="v"), upright], MediaKind.VIDEO)[0] is (
        upright
    )


@pytest.mark.parametrize(
    ("codecs", "wanted"),
    [
        (("avc", "hevc"), "720 avc1.64001f,mp4a.40.2 -"),
        (("hevc", "avc"), "720 hev1.1.6 -"),
        (("av1",), "720 hev1.1.6 -"),
    ],
)
def test_of_one_size_the_wanted_codecs_go_first(codecs, wanted):
    told = ("1080 hev1.1.6 -", "720 hev1.1.6 -", "720 avc1.64001f,mp4a.40.2 -")

    assert first(Wish(max_height=720, codecs=codecs), *told) == wanted


def test_a_family_may_be_told_by_its_name():
    assert first(Wish(codecs=("av1", "avc")), "720 avc -", "720 av1 -") == "720 av1 -"


def test_codecs_do_not_move_what_tells_no_size():
    assert first(Wish(codecs=("av1",)), "- avc -", "- av1 -") == "- avc -"


def test_a_plain_file_stays_before_a_manifest_of_its_size():
    plain = Rendition(url="p", width=1280, height=720)
    manifest = Rendition(url="m", width=1280, height=720, codecs="avc1", manifest="hls")

    assert Wish().ranked([plain, manifest], MediaKind.VIDEO) == [plain, manifest]


def test_the_settings_say_it_for_files_and_for_manifests():
    settings = SourceSettings(quality=("720p",), codecs=("av1",), max_height=900)

    assert wish_of(source_terms("mill", settings)) == Wish(900, ("720p",), ("av1",))
    assert selection_policy(settings).quality == ("720p",)


def test_terms_without_a_word_on_it_want_what_plays_anywhere():
    assert wish_of(SourceTerms("mill", 1.0, 1)) == Wish()
