"""One media through several periods: played on where nothing changes, taken apart where others
stand between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from core.errors import HeadraceError, Malformed, TooLarge, Unsupported
from core.manifests import ByteRange, MediaPlaylist, SelectionPolicy
from core.manifests.playlists import InitPart
from tests.support.dash import (
    BASE,
    FOLDER,
    adaptation,
    mpd,
    names,
    period,
    planned,
    read,
    representation,
    template,
    timeline,
    track,
)
from tests.support.manifests import ANYTHING

SIDX = (FOLDER / "sidx_v0_v720.bin").read_bytes()  # of three segments of four seconds, at 800
FILE = "v720.mp4"
RANGES = [(868, 50867), (50868, 98867), (98868, 145868)]
INDEXED = 'indexRange="800-867" timescale="1000"'
INIT = '<Initialization range="0-799"/>'


def shown(name: str = FILE, clock: int = 0, more: str = "", inner: str = "") -> str:
    """A set of one file, of which a period shows what plays from `clock` on (ms)."""
    base = f'<SegmentBase presentationTimeOffset="{clock}" {more}>{inner}</SegmentBase>'
    return adaptation(f"<BaseURL>{name}</BaseURL>{base}", representation())


def for_s(seconds: float, *sets: str) -> str:
    return period(*sets, more=f'duration="PT{seconds}S"')


class Served:
    """Gives the index, and remembers what was asked for."""

    def __init__(self, body: bytes = SIDX) -> None:
        self.body = body
        self.asked: list[tuple[Sequence[str], ByteRange]] = []

    def __call__(self, urls: Sequence[str], part: ByteRange) -> bytes:
        self.asked.append((urls, part))
        return self.body


def found_in(body: bytes, served: Served | None = None) -> MediaPlaylist:
    return read(body, ANYTHING, spans=served or Served())[1][0]


def interrupted(more: str = INDEXED, inner: str = INIT) -> bytes:
    """A file of twelve seconds, with another after its first eight."""
    return mpd(
        for_s(8, shown(more=more, inner=inner)),
        for_s(2, shown("ad.mp4")),
        for_s(4, shown(clock=8000, more=more, inner=inner)),
    )


# --- a file ---


def test_a_file_that_periods_only_divide_is_got_whole_and_no_index_asked_for():
    body = mpd(for_s(8, shown(more=INDEXED)), for_s(4, shown(clock=8000, more=INDEXED)))
    served = Served()
    found = found_in(body, served)

    assert [(one.url, one.byte_range, one.duration_s) for one in found.segments] == [
        (BASE + FILE, None, 12.0)
    ]
    assert served.asked == []


def test_a_file_without_a_segmentbase_is_whole_only_where_nothing_is_shown_twice():
    whole = adaptation(f"<BaseURL>{FILE}</BaseURL>", representation())

    with pytest.raises(Unsupported) as caught:
        read(mpd(for_s(4, whole), for_s(4, whole)))
    assert caught.value.reason == "shared_file"


def test_a_file_with_another_between_is_taken_apart_by_its_index():
    served = Served()
    found = found_in(interrupted(), served)

    assert [
        (one.byte_range and (one.byte_range.start, one.byte_range.end - 1), one.discontinuity)
        for one in found.segments
    ] == [(RANGES[0], 0), (RANGES[1], 0), (None, 1), (RANGES[2], 2)]
    assert [one.sequence for one in found.segments] == [0, 1, 2, 3]
    assert [one.clock_s for one in found.segments] == [0.0, 0.0, 0.0, 8.0]
    assert [one.init for one in found.segments] == [
        InitPart(BASE + FILE, ByteRange(0, 800)),
        InitPart(BASE + FILE, ByteRange(0, 800)),
        None,
        InitPart(BASE + FILE, ByteRange(0, 800)),
    ]
    assert served.asked == [([BASE + FILE], ByteRange(800, 68))]


def test_each_part_is_fetched_once_and_the_init_part_too():
    plan = planned(interrupted(), spans=Served())

    assert [(one.start, one.length) for one in plan.pieces] == [
        (0, 800),
        (868, 50_000),
        (50_868, 48_000),
        (None, None),
        (98_868, 47_001),
    ]


def test_without_an_init_part_all_that_stands_before_the_index_is_one():
    found = found_in(interrupted(inner=""))

    assert found.segments[0].init == InitPart(BASE + FILE, ByteRange(0, 800))


def test_what_no_period_shows_is_not_got():
    body = mpd(
        for_s(4, shown(more=INDEXED)),
        for_s(2, shown("ad.mp4")),
        for_s(4, shown(clock=8000, more=INDEXED)),
    )
    got = [one.byte_range.start for one in found_in(body).segments if one.byte_range]

    assert got == [868, 98_868]


def test_a_segment_across_a_cut_is_played_once_where_most_of_it_shows():
    body = mpd(
        for_s(7, shown(more=INDEXED)),
        for_s(2, shown("ad.mp4")),
        for_s(5, shown(clock=7000, more=INDEXED)),
    )
    found = found_in(body).segments

    assert [one.discontinuity for one in found] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (interrupted(more=""), Unsupported, "shared_file"),
        (interrupted(more='indexRange="x"'), Malformed, "bad_byterange"),
        (interrupted(more='indexRange="0-67"', inner=""), Malformed, "bad_index"),
        (interrupted(more='indexRange="0-99999999"'), Malformed, "bad_index"),
    ],
)
def test_what_tells_not_where_to_cut_is_refused_by_name(
    body: bytes, kind: type[HeadraceError], reason: str
):
    with pytest.raises(kind) as caught:
        found_in(body)

    assert caught.value.reason == reason


def test_a_period_for_which_the_index_has_nothing_is_refused():
    body = mpd(
        for_s(8, shown(more=INDEXED)),
        for_s(2, shown("ad.mp4")),
        for_s(4, shown(clock=80_000, more=INDEXED)),
    )

    with pytest.raises(Malformed, match="nothing for period 3"):
        found_in(body)


def test_how_many_segments_indexes_may_name_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.manifests.dash_tracks.MAX_SEGMENTS", 3)

    with pytest.raises(TooLarge):
        found_in(interrupted())


def test_how_many_indexes_are_asked_for_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.manifests.dash_runs.MAX_INDEXES", 0)
    served = Served()

    with pytest.raises(TooLarge):
        found_in(interrupted(), served)
    assert served.asked == []


def test_a_file_is_asked_for_its_index_at_all_its_addresses_with_the_manifests_query():
    body = interrupted().replace(
        b"<BaseURL>v720.mp4</BaseURL>",
        b"<BaseURL>v720.mp4</BaseURL><BaseURL>https://other.test/v720.mp4</BaseURL>",
    )
    served = Served()
    found = found_in(body, served)

    assert served.asked[0][0] == [BASE + FILE, "https://other.test/v720.mp4"]
    assert found.segments[0].alternatives == ("https://other.test/v720.mp4",)


# --- segments ---


def segmented(first: int, clock: int, init: str = "i.mp4", scale: int = 1) -> str:
    inner = template(
        initialization=init,
        duration=2 * scale,
        startNumber=first,
        timescale=scale,
        presentationTimeOffset=clock,
    )
    return adaptation(inner, representation())


def test_segments_that_go_on_under_one_init_part_have_no_seam():
    body = mpd(for_s(4, segmented(1, 0)), for_s(4, segmented(3, 4)))
    found = track(body)

    assert names(found) == ["1.m4s", "2.m4s", "3.m4s", "4.m4s"]
    assert [one.discontinuity for one in found.segments] == [0] * 4
    assert [one.clock_s for one in found.segments] == [0.0] * 4
    assert [one.sequence for one in found.segments] == [0, 1, 2, 3]


def test_times_that_are_rounded_make_no_seam():
    body = mpd(for_s(4, segmented(1, 0)), for_s(4, segmented(3, 4010, scale=1000)))

    assert [one.discontinuity for one in track(body).segments] == [0] * 4


@pytest.mark.parametrize(
    "second",
    [segmented(3, 0), segmented(3, 5), segmented(3, 4, init="other.mp4")],
    ids=["a clock from 0", "a clock that jumps", "another init part"],
)
def test_what_begins_anew_is_a_discontinuity(second: str):
    body = mpd(for_s(4, segmented(1, 0)), for_s(4, second))

    assert [one.discontinuity for one in track(body).segments] == [0, 0, 1, 1]


def test_after_a_period_of_another_the_first_goes_on_as_a_stretch_of_its_own():
    body = mpd(
        for_s(4, segmented(1, 0)), for_s(2, segmented(9, 0, "ad.mp4")), for_s(4, segmented(3, 4))
    )
    found = track(body)

    assert [one.discontinuity for one in found.segments] == [0, 0, 1, 2, 2]
    assert found.segments[-1].clock_s == 4.0


def test_a_segment_that_both_periods_name_is_played_once():
    def told(clock: int) -> str:
        inner = template(
            "$Time$",
            inner=timeline('t="0" d="3" r="2"'),
            initialization="i.mp4",
            presentationTimeOffset=clock,
        )
        return adaptation(inner, representation())

    found = track(mpd(for_s(4, told(0)), for_s(5, told(4))))

    assert names(found) == ["0", "3", "6"]
    assert found.duration_s == 9.0


def test_segments_are_bounded_through_all_periods(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.manifests.dash_tracks.MAX_SEGMENTS", 3)

    with pytest.raises(TooLarge):
        track(mpd(for_s(4, segmented(1, 0)), for_s(4, segmented(3, 4))))


# --- texts ---


def test_a_text_that_periods_share_is_got_whole_for_each():
    text = adaptation(
        "<BaseURL>en.vtt</BaseURL>{}",
        representation(id="s"),
        more='mimeType="text/vtt" lang="en"',
    )
    later = '<SegmentBase presentationTimeOffset="4"/>'
    body = mpd(
        for_s(4, segmented(1, 0), text.format("")),
        for_s(2, segmented(9, 0, "ad.mp4")),
        for_s(4, segmented(3, 4), text.format(later)),
    )
    texts = planned(body, SelectionPolicy(subtitles=True)).tracks[1]

    assert [(one.discontinuity, one.clock_s, one.shift_s) for one in texts.segments] == [
        (0, 0.0, 0.0),
        (2, 4.0, 2.0),
    ]
