"""Which segments a DASH representation has: addresses, ranges and times."""

from __future__ import annotations

import pytest

from core.errors import AddressRefused, HeadraceError, Malformed, TooLarge
from core.manifests import dash_tracks
from core.manifests.playlists import ByteRange, InitPart
from tests.support.dash import BASE, mpd, names, one, template, timeline, track

WHOLE = "<SegmentBase/>"


def reason_of(body: bytes) -> str:
    with pytest.raises(HeadraceError) as caught:
        track(body)
    return caught.value.reason


def seconds(body: bytes) -> list[float]:
    return [segment.duration_s for segment in track(body).segments]


# --- templates ---


@pytest.mark.parametrize(
    ("media", "first"),
    [
        ("$Number$", "1"),
        ("$Number%03d$", "001"),
        ("$Number%1d$", "1"),
        ("$RepresentationID$-$Bandwidth$-$Number$", "v-1000-1"),
        ("$Bandwidth%06d$/$Number$", "001000/1"),
        ("a$$b-$Number$", "a$b-1"),
        ("$$$Number$$$", "$1$"),
        ("$Time$", "0"),
        ("%d{0}{Number}-$Number$", "%d{0}{Number}-1"),
        ("a b $Number$", "a%20b%201"),
    ],
)
def test_a_template_is_filled_in(media: str, first: str):
    assert names(track(one(template(media, duration=4))))[0] == first


@pytest.mark.parametrize(
    "media", ["$Nummer$", "a$", "$Number", "$Number%5x$", "$$$", "$SubNumber$"]
)
def test_a_template_that_means_nothing_is_refused(media: str):
    assert reason_of(one(template(media, duration=4))) == "bad_template"


def test_a_template_without_media_is_refused():
    assert reason_of(one(template("", duration=4))) == "bad_template"


def test_an_id_with_braces_is_only_an_id():
    body = one(template("$RepresentationID$-$Number$", duration=4)).replace(b'"v"', b'"{Time}"')

    assert names(track(body)) == ["{Time}-1", "{Time}-2"]


def test_an_init_part_is_one_for_all_and_may_name_no_segment():
    body = one(template(duration=4, initialization="$RepresentationID$-$Bandwidth$.mp4"))
    bad = one(template(duration=4, initialization="$Number$.mp4"))

    assert {segment.init for segment in track(body).segments} == {InitPart(BASE + "v-1000.mp4")}
    assert reason_of(bad) == "bad_template"


def test_the_number_of_even_segments_is_rounded_up_and_the_last_ends_with_the_period():
    body = one(template(timescale=90_000, duration=270_000, startNumber=0))

    assert names(track(body)) == ["0.m4s", "1.m4s", "2.m4s"]
    assert seconds(body) == [3.0, 3.0, 2.0]


def test_times_are_exact_where_a_float_is_not():
    """A tenth of a second, thirty times, is three seconds and not a segment more."""
    body = one(template(timescale=30, duration=3), total="PT3.00000000000000000000S")

    assert len(track(body).segments) == 30


def test_a_duration_that_was_rounded_up_makes_no_segment_that_is_nowhere():
    total = "PT8.0004S"

    assert len(track(one(template(duration=2), total=total)).segments) == 4
    assert len(track(one(template(inner=timeline('d="2" r="-1"')), total=total)).segments) == 4
    assert len(track(one(template(duration=2), total="PT8.02S")).segments) == 5


def test_even_segments_count_their_time_from_the_period():
    body = one(template("$Time$", timescale=10, duration=30, presentationTimeOffset=70))

    assert names(track(body)) == ["0", "30", "60"]
    assert {segment.clock_s for segment in track(body).segments} == {7.0}


def test_an_end_number_ends_it():
    assert names(track(one(template(duration=2, endNumber=3)))) == ["1.m4s", "2.m4s", "3.m4s"]
    assert len(track(one(template(duration=2, endNumber=3), total=None)).segments) == 3
    timed = timeline('d="2" r="3"')
    assert len(track(one(template(inner=timed, endNumber=2))).segments) == 2


def test_a_template_without_a_duration_is_one_segment():
    body = one(template())

    assert names(track(body)) == ["1.m4s"]
    assert seconds(body) == [8.0]


def test_even_segments_without_an_end_are_refused():
    assert reason_of(one(template(duration=2), total=None)) == "no_duration"


# --- timelines ---


def test_row_24_a_negative_repeat_goes_on_to_the_end_of_the_period():
    body = one(template("t$Time$", inner=timeline('t="0" d="2" r="-1"')))

    assert names(track(body)) == ["t0", "t2", "t4", "t6"]


def test_a_negative_repeat_goes_on_to_the_next_time():
    body = one(template("$Time$", inner=timeline('t="3" d="2" r="-1"', 't="8" d="1"')))

    assert names(track(body)) == ["3", "5", "7", "8"]


def test_a_negative_repeat_counts_from_the_presentation_time_offset():
    lines = timeline('t="100" d="3" r="-2"')
    body = one(template("$Time$", inner=lines, presentationTimeOffset=100))

    assert names(track(body)) == ["100", "103", "106"]


def test_a_negative_repeat_before_a_time_that_nobody_tells_is_refused():
    assert reason_of(one(template(inner=timeline('d="2" r="-1"', 'd="2"')))) == "bad_timeline"
    assert reason_of(one(template(inner=timeline('d="2" r="-1"')), total=None)) == "no_duration"


def test_numbers_run_on_over_a_hole_whose_length_is_kept():
    body = one(template(inner=timeline('d="2"', 't="5" d="3"'), startNumber=7))
    found = track(body)

    assert names(found) == ["7.m4s", "8.m4s"]
    assert [(one.duration_s, one.pause_s) for one in found.segments] == [(2.0, 3.0), (3.0, 0.0)]
    assert found.duration_s == 8.0


def test_a_timeline_ends_an_inherited_duration_and_the_other_way_round():
    timed = template(duration=4, inner=timeline('d="2"'))

    assert len(track(one(timed)).segments) == 1


@pytest.mark.parametrize(
    "line", ['d="0"', 't="0"', 'd="x"', 'd="-2"', 'd="2" r="x"', 'd="2" t="-1"', 'd="2" k="2"']
)
def test_a_timeline_that_means_nothing_is_refused(line: str):
    assert reason_of(one(template(inner=timeline(line)))) in ("bad_number", "bad_timeline")


@pytest.mark.parametrize(
    "inner",
    [
        template(inner=timeline('d="1" r="2000000000"')),
        template(inner=timeline('d="1" r="60000"', 'd="1" r="60000"')),
        template(timescale=1_000_000, duration=1),
        template(timescale=1_000_000, inner=timeline('d="1" r="-1"')),
    ],
)
def test_the_number_of_segments_is_bounded(inner: str):
    with pytest.raises(TooLarge):
        track(one(inner))


def test_an_empty_timeline_is_no_track():
    assert reason_of(one(template(inner="<SegmentTimeline/>"))) == "empty_manifest"


# --- lists ---


def test_row_34_ranges_without_addresses_are_ranges_of_the_file():
    inner = (
        '<BaseURL>one.mp4</BaseURL><SegmentList duration="4"><Initialization range="0-99"/>'
        '<SegmentURL mediaRange="100-1499"/><SegmentURL mediaRange="1500-1999"/></SegmentList>'
    )
    found = track(one(inner)).segments

    assert [segment.url for segment in found] == [BASE + "one.mp4"] * 2
    assert [segment.byte_range for segment in found] == [ByteRange(100, 1400), ByteRange(1500, 500)]
    assert found[0].init == InitPart(BASE + "one.mp4", ByteRange(0, 100))


def test_a_list_without_a_duration_shares_the_period():
    inner = '<SegmentList><SegmentURL media="a"/><SegmentURL media="b"/></SegmentList>'

    assert seconds(one(inner)) == [4.0, 4.0]


def test_a_lists_timeline_tells_its_durations():
    timed = timeline('d="3"', 'd="5"')
    inner = f'<SegmentList>{timed}<SegmentURL media="a"/><SegmentURL media="b"/></SegmentList>'
    short = f'<SegmentList>{timed}<SegmentURL media="a"/></SegmentList>'

    assert seconds(one(inner)) == [3.0, 5.0]
    assert reason_of(one(short)) == "bad_timeline"


@pytest.mark.parametrize("raw", ["5", "9-5", "5-", "-5", "a-b", f"0-{2**60}"])
def test_a_range_that_is_none_is_refused(raw: str):
    inner = f'<SegmentList><SegmentURL media="a" mediaRange="{raw}"/></SegmentList>'

    assert reason_of(one(inner)) == "bad_byterange"


@pytest.mark.parametrize(
    "inner",
    ["", WHOLE, "<SegmentList/>", '<SegmentList><SegmentURL mediaRange="0-9"/></SegmentList>'],
)
def test_where_no_file_is_named_there_is_nothing_to_get(inner: str):
    assert reason_of(one(inner)) in ("no_segments", "empty_manifest")


# --- whole files ---


def test_an_index_helps_nobody_who_wants_all_of_it():
    base = (
        '<BaseURL>v.mp4</BaseURL><SegmentBase indexRange="800-867">'
        '<Initialization range="0-799"/></SegmentBase>'
    )
    (segment,) = track(one(base)).segments

    assert (segment.url, segment.byte_range, segment.init) == (BASE + "v.mp4", None, None)
    assert segment.duration_s == 8.0


def test_an_init_part_that_lies_elsewhere_is_got_too():
    base = '<SegmentBase><Initialization sourceURL="i.mp4"/></SegmentBase>'

    (segment,) = track(one(f"<BaseURL>v.mp4</BaseURL>{base}")).segments

    assert segment.init == InitPart(BASE + "i.mp4")


# --- where they lie ---


def test_row_26_each_base_resolves_against_the_one_above():
    body = mpd(
        "<BaseURL>one/</BaseURL><Period><BaseURL>/abs/</BaseURL>",
        '<AdaptationSet mimeType="video/mp4"><BaseURL>v/</BaseURL>',
        template(duration=8),
        '<Representation id="v" bandwidth="1"/></AdaptationSet></Period>',
    )

    assert track(body).segments[0].url == "https://media.example.com/abs/v/1.m4s"


def test_several_bases_are_ways_to_the_same_bytes_in_order_and_bounded():
    bases = "".join(f"<BaseURL>https://{n}.example/</BaseURL>" for n in "abc")
    inner = f"{bases}{template(duration=8, initialization='i')}"
    body = one(inner).replace(b"<Period ", b"<BaseURL>x/</BaseURL><BaseURL>y/</BaseURL><Period ")
    (segment,) = track(body).segments

    assert segment.url == "https://a.example/1.m4s"
    assert segment.alternatives == ("https://b.example/1.m4s", "https://c.example/1.m4s")
    assert segment.init
    assert segment.init.alternatives == ("https://b.example/i", "https://c.example/i")


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://a.example/", "data:,x"])
def test_an_address_that_is_not_http_is_refused_and_names_its_place(address: str):
    with pytest.raises(AddressRefused, match="period 1, representation 'v'"):
        track(one(f"<BaseURL>{address}</BaseURL>"))


def test_an_address_that_is_none_is_refused():
    with pytest.raises(Malformed):
        track(one("<BaseURL>http://[/</BaseURL>"))


def test_the_addresses_of_a_track_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.manifests.dash_reader.MAX_ADDRESSES_CHARS", 20_000)

    with pytest.raises(TooLarge):
        track(one(template(timescale=100, duration=1)))


# --- inheritance ---


def test_attributes_merge_one_by_one_from_period_to_representation():
    body = mpd(
        "<Period>",
        template("period-$Number$", timescale=10, duration=40, initialization="period.mp4"),
        '<AdaptationSet mimeType="video/mp4"><SegmentTemplate startNumber="5"/>',
        '<Representation id="v" bandwidth="1"><SegmentTemplate media="own-$Number$"/>',
        "</Representation></AdaptationSet></Period>",
    )
    found = track(body)

    assert names(found) == ["own-5", "own-6"]
    assert found.segments[0].init == InitPart(BASE + "period.mp4")


def test_a_childs_timeline_and_init_replace_the_inherited_ones():
    above = template("$Time$", inner=timeline('d="4" r="1"'), initialization="above.mp4")
    own_line = timeline('d="8"')
    own = f'<SegmentTemplate>{own_line}<Initialization sourceURL="own.mp4"/>'
    body = mpd(
        f'<Period>{above}<AdaptationSet mimeType="video/mp4">',
        f'<Representation id="v" bandwidth="1">{own}</SegmentTemplate></Representation>',
        "</AdaptationSet></Period>",
    )
    found = track(body)

    assert names(found) == ["0"]
    assert found.segments[0].init == InitPart(BASE + "own.mp4")


def test_the_innermost_scheme_holds():
    body = mpd(
        f'<Period>{template(duration=4)}<AdaptationSet mimeType="video/mp4">',
        f'<Representation id="v" bandwidth="1"><BaseURL>v.mp4</BaseURL>{WHOLE}</Representation>',
        "</AdaptationSet></Period>",
    )

    assert names(track(body)) == ["v.mp4"]


def test_a_track_has_no_more_segments_than_an_hls_playlist():
    assert dash_tracks.MAX_SEGMENTS == 100_000
