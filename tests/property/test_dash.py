"""Whatever the bytes are: what a DASH presentation offers, or an error of ours that says why not;
and never more segments than are read of any manifest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import HeadraceError
from core.manifests import (
    ByteRange,
    MediaPlaylist,
    SelectionPolicy,
    build_plan,
    choose,
    parse,
    read_wanted,
)
from core.manifests.dash_index import read_index
from core.manifests.dash_reader import Place
from core.manifests.dash_tracks import MAX_SEGMENTS
from core.manifests.dash_xml import read_document
from core.model.plan import parse_plan
from tests.support.damage import POLICIES, damaged_bytes, refused_by_name
from tests.support.dash import (
    BASE,
    FOLDER,
    URL,
    adaptation,
    mpd,
    names,
    one,
    period,
    representation,
    template,
    timeline,
    track,
)
from tests.support.manifests import origin

SIDX = (FOLDER / "sidx_v0_v720.bin").read_bytes()
SHARED = mpd(  # one file, of which two periods show parts
    *(
        period(
            adaptation(
                f"<BaseURL>{name}</BaseURL><SegmentBase indexRange='800-867' timescale='1000'"
                f" presentationTimeOffset='{clock}'><Initialization range='0-799'/></SegmentBase>",
                representation(),
            ),
            more=f'duration="PT{seconds}S"',
        )
        for name, clock, seconds in (("v.mp4", 0, 4), ("ad.mp4", 0, 2), ("v.mp4", 4000, 8))
    )
)
BODIES = [*(path.read_bytes() for path in sorted(FOLDER.glob("*.mpd"))), SHARED]
ELEMENTS = [
    "Period",
    "AdaptationSet",
    "Representation",
    "SegmentTemplate",
    "SegmentTimeline",
    "S",
    "SegmentList",
    "SegmentURL",
    "SegmentBase",
    "Initialization",
    "BaseURL",
    "ContentProtection",
    "Role",
    "Label",
]
ATTRIBUTES = [
    "start",
    "duration",
    "mimeType",
    "codecs",
    "id",
    "bandwidth",
    "width",
    "height",
    "lang",
    "timescale",
    "startNumber",
    "endNumber",
    "presentationTimeOffset",
    "media",
    "initialization",
    "mediaRange",
    "sourceURL",
    "range",
    "t",
    "d",
    "r",
    "value",
]
VALUES = [
    "PT4S",
    "video/mp4",
    "audio/mp4",
    "text/vtt",
    "avc1.64001f",
    "mp4a.40.2",
    "0",
    "1",
    "-1",
    "2",
    "1000",
    "99999999999",
    "18446744073709551616",
    "$Number$",
    "$Time%05d$",
    "0-99",
    "a.mp4",
    "http://[",
    "file:///x",
    "main",
    "",
]
plain = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
attributes = st.dictionaries(
    st.sampled_from(ATTRIBUTES), st.sampled_from(VALUES) | plain, max_size=6
)


indexes = st.builds(
    lambda at, put: SIDX[:at] + put + SIDX[at + len(put) :],
    st.integers(0, len(SIDX)),
    st.binary(max_size=8),
)


def escaped(raw: str) -> str:
    return raw.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def element(name: str, told: dict[str, str], inner: Sequence[str]) -> str:
    written = "".join(f' {key}="{escaped(value)}"' for key, value in told.items())
    return f"<{name}{written}>{''.join(inner)}</{name}>"


trees = st.recursive(
    st.builds(element, st.sampled_from(ELEMENTS), attributes, st.just([]))
    | st.sampled_from(VALUES).map(escaped),
    lambda inner: st.builds(
        element, st.sampled_from(ELEMENTS), attributes, st.lists(inner, max_size=4)
    ),
    max_leaves=25,
)


def use(body: bytes, policy: SelectionPolicy) -> None:
    """All that is done with a manifest; what it raises is an error of ours that names it."""

    def get(url: str) -> tuple[bytes, str]:
        raise AssertionError(url)

    def span(urls: Sequence[str], part: ByteRange) -> bytes:
        return (SIDX * (part.length // len(SIDX) + 1))[: part.length]

    with refused_by_name(BASE):
        found = parse(body, URL)
        choice = choose(found, policy)
        playlists = read_wanted(found, choice, get, span)
        assert all(0 < len(playlist.segments) <= MAX_SEGMENTS for playlist in playlists)
        plan = build_plan(origin(URL), choice, playlists)
        assert parse_plan(plan.to_json()) == plan


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_manifest_cut_anywhere_is_refused(body: bytes):
    for end in range(body.rindex(b">")):
        with pytest.raises(HeadraceError):
            parse(body[:end], URL)


@given(damaged_bytes(BODIES), POLICIES)
def test_damaged_bytes_are_read_or_refused(body: bytes, policy: SelectionPolicy):
    use(body, policy)


@given(st.sampled_from(BODIES), st.data(), POLICIES)
def test_wrong_values_are_read_or_refused(
    body: bytes, data: st.DataObject, policy: SelectionPolicy
):
    values = list(re.finditer(r'="([^"]*)"', body.decode()))
    text = body.decode()
    for found in sorted(
        data.draw(st.sets(st.sampled_from(values), min_size=1, max_size=4)), key=_at
    ):
        value = escaped(data.draw(st.sampled_from(VALUES) | plain))
        text = f"{text[: found.start(1)]}{value}{text[found.end(1) :]}"

    use(text.encode(), policy)


def _at(found: re.Match[str]) -> int:
    """From the last to the first, so that the others stay where they are."""
    return -found.start()


@given(st.lists(trees, max_size=4), attributes, POLICIES)
def test_any_tree_is_read_or_refused(
    inner: list[str], told: dict[str, str], policy: SelectionPolicy
):
    use(element("MPD", told, inner).encode(), policy)
    period = element("Period", {}, inner)
    use(element("MPD", {"mediaPresentationDuration": "PT9S"}, [period]).encode(), policy)


@given(st.binary(max_size=200), POLICIES)
def test_any_bytes_are_read_or_refused(body: bytes, policy: SelectionPolicy):
    use(b"<?xml version='1.0'?>" + body, policy)
    use(b"<MPD><Period>" + body, policy)


@given(st.binary(max_size=120) | indexes, st.integers(0, 2**53))
def test_any_index_names_stretches_of_its_file_or_is_refused(body: bytes, offset: int):
    place = Place(read_document(mpd(), URL), "period 1")
    refused, found = None, []
    try:
        found = read_index(body, offset, place)
    except HeadraceError as error:
        refused = error

    assert bool(found) or (refused is not None and BASE in str(refused))
    assert all(one.byte_range.start >= offset and one.byte_range.length > 0 for one in found)
    assert all(one.duration >= 0 for one in found)


# --- times ---

positive = st.integers(1, 10**6)


@given(positive, positive, st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_even_segments_fill_the_period_and_no_more(scale: int, length: int, period: Fraction):
    period = Fraction(round(period * 1000), 1000) or Fraction(1)
    count = ceil((period - Fraction(1, 1000)) * scale / length)
    if not 0 < count <= 2_000:
        return
    written = f"PT{float(period):.3f}S"
    found = track(one(template(timescale=scale, duration=length), total=written))

    assert len(found.segments) == count
    assert found.duration_s == pytest.approx(float(period), abs=0.001)


@given(st.lists(st.tuples(positive, st.integers(0, 20)), min_size=1, max_size=20), positive)
def test_a_timelines_numbers_and_times_run_on(lines: list[tuple[int, int]], first: int):
    written = timeline(*(f'd="{length}" r="{repeats}"' for length, repeats in lines))
    found = track(one(template("$Number$/$Time$", inner=written, startNumber=first)))
    lengths = [length for length, repeats in lines for _ in range(repeats + 1)]

    assert names(found) == [
        f"{first + index}/{sum(lengths[:index])}" for index in range(len(lengths))
    ]
    assert found.duration_s == pytest.approx(sum(lengths))


@given(st.integers(0, 10**6), positive, positive)
def test_a_negative_repeat_reaches_the_end_and_does_not_begin_after_it(
    begin: int, length: int, period: int
):
    if period / length > 2_000:
        return
    written = timeline(f't="{begin}" d="{length}" r="-1"')
    body = one(
        template("$Time$", inner=written, presentationTimeOffset=begin), total=f"PT{period}S"
    )
    found = track(body)
    last = int(names(found)[-1])

    assert isinstance(found, MediaPlaylist)
    assert last < begin + period <= last + length


@pytest.mark.parametrize(
    "piece",
    [b"<!--" * 7_000, b"<?xml >" * 5_000, b"<a " * 9_000, b"<x>" * 9_000, b" " * 60_000 + b"<"],
    ids=range(5),
)
@pytest.mark.timeout(10)
def test_nothing_takes_long(piece: bytes):
    for body in (piece, b"<?xml version='1.0'?>" + piece, b"<MPD>" + piece):
        use(body, SelectionPolicy())
