"""Every HLS fixture by what it says, by its plan, or by its refusal."""

from __future__ import annotations

from datetime import datetime

import pytest

from core.errors import HeadraceError, Unsupported
from core.manifests import MediaPlaylist, Multivariant, SelectionPolicy, choose
from core.manifests.playlists import ByteRange, InitPart, MediaSegment
from core.model.plan import KeyRef, Part
from tests.support.manifests import EXPECTED, FOLDER, fixture, planned

PLAYLISTS = EXPECTED["playlists"]
MEDIA = sorted(name for name, expected in PLAYLISTS.items() if "segments" in expected)
ENDED = [name for name in MEDIA if PLAYLISTS[name]["ended"]]
REFUSED = sorted(name for name, expected in PLAYLISTS.items() if "error" in expected)


def _key(key: KeyRef | None):
    return key and {"method": "AES-128", "uri": key.url, "iv": key.iv}


def _range(found: ByteRange | None):
    return found and {"offset": found.start, "length": found.length}


def _init(init: InitPart | None):
    byte_range, key = (_range(init.byte_range), _key(init.key)) if init else (None, None)
    return init and {"uri": init.url, "byterange": byte_range, "key": key}


def _segment(segment: MediaSegment):
    """In the words of the fixtures."""
    said = {
        "seq": segment.sequence,
        "discontinuity_seq": segment.discontinuity,
        "uri": segment.url,
        "duration": segment.duration_s,
        "byterange": _range(segment.byte_range),
        "map": _init(segment.init),
        "key": _key(segment.key),
    }
    if segment.gap:
        said["gap"] = True
    if segment.title:
        said["title"] = segment.title
    if segment.program_date_time:
        said["program_date_time"] = segment.program_date_time
    return said


def _expected(segment: dict[str, object]):
    if "program_date_time" in segment:
        when = datetime.fromisoformat(str(segment["program_date_time"]))
        return segment | {"program_date_time": when}
    return segment


def test_every_fixture_is_tried():
    assert set(PLAYLISTS) == {path.name for path in FOLDER.glob("*.m3u8")}


@pytest.mark.parametrize("name", MEDIA)
def test_a_fixture_says_what_is_expected(name: str):
    expected = PLAYLISTS[name]
    found = fixture(name)

    assert isinstance(found, MediaPlaylist)
    assert [_segment(segment) for segment in found.segments] == list(
        map(_expected, expected["segments"])
    )
    assert found.ended == expected["ended"]
    assert found.target_duration_s == expected["target_duration"]
    assert found.duration_s == pytest.approx(expected["total_duration"])


@pytest.mark.parametrize("name", ENDED)
def test_a_fixtures_plan_has_every_part_where_it_belongs(name: str):
    found = fixture(name)
    assert isinstance(found, MediaPlaylist)
    plan = planned(found)

    def there(part: Part | None):
        piece = plan.pieces[part.piece] if part else None
        return piece and part and (piece.url, piece.start, piece.length, part.key)

    def wanted(of: MediaSegment | InitPart | None):
        if of is None:
            return None
        start, length = (
            (of.byte_range.start, of.byte_range.length) if of.byte_range else (None,) * 2
        )
        return of.url, start, length, of.key

    assert [(there(one.part), there(one.init)) for one in plan.tracks[0].segments] == [
        (None, None) if one.gap else (wanted(one), wanted(one.init)) for one in found.segments
    ]
    assert len(set(plan.pieces)) == len(plan.pieces)
    assert plan.duration_s == pytest.approx(PLAYLISTS[name]["total_duration"])


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_fixture_is_refused_by_name(name: str):
    reason, _, what = PLAYLISTS[name]["error"].partition(":")
    with pytest.raises(HeadraceError) as caught:
        fixture(name)

    assert caught.value.reason == reason
    assert what in str(caught.value)


def test_a_live_fixture_is_refused_when_a_plan_is_made_of_it():
    found = fixture("live_refresh_1.m3u8")
    assert isinstance(found, MediaPlaylist)

    with pytest.raises(Unsupported) as caught:
        planned(found)

    assert caught.value.reason == "live_manifest"


def test_the_multivariant_fixture_offers_what_is_expected():
    expected = PLAYLISTS["master.m3u8"]
    found = fixture("master.m3u8")

    assert isinstance(found, Multivariant)
    assert [
        {
            "uri": variant.url,
            "bandwidth": variant.bandwidth,
            "average_bandwidth": variant.average_bandwidth,
            "codecs": variant.codecs,
            "width": variant.width,
            "height": variant.height,
            "frame_rate": variant.frame_rate,
            "audio_group": variant.audio_group,
        }
        for variant in found.variants
    ] == expected["variants"]
    assert [
        {
            "type": rendition.kind,
            "group": rendition.group,
            "name": rendition.name,
            "language": rendition.language,
            "default": rendition.default,
            "uri": rendition.url,
        }
        for rendition in found.renditions
    ] == expected["renditions"]
    assert found.i_frame_streams == 1


def test_the_multivariant_fixtures_best_picture_and_its_sound_are_chosen():
    expected = PLAYLISTS["master.m3u8"]
    choice = choose(fixture("master.m3u8"), SelectionPolicy())

    assert [wanted.url for wanted in choice.wanted] == [expected["best"], expected["best_audio"]]
