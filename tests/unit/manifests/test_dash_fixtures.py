"""Every DASH fixture by what it offers, by its plan, or by its refusal."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import Unsupported
from core.manifests import SelectionPolicy, choose
from core.manifests.playlists import (
    ByteRange,
    InitPart,
    MediaRendition,
    MediaSegment,
    Variant,
)
from core.model.plan import Part
from tests.support.dash import EXPECTED, FOLDER, fixture, planned, read
from tests.support.manifests import no_span

MPDS = EXPECTED["mpds"]
READ = sorted(name for name, expected in MPDS.items() if "error" not in expected)
REASONS = {"drm_unsupported": "drm_unsupported", "dynamic_unsupported": "live_manifest"}

Offer = Variant | MediaRendition


def offers(name: str) -> dict[str, Offer]:
    """What is offered, by the representation's id."""
    found = fixture(name)
    return {one.url.partition("#")[2]: one for one in (*found.variants, *found.renditions)}


def segments_of(name: str, expected: dict[str, Any]) -> list[MediaSegment]:
    """Those of one representation in one period, found through the track that it is part of."""
    found = offers(name)
    offer = found.get(expected["id"]) or next(iter(found.values()))
    assert offer.inline is not None
    return [
        one for one in offer.inline(no_span).segments if one.discontinuity == expected["period"]
    ]


def in_words(found: ByteRange | None) -> str | None:
    return found and f"{found.start}-{found.end - 1}"


def init_in_words(init: InitPart | None) -> dict[str, str | None] | None:
    return init and {"url": init.url, "range": in_words(init.byte_range)}


CASES = [
    pytest.param(name, expected, id=f"{name}-{expected['period']}-{expected['id']}")
    for name in READ
    for expected in MPDS[name]["representations"]
]
# The others go on with one of another name: only the longest period's are offered.
OFFERED = [case for case in CASES if case.values[1]["id"] in offers(str(case.values[0]))]


def test_every_fixture_is_tried():
    assert set(MPDS) == {path.name for path in FOLDER.glob("*.mpd")}


@pytest.mark.parametrize(("name", "expected"), CASES)
def test_a_representation_has_the_segments_that_are_expected(name: str, expected: dict[str, Any]):
    found = segments_of(name, expected)
    if "segments" not in expected:
        expected = expected | {"init": None}  # within the file, which is got whole
        whole = {"url": expected["whole_file"], "range": None}
        expected["segments"] = [whole | {"duration_s": expected["period_duration_s"]}]

    assert [
        {
            "url": one.url,
            "range": in_words(one.byte_range),
            "duration_s": pytest.approx(one.duration_s, abs=1e-6),
        }
        for one in found
    ] == expected["segments"]
    assert [init_in_words(one.init) for one in found] == [expected["init"]] * len(found)
    assert list(found[0].alternatives) == expected.get("alternative_base_urls", [])


@pytest.mark.parametrize(("name", "expected"), OFFERED)
def test_what_is_offered_is_told_as_it_is(name: str, expected: dict[str, Any]):
    offer = offers(name)[expected["id"]]

    assert (offer.bandwidth, offer.codecs) == (expected["bandwidth"], expected["codecs"])
    assert offer.language == expected["lang"]
    if isinstance(offer, Variant):
        assert (offer.width, offer.height) == (expected["width"], expected["height"])


@pytest.mark.parametrize("name", READ)
def test_a_plan_has_every_part_where_it_belongs(name: str):
    body = (FOLDER / name).read_bytes()
    _, playlists = read(body, url=EXPECTED["base"].replace("<file>", name))
    plan = planned(body, url=EXPECTED["base"].replace("<file>", name))

    def there(part: Part | None):
        piece = plan.pieces[part.piece] if part else None
        return piece and (piece.url, piece.start, piece.length, piece.alternatives)

    def wanted(of: MediaSegment | InitPart | None):
        if of is None:
            return None
        part = of.byte_range
        return (of.url, part.start, part.length) if part else (of.url, None, None)

    for track, playlist in zip(plan.tracks, playlists, strict=True):
        assert [(there(one.part), there(one.init)) for one in track.segments] == [
            (
                (*(wanted(one) or ()), one.alternatives),
                one.init and (*(wanted(one.init) or ()), one.init.alternatives),
            )
            for one in playlist.segments
        ]
        assert [one.discontinuity for one in track.segments] == [
            one.discontinuity for one in playlist.segments
        ]
    assert len(set(plan.pieces)) == len(plan.pieces)


@pytest.mark.parametrize("name", sorted(set(MPDS) - set(READ)))
def test_what_is_live_or_protected_is_refused_by_name(name: str):
    with pytest.raises(Unsupported) as caught:
        read((FOLDER / name).read_bytes())

    assert caught.value.reason == REASONS[MPDS[name]["error"]]


def test_the_largest_picture_and_its_sound_are_chosen():
    choice = choose(fixture("segment_base.mpd"), SelectionPolicy())

    assert [wanted.url.partition("#")[2] for wanted in choice.wanted] == ["v1", "a1"]
    assert choice.why == "1280x720 avc1.64001f 1.5 Mbit/s: the best of 2 variants; audio a1 (en)"


def test_a_height_chooses_another():
    choice = choose(fixture("segment_base.mpd"), SelectionPolicy(max_height=400))

    assert choice.wanted[0].url.endswith("#v2")
