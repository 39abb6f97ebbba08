"""From a choice to a plan."""

from __future__ import annotations

import pytest

from core.errors import Truncated, Unsupported
from core.manifests import MediaPlaylist, SelectionPolicy, build_plan, choose, parse, read_wanted
from core.model.plan import Container, KeyRef, Piece, TrackKind, parse_plan
from core.model.secrecy import Secrecy
from tests.support import dash
from tests.support.manifests import (
    ANYTHING,
    BASE,
    URL,
    media,
    multivariant,
    no_span,
    origin,
    planned,
    segments,
    text,
)
from tests.support.manifests import variant as a_variant


def test_an_address_that_repeats_is_one_piece_at_several_places():
    plan = planned(media(*segments("a.ts", "ad.ts", "b.ts", "ad.ts")))

    assert [piece.url for piece in plan.pieces] == [BASE + "a.ts", BASE + "ad.ts", BASE + "b.ts"]
    assert [one.part.piece for one in plan.tracks[0].segments if one.part] == [0, 1, 2, 1]


def test_one_piece_may_be_used_under_several_ivs():
    key = '#EXT-X-KEY:METHOD=AES-128,URI="k.key"'
    plan = planned(media(key, *segments("a.ts", "a.ts")))
    parts = [one.part for one in plan.tracks[0].segments if one.part]

    assert len(plan.pieces) == 1
    assert [part.key and part.key.iv for part in parts] == [f"{number:032x}" for number in (0, 1)]
    assert plan.key_urls == (BASE + "k.key",)


def test_ranges_of_one_resource_are_pieces_of_their_own():
    lines = ["#EXT-X-BYTERANGE:5@0", *segments("a.mp4"), "#EXT-X-BYTERANGE:7", *segments("a.mp4")]
    plan = planned(media(*lines))

    assert [(piece.start, piece.length) for piece in plan.pieces] == [(0, 5), (5, 7)]


def test_an_init_part_is_one_piece_and_stands_with_every_segment():
    lines = ['#EXT-X-MAP:URI="1.mp4"', *segments("a.m4s", "b.m4s"), "#EXT-X-DISCONTINUITY"]
    lines += [
        '#EXT-X-MAP:URI="2.mp4"',
        *segments("c.m4s"),
        '#EXT-X-MAP:URI="1.mp4"',
        *segments("d.m4s"),
    ]
    plan = planned(media(*lines))
    inits = [plan.pieces[one.init.piece].url for one in plan.tracks[0].segments if one.init]

    assert [url.removeprefix(BASE) for url in inits] == ["1.mp4", "1.mp4", "2.mp4", "1.mp4"]
    assert len(plan.pieces) == 6


def test_a_gap_is_a_hole_that_nothing_is_fetched_for():
    plan = planned(media(*segments("a.ts"), "#EXT-X-GAP", *segments("b.ts", "c.ts")))

    assert plan.has_gaps
    assert plan.tracks[0].gaps == (1,)
    assert [piece.url for piece in plan.pieces] == [BASE + "a.ts", BASE + "c.ts"]
    assert plan.duration_s == 18.0


@pytest.mark.parametrize(
    ("name", "kind", "container"),
    [
        ("a.ts", TrackKind.VIDEO, Container.TS),
        ("a", TrackKind.VIDEO, Container.TS),
        ("a.png", TrackKind.VIDEO, Container.TS),
        ("a.m4s?x=.aac", TrackKind.VIDEO, Container.FMP4),
        ("a.AAC", TrackKind.AUDIO, Container.AAC),
        ("a.mp3", TrackKind.AUDIO, Container.MP3),
        ("a.vtt", TrackKind.SUBTITLES, Container.VTT),
    ],
)
def test_a_lone_playlists_segments_tell_what_it_is(
    name: str, kind: TrackKind, container: Container
):
    track = planned(media(*segments(name))).tracks[0]

    assert (track.kind, track.container) == (kind, container)


def test_an_init_part_tells_fragmented_mp4():
    track = planned(media('#EXT-X-MAP:URI="i"', *segments("a"))).tracks[0]

    assert track.container is Container.FMP4


def test_segments_of_several_kinds_are_noted():
    plan = planned(media(*segments("a.ts", "b.m4s")))

    assert plan.notes == ("video: the segments are of several kinds: ts, fmp4",)


def test_pictures_sound_and_subtitles_are_tracks_of_one_plan():
    above = multivariant(
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Main",LANGUAGE="en",URI="a.m3u8"',
        '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",URI="s.m3u8"',
        *a_variant(
            "v.m3u8", resolution="640x360", audio="a", subtitles="s", codecs="avc1.4d,mp4a.40.2"
        ),
    )
    bodies = {
        "v.m3u8": text(*segments("v0.m4s", "v1.m4s"), "#EXT-X-ENDLIST"),
        "a.m3u8": text(*segments("a0.aac", "a1.aac"), "#EXT-X-ENDLIST"),
        "s.m3u8": text(*segments("s0.vtt"), "#EXT-X-ENDLIST"),
    }
    choice = choose(above, SelectionPolicy(subtitles=True))
    read = read_wanted(above, choice, lambda url: (bodies[url.removeprefix(BASE)], url), no_span)
    plan = build_plan(origin(), choice, read)

    assert [(track.kind, track.container, track.language) for track in plan.tracks] == [
        (TrackKind.VIDEO, Container.FMP4, None),
        (TrackKind.AUDIO, Container.AAC, "en"),
        (TrackKind.SUBTITLES, Container.VTT, "en"),
    ]
    assert (plan.tracks[0].width, plan.tracks[0].height) == (640, 360)
    assert plan.final_urls == (URL, BASE + "v.m3u8", BASE + "a.m3u8", BASE + "s.m3u8")
    assert len(plan.pieces) == 5


def test_a_manifest_that_is_a_media_playlist_is_not_asked_for_twice():
    found = media(*segments("a.ts"))

    def nothing(url: str) -> tuple[bytes, str]:
        raise AssertionError(url)

    assert read_wanted(found, choose(found, SelectionPolicy()), nothing, no_span) == [found]


def test_variables_reach_the_playlists_that_import_them():
    above = multivariant('#EXT-X-DEFINE:NAME="h",VALUE="x"', *a_variant("v.m3u8"))
    body = text('#EXT-X-DEFINE:IMPORT="h"', *segments("{$h}.ts"), "#EXT-X-ENDLIST")
    choice = choose(above, SelectionPolicy())
    (read,) = read_wanted(above, choice, lambda url: (body, url), no_span)

    assert read.segments[0].url == BASE + "x.ts"


def test_a_live_manifest_is_refused_and_a_cut_one_asked_for_again():
    live, cut = parse(text(*segments("a.ts")), URL), parse(text(*segments("a.ts"))[:-1], URL)
    assert isinstance(live, MediaPlaylist)
    assert isinstance(cut, MediaPlaylist)

    with pytest.raises(Unsupported, match="live"):
        planned(live)
    with pytest.raises(Truncated):
        planned(cut)


def test_no_secret_of_the_source_is_in_a_plan():
    lines = [
        '#EXT-X-KEY:METHOD=AES-128,URI="k?key=hush&n=1",IV=0x1',
        '#EXT-X-MAP:URI="i.mp4?key=hush"',
    ]
    found = media(*lines, *segments("a.m4s?key=hush"), url=URL + "?key=hush")
    plan = planned(found, secrecy=Secrecy(frozenset(["key"])))

    assert b"hush" not in plan.to_json()
    assert plan.key_urls == (BASE + "k?n=1",)


TOKEN_VALUE = "hush-and-nobody-hears"
KNOWN = Secrecy(values=(TOKEN_VALUE,))


def test_a_secret_that_the_manifest_puts_into_addresses_is_known_by_its_value():
    lines = [
        f'#EXT-X-KEY:METHOD=AES-128,URI="k?any={TOKEN_VALUE}&n=1",IV=0x1',
        f'#EXT-X-MAP:URI="i.mp4?any={TOKEN_VALUE}"',
    ]
    found = media(*lines, *segments(f"a.m4s?any={TOKEN_VALUE}"), url=f"{URL}?x={TOKEN_VALUE}")
    plan = planned(found, secrecy=KNOWN)

    assert TOKEN_VALUE.encode() not in plan.to_json()
    assert plan.key_urls == (BASE + "k?n=1",)
    assert plan.pieces[-1].url == BASE + "a.m4s"


def test_a_secret_in_what_a_manifest_calls_things_is_struck_out():
    lines = [
        f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="{TOKEN_VALUE}",URI="s.m3u8"',
        *a_variant("v.m3u8", audio="a"),
    ]
    above = multivariant(*lines)
    choice = choose(above, ANYTHING)
    body = text("#EXT-X-TARGETDURATION:6", *segments("a.ts"), "#EXT-X-ENDLIST")
    read = read_wanted(above, choice, lambda url: (body, url), no_span)
    plan = build_plan(origin(secrecy=KNOWN), choice, read)

    assert TOKEN_VALUE.encode() not in plan.to_json()
    assert plan.tracks[1].name == "***"


# --- the query that goes on (row 18) ---

TOKEN = "?access_token=T&v=2"


def asked(url: str, *lines: str, **changes: object) -> list[str]:
    """The addresses of the pieces of a manifest with a query."""
    plan = planned(media(*lines, url=url), inherit_query=True, **changes)
    return [piece.url for piece in plan.pieces]


def test_row_18_by_default_no_query_goes_on():
    plan = planned(media(*segments("a.ts"), url=URL + TOKEN))

    assert [piece.url for piece in plan.pieces] == [BASE + "a.ts"]


def test_row_18_the_query_goes_with_pieces_and_keys_of_the_same_host():
    key = '#EXT-X-KEY:METHOD=AES-128,URI="k.key",IV=0x1'
    lines = [key, '#EXT-X-MAP:URI="i.mp4",BYTERANGE="5@0"', *segments("a.m4s")]
    plan = planned(media(*lines, url=URL + TOKEN), inherit_query=True)

    assert [piece.url for piece in plan.pieces] == [
        BASE + "i.mp4" + TOKEN,
        BASE + "a.m4s" + TOKEN,
    ]
    assert plan.key_urls == (BASE + "k.key" + TOKEN,)


def test_row_18_a_piece_keeps_its_own_parameters():
    assert asked(URL + TOKEN, *segments("a.ts?v=1")) == [BASE + "a.ts?v=1&access_token=T"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://other.example/a.ts",
        "https://media.example.com:8443/a.ts",
        "http://media.example.com/a.ts",
        "https://media.example.com.other.example/a.ts",
    ],
)
def test_row_18_no_query_goes_to_another_host_port_or_scheme(elsewhere: str):
    assert asked(URL + TOKEN, *segments(elsewhere)) == [elsewhere]


def test_row_18_a_redirect_to_another_host_takes_no_query_along():
    final = "https://cdn.example/hls/index.m3u8"
    found = media(*segments("a.ts", BASE + "b.ts"), url=final)
    plan = build_plan(
        origin(URL + TOKEN, final_url=final, inherit_query=True), choose(found, ANYTHING), [found]
    )

    assert [piece.url for piece in plan.pieces] == [
        "https://cdn.example/hls/a.ts",
        BASE + "b.ts" + TOKEN,
    ]


def test_row_18_the_query_goes_with_a_variants_playlist():
    above = multivariant(*a_variant("v.m3u8"), url=URL + TOKEN)
    body = text(*segments("a.ts"), "#EXT-X-ENDLIST")
    seen: list[str] = []

    def get(url: str) -> tuple[bytes, str]:
        seen.append(url)
        return body, url

    read_wanted(above, choose(above, ANYTHING), get, no_span, query_of=[URL + TOKEN])

    assert seen == [BASE + "v.m3u8" + TOKEN]


def test_row_18_the_query_goes_with_dash_too():
    body = dash.one(dash.template(duration=4))
    plan = dash.planned(body, url=dash.URL + TOKEN, inherit_query=True)

    assert [piece.url for piece in plan.pieces] == [
        dash.BASE + f"{number}.m4s{TOKEN}" for number in (1, 2)
    ]


def test_row_18_a_secret_of_the_source_still_goes_into_no_plan():
    plan = planned(
        media(*segments("a.ts"), url=URL + "?key=hush&n=1"),
        inherit_query=True,
        secrecy=Secrecy(frozenset(["key"])),
    )

    assert b"hush" not in plan.to_json()
    assert plan.pieces[0].url == BASE + "a.ts?n=1"


def test_a_plan_survives_its_json():
    key = '#EXT-X-KEY:METHOD=AES-128,URI="k.key"'
    lines = [key, *segments("a.ts"), "#EXT-X-GAP", *segments("b.ts"), "#EXT-X-BYTERANGE:5@0"]
    plan = planned(media(*lines, *segments("c.ts")))

    assert parse_plan(plan.to_json()) == plan
    assert plan.pieces[1] == Piece(url=BASE + "c.ts", start=0, length=5)
    assert plan.tracks[0].segments[2].part
    assert plan.tracks[0].segments[2].part.key == KeyRef(url=BASE + "k.key", iv=f"{2:032x}")


def test_eighteen_thousand_segments_are_planned_within_a_few_megabytes():
    names = (f"seg-{number:06d}.m4s" for number in range(18_000))
    key = '#EXT-X-KEY:METHOD=AES-128,URI="https://keys.example.com/k?id=1"'
    plan = planned(media(key, *segments(*names)))

    assert len(plan.pieces) == 18_000
    assert len(plan.to_json()) < 6_000_000
