"""What a DASH presentation offers, and through which periods."""

from __future__ import annotations

import pytest

from core.errors import HeadraceError, Malformed, TooLarge, Truncated, Unsupported
from core.manifests import SelectionPolicy, choose, dash_periods, dash_representations
from core.model.plan import Container, TrackKind
from tests.support.dash import (
    AUDIO,
    BASE,
    VIDEO,
    adaptation,
    fixture,
    mpd,
    names,
    offered,
    one,
    period,
    planned,
    read,
    representation,
    template,
    timeline,
    track,
)

EVEN = template("$RepresentationID$-$Number$", duration=4)
WIDEVINE = '<ContentProtection schemeIdUri="urn:uuid:EDEF8BA9-79D6-4ACE-A3C8-27DCD51D21ED"/>'
CENC = '<ContentProtection schemeIdUri="urn:mpeg:dash:mp4protection:2011" value="cenc"/>'
XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'


def sound(ident: str, lang: str | None = None, inner: str = "", bandwidth: int = 96_000) -> str:
    language = f' lang="{lang}"' if lang else ""
    own = representation(id=ident, more=f'bandwidth="{bandwidth}"')
    return adaptation(inner, EVEN, own, more=f"{AUDIO}{language}")


def picture(ident: str = "v", height: int = 360, inner: str = "", more: str = VIDEO) -> str:
    size = f'bandwidth="{height}000" width="{height * 16 // 9}" height="{height}"'
    return adaptation(inner, EVEN, representation(id=ident, more=size), more=more)


def chosen(body: bytes, **policy: object) -> list[str]:
    """The ids of what is chosen."""
    choice = choose(offered(body), SelectionPolicy(**policy))  # type: ignore[arg-type]
    return [wanted.url.partition("#")[2] for wanted in choice.wanted]


def reason_of(body: bytes) -> str:
    with pytest.raises(HeadraceError) as caught:
        read(body)
    return caught.value.reason


# --- what is offered ---


def test_pictures_are_variants_and_sound_is_a_rendition():
    found = offered(mpd(period(picture("big", 720), picture("small", 360), sound("a", "en"))))

    assert found.format == "dash"
    assert [(one.width, one.height) for one in found.variants] == [(1280, 720), (640, 360)]
    assert [(one.name, one.language, one.group) for one in found.renditions] == [
        ("a", "en", "audio")
    ]


@pytest.mark.parametrize(("height", "best"), [(None, "big"), (719, "small"), (100, "small")])
def test_the_height_setting_chooses(height: int | None, best: str):
    body = mpd(period(picture("big", 720), picture("small", 360), sound("a")))

    assert chosen(body, max_height=height) == [best, "a"]


def test_the_codecs_setting_chooses():
    hevc = 'mimeType="video/mp4" codecs="hvc1.1.6.L93"'
    body = mpd(period(picture("avc"), picture("hevc", more=hevc)))

    assert chosen(body) == ["avc"]
    assert chosen(body, codecs=("hevc", "avc")) == ["hevc"]


@pytest.mark.parametrize(
    ("language", "best"), [("cs", "cs-high"), ("en", "en"), (None, "en"), ("fr", "en")]
)
def test_the_language_setting_chooses_sound_and_the_most_bandwidth_in_it(
    language: str | None, best: str
):
    sets = [
        sound("en", "en"),
        sound("cs-low", "cs", bandwidth=64_000),
        sound("cs-high", "cs", bandwidth=128_000),
    ]

    assert chosen(mpd(period(picture(), *sets)), language=language) == ["v", best]


def test_the_sound_that_is_called_main_is_preferred_to_the_first():
    role = '<Role schemeIdUri="urn:mpeg:dash:role:2011" value="{}"/>'
    commentary = sound("c", "en", role.format("commentary"), bandwidth=200_000)
    body = mpd(period(picture(), commentary, sound("m", "en", role.format("main"))))

    assert chosen(body) == ["v", "m"]
    assert chosen(body, language="en") == ["v", "m"]


def test_sound_within_the_pictures_needs_no_other():
    muxed = 'mimeType="video/mp4" codecs="avc1.64001f,mp4a.40.2"'

    assert chosen(mpd(period(picture(more=muxed), sound("a")))) == ["v"]


def test_sound_alone_is_chosen_by_language():
    body = mpd(period(sound("en", "en"), sound("cs", "cs")))

    assert chosen(body) == ["en"]
    assert chosen(body, language="cs") == ["cs"]
    assert planned(body).tracks[0].kind is TrackKind.AUDIO


def test_trick_mode_thumbnails_layers_and_other_views_are_left_out():
    trick = '<EssentialProperty schemeIdUri="http://dashif.org/guidelines/trickmode" value="1"/>'
    view = '<Role schemeIdUri="urn:mpeg:dash:role:2011" value="sign"/>'
    layer = representation(id="layer", more='bandwidth="9" height="9000" dependencyId="v"')
    body = mpd(
        period(
            picture("trick", 2160, trick),
            adaptation(representation(id="t"), more='mimeType="image/jpeg"'),
            adaptation(EVEN, layer),
            picture("other", 1080, view),
            picture(),
        )
    )
    found = offered(body)

    assert [one.url.partition("#")[2] for one in found.variants] == ["v"]
    assert len(found.notes) == 4


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ('mimeType="video/mp4"', TrackKind.VIDEO),
        ('mimeType="audio/mp4"', TrackKind.AUDIO),
        ('contentType="video"', TrackKind.VIDEO),
        ('contentType="audio" mimeType="application/mp4"', TrackKind.AUDIO),
        ('mimeType="video/mp4" codecs="mp4a.40.2"', TrackKind.AUDIO),
        ('mimeType="application/mp4" codecs="avc1.64001f"', TrackKind.VIDEO),
        ('width="640" height="360"', TrackKind.VIDEO),
    ],
)
def test_what_a_set_is_is_told_by_codecs_type_or_size(more: str, kind: TrackKind):
    assert (
        planned(mpd(period(adaptation(EVEN, representation(), more=more)))).tracks[0].kind is kind
    )


@pytest.mark.parametrize(
    ("mime", "container"),
    [
        ("video/mp4", Container.FMP4),
        ("video/webm", Container.WEBM),
        ("video/mp2t", Container.TS),
        ("video/iso.segment", Container.FMP4),
    ],
)
def test_the_type_tells_the_container_whatever_the_addresses_end_in(
    mime: str, container: Container
):
    more = f'mimeType="{mime}"'
    body = mpd(period(adaptation(template("$Number$.ts", duration=4), representation(), more=more)))

    assert planned(body).tracks[0].container is container


def test_a_manifest_without_pictures_and_sound_is_refused():
    text = adaptation(EVEN, representation(), more='mimeType="text/vtt"')

    assert reason_of(mpd(period(text))) == "empty_manifest"


# --- subtitles ---


VTT = adaptation(
    "<BaseURL>en.vtt</BaseURL>",
    representation(id="s"),
    more='mimeType="text/vtt" lang="en" contentType="text"',
)


def test_subtitles_are_got_if_they_are_asked_for():
    body = mpd(period(picture(), VTT))
    plan = planned(body, SelectionPolicy(subtitles=True))

    assert chosen(body) == ["v"]
    assert [(one.kind, one.container, one.language) for one in plan.tracks[1:]] == [
        (TrackKind.SUBTITLES, Container.VTT, "en")
    ]
    assert plan.pieces[-1].url == BASE + "en.vtt"


@pytest.mark.parametrize(
    "more",
    [
        'mimeType="application/mp4" codecs="stpp"',
        'mimeType="application/mp4" codecs="wvtt"',
        'mimeType="text/srt"',
    ],
)
def test_other_subtitles_are_noted_and_left_out(more: str):
    body = mpd(period(picture(), adaptation(EVEN, representation(), more=more)))

    assert chosen(body, subtitles=True) == ["v"]
    assert any("are not read" in note for note in offered(body).notes)


def test_a_ttml_file_is_read_like_a_webvtt_file():
    ttml = VTT.replace("en.vtt", "en.xml").replace("text/vtt", "application/ttml+xml")
    plan = planned(mpd(period(picture(), ttml)), SelectionPolicy(subtitles=True))

    assert [one.container for one in plan.tracks[1:]] == [Container.TTML]
    assert plan.pieces[-1].url == BASE + "en.xml"


def test_subtitles_of_several_periods_know_when_each_plays():
    late = VTT.replace("en.vtt", "late.vtt").replace(
        "</AdaptationSet>", '<SegmentBase presentationTimeOffset="3"/></AdaptationSet>'
    )
    body = mpd(
        period(picture(), VTT, more='start="PT2S"'),
        period(picture(), late, more='start="PT6S"'),
        total="PT9S",
    )
    plan = planned(body, SelectionPolicy(subtitles=True))

    assert [(one.discontinuity, one.shift_s) for one in plan.tracks[1].segments] == [
        (0, 0.0),
        (1, 1.0),
    ]
    assert [one.shift_s for one in plan.tracks[0].segments] == [None] * 2


def test_a_period_without_subtitles_in_their_language_costs_the_video_nothing():
    czech = VTT.replace('lang="en"', 'lang="cs"')
    body = mpd(
        period(picture(), czech, more='duration="PT2S"'), period(picture(), VTT), total="PT9S"
    )
    plan = planned(body, SelectionPolicy(subtitles=True))

    assert [one.discontinuity for one in plan.tracks[1].segments] == [1]
    assert "subtitles (en): 1 of 2 periods have none" in plan.notes


# --- protected, live, elsewhere ---


@pytest.mark.parametrize("where", ["set", "representation"])
def test_what_is_protected_is_refused_by_the_drms_name(where: str):
    own = representation(WIDEVINE + CENC if where == "representation" else "")
    body = mpd(period(adaptation(WIDEVINE + CENC if where == "set" else "", EVEN, own)))

    with pytest.raises(Unsupported, match=r"DRM \(Widevine\)") as caught:
        read(body)
    assert caught.value.reason == "drm_unsupported"


def test_a_scheme_that_names_no_system_protects_too():
    with pytest.raises(Unsupported, match="common encryption"):
        read(mpd(period(picture(inner=CENC))))


def test_sound_that_is_protected_is_no_picture_without_sound():
    body = mpd(period(picture(), adaptation(WIDEVINE, EVEN, representation(id="a"), more=AUDIO)))

    assert reason_of(body) == "drm_unsupported"


def test_what_is_in_the_clear_is_got_and_the_rest_noted():
    body = mpd(period(picture("uhd", 2160, WIDEVINE), picture("sd", 360)))

    assert chosen(body) == ["sd"]
    assert offered(body).notes == ("pictures: 1 of 2 are protected by DRM (Widevine)",)


def test_a_protected_manifest_can_still_be_shown():
    assert fixture("drm.mpd").variants[0].height == 2


def test_a_live_manifest_is_refused():
    assert reason_of(mpd(period(picture()), more='type="dynamic"')) == "live_manifest"


@pytest.mark.parametrize("place", ["period", "set", "list"])
def test_what_lies_elsewhere_is_not_read(place: str):
    there = f'{XLINK} xlink:href="https://other.example/x.xml"'
    inner = f"<SegmentList {there}/>" if place == "list" else EVEN
    sets = adaptation(inner, representation(), more=f"{VIDEO} {there if place == 'set' else ''}")

    body = mpd(period(sets, more=there if place == "period" else ""))

    assert reason_of(body) == "xlink_unsupported"


def test_a_period_that_resolves_to_nothing_is_not_there():
    nothing = f'<Period {XLINK} xlink:href="urn:mpeg:dash:resolve-to-zero:2013"/>'

    assert len(read(mpd(nothing, period(picture())))[1][0].segments) == 2


# --- periods ---


def test_row_25_each_period_ends_where_the_next_begins():
    each = adaptation(template("$RepresentationID$-$Number$", duration=2), representation())
    again = each.replace('id="v"', 'id="w"')
    found = track(mpd(period(each, more='start="PT0S"'), period(again, more='start="PT4S"')))

    assert names(found) == ["v-1", "v-2", "w-1", "w-2"]
    assert [one.discontinuity for one in found.segments] == [0, 0, 1, 1]
    assert [one.sequence for one in found.segments] == [0, 1, 2, 3]
    assert "2 periods are joined one after the other" in found.notes


def test_a_period_begins_where_the_one_before_ends_by_its_own_word():
    found = track(mpd(period(picture(), more='duration="PT4S"'), period(picture()), total="PT9.5S"))

    assert [one.duration_s for one in found.segments] == [4.0, 4.0, 1.5]


@pytest.mark.parametrize(
    "body",
    [
        mpd(period(picture()), period(picture())),
        mpd(period(picture(), more='start="PT5S"'), period(picture(), more='start="PT4S"')),
        mpd(period(picture(), more='start="PT9S"')),
    ],
)
def test_periods_whose_times_contradict_are_refused(body: bytes):
    assert reason_of(body) == "bad_period"


def test_periods_that_last_no_time_or_hold_nothing_are_left_out():
    empty = period(more='start="PT0S"')
    short = period(picture("x"), more='start="PT2S"')
    body = mpd(empty, short, period(picture(), more='start="PT2S"'), total="PT10S")
    found = offered(body)

    assert names(track(body)) == ["v-1", "v-2"]
    assert len(found.notes) == 2


def test_the_longest_period_tells_what_is_offered():
    advertisement = period(picture("ad", 2160), sound("ad-a"), more='duration="PT2S"')
    body = mpd(advertisement, period(picture("film", 720), sound("film-a")), total="PT60S")

    assert chosen(body) == ["film", "film-a"]
    assert names(track(body))[:2] == ["ad-1", "film-1"]


def test_a_track_goes_on_with_what_is_most_like_it():
    first = period(
        picture("v", 720),
        sound("en", "en"),
        sound("cs", "cs"),
        more='duration="PT20S"',
    )
    hevc = 'mimeType="video/mp4" codecs="hvc1.1.6.L93"'
    second = period(
        picture("hevc", 720, more=hevc),
        picture("small", 360),
        picture("near", 700),
        sound("a-cs", "cs"),
        sound("a-en", "en"),
    )
    body = mpd(first, second, total="PT24S")
    _, (pictures, sounds) = read(body, SelectionPolicy(language="en"))

    assert names(pictures)[-1] == "near-1"
    assert names(sounds)[-1] == "a-en-1"


def test_sound_that_goes_on_in_another_language_is_noted():
    body = mpd(
        period(picture(), sound("a", "en"), more='duration="PT8S"'),
        period(picture(), sound("a", "cs")),
        total="PT12S",
    )

    assert "period 2: its sound is in another language: cs" in planned(body).notes


def test_a_period_without_what_the_others_have_is_refused():
    body = mpd(
        period(picture(), sound("a"), more='duration="PT8S"'), period(picture()), total="PT12S"
    )

    assert reason_of(body) == "periods_differ"


HEVC = 'mimeType="video/mp4" codecs="hvc1.1.6.L93"'
VP9 = 'mimeType="video/mp4" codecs="vp09.00.10.08"'


def test_a_period_in_other_codecs_is_refused_by_their_names_before_a_piece_is_got():
    body = mpd(
        period(picture(), more='duration="PT8S"'),
        period(picture("w", 720, more=HEVC)),
        total="PT12S",
    )

    with pytest.raises(Unsupported, match=r"pictures \(avc, 640x360\).*, only .*\(hevc, 1280x720"):
        read(body)


def test_a_period_in_another_size_is_refused_only_where_no_container_holds_it():
    def of(more: str) -> bytes:
        small, large = picture(more=more), picture("w", 720, more=more)
        return mpd(period(small, more='duration="PT8S"'), period(large), total="PT12S")

    assert names(track(of(VIDEO)))[-1] == "w-1"
    assert reason_of(of(VP9)) == "periods_differ"


def test_what_goes_through_all_periods_is_chosen_before_what_ends_with_its_own():
    film = period(picture("hevc", 2160, more=HEVC), picture("avc", 720))
    advertisement = period(picture("ad", 720), more='duration="PT2S"')
    body = mpd(advertisement, film, total="PT60S")

    assert chosen(body) == ["avc"]
    assert "pictures: 1 of 2 have nothing to go on with in another period" in offered(body).notes


def test_files_of_their_own_are_several_periods():
    first, second = (
        adaptation(f"<BaseURL>{name}</BaseURL>", representation()) for name in ("1.mp4", "2.mp4")
    )
    found = track(mpd(period(first, more='duration="PT3S"'), period(second)))

    assert names(found) == ["1.mp4", "2.mp4"]
    assert [one.duration_s for one in found.segments] == [3.0, 5.0]


def test_what_a_timeline_names_outside_its_period_is_not_played():
    timed = template("$Time$", inner=timeline('t="0" d="2" r="3"'))
    later = timed.replace("<SegmentTemplate", '<SegmentTemplate presentationTimeOffset="4"')
    first, second = (adaptation(one, representation()) for one in (timed, later))
    found = track(mpd(period(first, more='duration="PT4S"'), period(second)))

    assert names(found) == ["0", "2", "4", "6"]
    assert [one.clock_s for one in found.segments] == [0.0, 0.0, 4.0, 4.0]


# --- times ---


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("PT8S", 8.0),
        ("PT0H0M8.000S", 8.0),
        ("P0Y0M0DT0H1M2.5S", 62.5),
        ("P1DT1H", 90_000.0),
        ("PT1M.5S", 60.5),
        ("P0DT0S8", None),
        ("8", None),
        ("PT", None),
        ("P1M", None),
        ("-PT8S", None),
        ("PT99999999999S", None),
        ("P999999999D", None),
    ],
)
def test_a_duration_is_read_exactly_or_refused(written: str, seconds: float | None):
    body = one(template(), total=written)
    if seconds is None:
        assert reason_of(body) == "bad_duration"
    else:
        assert track(body).duration_s == seconds


# --- the XML ---


def test_a_prefix_changes_nothing_and_another_namespace_is_not_ours():
    body = one(template(duration=4)).replace(b"<SegmentTemplate", b"<d:SegmentTemplate")
    body = body.replace(b"</SegmentTemplate", b"</d:SegmentTemplate")
    foreign = body.replace(b"<MPD", b'<MPD xmlns:d="urn:other"')
    ours = body.replace(b"<MPD", b'<MPD xmlns:d="urn:mpeg:dash:schema:mpd:2011"')

    assert names(track(ours)) == ["1.m4s", "2.m4s"]
    assert reason_of(foreign) == "no_segments"


EMPTY = mpd("", total=None)
PREFIXED = EMPTY.replace(b"<MPD", b"<m:MPD").replace(b"</MPD", b"</m:MPD")
WAYS = {
    "with a mark": b"\xef\xbb\xbf" + EMPTY,
    "in UTF-16": EMPTY.decode().encode("utf-16"),
    "with something behind": EMPTY + b"\n<junk",
    "with a comment before": EMPTY.replace(b"?>", b"?>\n<!-- <html> -->\n"),
    "without a declaration": EMPTY.partition(b"?>")[2],
    "with a prefix": PREFIXED.replace(b"xmlns=", b"xmlns:m="),
}


@pytest.mark.parametrize("how", WAYS)
def test_how_the_bytes_begin_and_end_does_not_matter(how: str):
    with pytest.raises(Malformed, match="no period"):
        read(WAYS[how])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'<?xml version="1.0"?><rss/>', "not_a_manifest"),
        (b'<?xml version="1.0"?><!DOCTYPE MPD [<!ENTITY a "b">]><MPD/>', "xml_dtd_refused"),
        (b'<?xml version="1.0"?><MPD><Period></MPD>', "bad_xml"),
        (b'<?xml version="1.0" encoding="klingon"?><MPD/>', "bad_xml"),
        (b"<MPD/>", "empty_manifest"),
        (b"<MPD><Period/></MPD>", "empty_manifest"),
        (b"<MPD>" + b"<x>" * 100 + b"</x>" * 100 + b"</MPD>", "too_deep"),
    ],
)
def test_what_is_no_manifest_is_refused_by_name(body: bytes, reason: str):
    assert reason_of(body) == reason


def test_a_manifest_of_any_size_is_not_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.manifests.dash_xml.MAX_MANIFEST_BYTES", 100)

    assert reason_of(b"<MPD>" + b" " * 100 + b"</MPD>") == "manifest_too_large"


def test_an_html_page_is_called_one():
    with pytest.raises(Malformed, match="HTML page"):
        read(b'<?xml version="1.0"?>\n<!DOCTYPE html><html></html>')


def test_a_manifest_that_breaks_off_is_asked_for_again():
    with pytest.raises(Truncated):
        read(one(template(duration=4))[:-3])


@pytest.mark.parametrize(
    ("module", "name", "body"),
    [
        (dash_periods, "MAX_PERIODS", mpd(*[period(picture(), more='duration="PT1S"')] * 3)),
        (dash_representations, "MAX_REPRESENTATIONS", mpd(period(*[picture()] * 3))),
    ],
)
def test_what_there_may_be_of_each_is_bounded(
    module: object, name: str, body: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, name, 2)

    with pytest.raises(TooLarge):
        offered(body)


def test_the_number_of_elements_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.manifests.dash_xml.MAX_ELEMENTS", 5)

    with pytest.raises(TooLarge):
        offered(one(template(inner=timeline(*['d="1"'] * 9))))


def test_a_representation_that_is_not_chosen_may_be_broken():
    broken = adaptation(template("$X$"), representation(id="x", more='bandwidth="1" height="9"'))

    assert names(track(mpd(period(picture(), broken)))) == ["v-1", "v-2"]
