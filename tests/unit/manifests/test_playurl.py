"""Bilibili's playurl answers: what is offered, what is chosen of it, and of what it is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core import errors
from core.manifests import (
    READABLE,
    MediaPlaylist,
    Multivariant,
    Origin,
    SelectionPolicy,
    build_plan,
    choose,
    parse,
    read_wanted,
    refusal_of,
    refusing_statuses,
)
from core.manifests.playurl_qualities import qualities
from core.model.plan import Container, Plan, TrackKind, parse_plan
from tests.support.manifests import no_span

DATA = Path(__file__).parents[2] / "data" / "sources" / "bilibili_video"
URL = "https://api.bilibili.com/x/player/playurl?bvid=BV1fakeAA001&cid=88001"
TOLD = json.loads((DATA / "expected.json").read_text("utf-8"))
DASH = "playurl_dash_88001.json"
SILENT = "playurl_dash_88002_silent_snake_only.json"
SINGLE = "playurl_durl_single.json"
PARTS = "playurl_durl_parts_flv.json"
HOST = "https://upos-a.bilivid.test"


def recorded(name: str) -> bytes:
    return (DATA / name).read_bytes()


def expected(name: str) -> dict[str, Any]:
    (record,) = TOLD["records"][name]
    return record


def changed(name: str, **data: object) -> bytes:
    """A recorded answer with other fields."""
    answer = json.loads(recorded(name))
    answer["data"] |= data
    return json.dumps(answer).encode()


def dash(**tracks: object) -> bytes:
    told = json.loads(recorded(DASH))["data"]["dash"]
    return changed(DASH, dash=told | tracks)


def durl(*parts: object, **data: object) -> bytes:
    return changed(PARTS, durl=list(parts), **data)


def part(order: int | None, **more: object) -> dict[str, object]:
    told = {"order": order, "length": 50_000, "size": 9, "url": f"{HOST}/{order}.flv"}
    return {name: value for name, value in (told | more).items() if value is not None}


def nothing_more(url: str) -> tuple[bytes, str]:
    raise AssertionError(f"{url} was asked for: all stands in the answer")


def plan_of(body: bytes, **policy: Any) -> Plan:
    found = parse(body, URL)
    choice = choose(found, SelectionPolicy(**policy))
    origin = Origin("m1", "bilibili", URL, URL, "0" * 64)
    return build_plan(origin, choice, read_wanted(found, choice, nothing_more, no_span))


def offered(name: str) -> Multivariant:
    found = parse(recorded(name), URL)
    assert isinstance(found, Multivariant)
    return found


# --- dash ---


@pytest.mark.parametrize("name", [DASH, SILENT])
def test_the_recorded_pictures_are_offered_best_first(name):
    told = [one for one in expected(name)["variants"] if one["role"] == "video"]
    pictures = {one.url: one for one in offered(name).variants}.values()

    assert [
        {
            "id": int(one.url.split("/")[-2]),
            "codecid": int(one.url.split("/")[-1]),
            "codecs": (one.codecs or "").split(",")[0],
            "bandwidth": one.bandwidth,
            "width": one.width,
            "height": one.height,
            "frame_rate": f"{one.frame_rate:.3f}",
        }
        for one in pictures
    ] == [
        {
            name: one[name]
            for name in (
                *("id", "codecid", "codecs", "bandwidth", "width", "height", "frame_rate"),
            )
        }
        for one in told
    ]


@pytest.mark.parametrize("name", [DASH, SILENT])
def test_the_recorded_sounds_are_offered(name):
    told = [one for one in expected(name)["variants"] if one["role"] == "audio"]
    sounds = offered(name).renditions

    assert sorted((one.codecs, one.bandwidth) for one in sounds) == sorted(
        (one["codecs"], one["bandwidth"]) for one in told
    )


@pytest.mark.parametrize("name", [DASH, SILENT])
def test_every_recorded_track_leads_to_all_its_addresses(name):
    found = offered(name)
    inlines = {one.url: one.inline for one in (*found.variants, *found.renditions)}
    playlists = [inline(no_span) for inline in inlines.values() if inline is not None]

    assert sorted(
        (one.segments[0].url, *one.segments[0].alternatives) for one in playlists
    ) == sorted((one["url"], *one["backup_urls"]) for one in expected(name)["variants"])


@pytest.mark.parametrize("name", [DASH, SILENT])
def test_the_recorded_choice_is_planned(name):
    told = expected(name)["manifest"]
    plan = plan_of(recorded(name))

    assert [piece.url for piece in plan.pieces] == [
        url for url in (told["video"], told["audio"]) if url
    ]
    assert plan.duration_s == expected(name)["duration_s"]
    assert {track.container for track in plan.tracks} == {Container.FMP4}


def test_a_planned_piece_says_how_it_is_asked_for():
    piece = plan_of(recorded(DASH)).pieces[0]

    assert json.loads(piece.ref or "") == {"playurl": URL, "pick": "video/80/7"}
    assert piece.headers == (("Range", "bytes=0-"),)
    assert (piece.start, piece.length) == (None, None)
    assert [url.split("/")[2] for url in piece.alternatives] == [
        "upos-b.bilivid.test",
        "xy10x0x0x1xy.mcdn.bilivid.test:4483",
    ]


def test_a_size_that_is_told_is_planned():
    plan = plan_of(recorded(DASH), max_height=480)

    assert plan.pieces[0].size_bytes == 12500321


def test_a_kept_plan_has_it_all():
    plan = plan_of(recorded(PARTS))

    assert parse_plan(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("policy", "picture", "sound"),
    [
        ({"max_height": 720}, "30064", "30280"),
        ({"max_height": 480}, "30032", "30280"),
        ({"codecs": ("hevc",)}, "30077", "30280"),
        ({"max_height": 480, "codecs": ("av1",)}, "100023", "30280"),
        ({"codecs": ("avc", "flac")}, "30080", "30251"),
    ],
)
def test_the_policy_chooses(policy, picture, sound):
    plan = plan_of(recorded(DASH), **policy)

    assert [piece.url.partition("?")[0].rpartition("-")[2] for piece in plan.pieces] == [
        f"{picture}.m4s",
        f"{sound}.m4s",
    ]


def test_a_silent_video_has_one_track():
    plan = plan_of(recorded(SILENT))

    assert [track.kind for track in plan.tracks] == [TrackKind.VIDEO]
    assert (plan.tracks[0].width, plan.tracks[0].height) == (720, 1280)


def test_peer_nodes_are_asked_last():
    track = json.loads(recorded(DASH))["data"]["dash"]["video"][0]
    peer, own = track["backupUrl"][1], track["baseUrl"]
    swapped = {"baseUrl": peer, "base_url": peer, "backupUrl": [own], "backup_url": None}

    piece = plan_of(dash(video=[track | swapped])).pieces[0]

    assert (piece.url, piece.alternatives) == (own, (peer,))


def test_a_null_in_one_spelling_leaves_the_other():
    track = json.loads(recorded(DASH))["data"]["dash"]["video"][0]

    piece = plan_of(dash(video=[track | {"baseUrl": None, "backupUrl": None}])).pieces[0]

    assert piece.url == track["base_url"]
    assert len(piece.alternatives) == 2


def test_one_bad_track_costs_no_other():
    video = json.loads(recorded(DASH))["data"]["dash"]["video"]
    bad = [None, 5, {"id": 120}, {"id": 120, "baseUrl": "ftp://x/y"}]

    plan = plan_of(dash(video=[*bad, *video]))

    assert "30080.m4s" in plan.pieces[0].url


def test_encrypted_sound_is_left_out_with_a_note():
    audio = json.loads(recorded(DASH))["data"]["dash"]["audio"]
    found = parse(dash(audio=[audio[0] | {"id": 100009}, *audio]), URL)

    assert isinstance(found, Multivariant)
    assert not any("100009" in (one.name or "") for one in found.renditions)
    assert found.notes == ("sound 100009 is encrypted and left out",)


def test_lossless_sound_is_got_where_there_is_no_other():
    plan = plan_of(dash(audio=None))

    assert "30251.m4s" in plan.pieces[1].url


# --- durl ---


def test_a_single_mp4_is_planned_with_its_size():
    told = expected(SINGLE)
    plan = plan_of(recorded(SINGLE))
    (piece,) = plan.pieces

    assert (piece.url, piece.size_bytes) == (told["url"], told["expected_size"])
    assert list(piece.alternatives) == told["variants"][0]["backup_urls"]
    assert plan.tracks[0].container is Container.FMP4
    assert plan.duration_s == told["duration_s"]


def test_flv_parts_are_planned_in_their_order_each_with_its_size():
    told = expected(PARTS)["variants"]
    plan = plan_of(recorded(PARTS))

    assert [(piece.url, piece.size_bytes) for piece in plan.pieces] == [
        (one["url"], one["size"]) for one in told
    ]
    assert [one.duration_s for one in plan.tracks[0].segments] == [
        one["duration_s"] for one in told
    ]
    assert plan.tracks[0].container is Container.FLV


def test_each_part_is_a_stretch_of_its_own():
    plan = plan_of(recorded(PARTS))

    assert [one.discontinuity for one in plan.tracks[0].segments] == [0, 1]


def test_three_parts_are_three_pieces():
    """Row 19: only the first FLV part was downloaded."""
    plan = plan_of(durl(part(1), part(2), part(3), timelength=150_000))

    assert [piece.url for piece in plan.pieces] == [f"{HOST}/{n}.flv" for n in (1, 2, 3)]
    assert [piece.size_bytes for piece in plan.pieces] == [9, 9, 9]


def test_parts_without_numbers_play_as_they_stand():
    parts = [part(None, url=f"{HOST}/{name}.flv") for name in "ab"]

    plan = plan_of(durl(*parts, timelength=100_000))

    assert [piece.url for piece in plan.pieces] == [f"{HOST}/a.flv", f"{HOST}/b.flv"]


@pytest.mark.parametrize(
    "parts",
    [
        [part(1), part(3)],
        [part(1), part(1)],
        [part(1), None, part(3)],
        [part(1), part(2, url=None)],
        [part(1), part(2, url="ftp://x/y")],
    ],
)
def test_a_part_that_lacks_is_named_and_nothing_is_planned(parts):
    with pytest.raises(errors.Malformed) as caught:
        parse(durl(*parts, timelength=100_000), URL)
    assert caught.value.reason == "missing_part"


# --- refusals ---


@pytest.mark.parametrize(
    ("file", "kind", "reason"),
    [
        ("playurl_voucher.json", errors.SignedOut, "challenge"),
        ("playurl_vip_only_-10403.json", errors.Forbidden, "permission"),
        ("nav_anonymous_-101.json", errors.SignedOut, "signed_out"),
    ],
)
def test_a_recorded_refusal_is_what_it_means(file, kind, reason):
    with pytest.raises(kind) as caught:
        parse(recorded(file), URL)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "body",
    [
        changed(SINGLE, accept_description=["试看 6 分钟"]),
        changed(SINGLE, is_preview=1),
        durl(part(1), timelength=2_400_000),
    ],
)
def test_a_preview_is_refused_by_name(body):
    with pytest.raises(errors.Forbidden) as caught:
        parse(body, URL)
    assert caught.value.reason == "preview_only"


@pytest.mark.parametrize(
    "body",
    [
        changed(DASH, is_drm=True),
        dash(video=[{"id": 80, "baseUrl": f"{HOST}/v", "widevine_pssh": "AAAA"}]),
    ],
)
def test_a_protected_video_is_refused_by_name(body):
    with pytest.raises(errors.Unsupported) as caught:
        parse(body, URL)
    assert caught.value.reason == "drm"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>please wait</html>", "bad_json"),
        (b"[]", "not_an_answer"),
        (b'{"code":0,"data":{}}', "empty_manifest"),
        (changed(DASH, dash={"video": [], "audio": []}), "empty_manifest"),
        (changed(DASH, timelength=None, dash={"video": [{"id": 1}]}), "no_duration"),
        (b"[" * 200_000, "too_deep"),
    ],
)
def test_what_offers_nothing_is_malformed(body, reason):
    with pytest.raises(errors.Malformed) as caught:
        parse(body, URL)
    assert caught.value.reason == reason


def test_a_risk_page_is_a_challenge():
    with pytest.raises(errors.SignedOut):
        parse(b"<script>window._riskdata_={}</script>", URL)


def test_a_cut_answer_is_asked_for_again():
    whole = json.dumps(json.loads(recorded(DASH))).encode()

    for length in range(1, len(whole), 11):
        with pytest.raises(errors.Truncated):
            parse(whole[:length].rstrip(b"}"), URL)


def test_an_error_shows_no_signature():
    with pytest.raises(errors.Malformed) as caught:
        parse(b"{}", "https://api.bilibili.com/x/player/playurl?token=hidden")
    assert "hidden" not in str(caught.value)


# --- how it is known ---


def test_an_answer_is_known_by_its_address_and_nothing_else():
    hls = b"#EXTM3U\n#EXTINF:1,\n/a.ts\n#EXT-X-ENDLIST\n"

    assert isinstance(parse(hls, "https://media.example/index.m3u8"), MediaPlaylist)
    with pytest.raises(errors.Malformed):
        parse(recorded(DASH), "https://media.example/index.m3u8")
    assert "playurl" in READABLE


def test_a_status_that_refuses_this_machine_means_hours():
    refusal = refusal_of(URL)

    assert refusing_statuses(URL) == {412}
    assert isinstance(refusal, errors.Throttled)
    assert refusing_statuses("https://media.example/index.m3u8") == frozenset()


def test_a_file_has_no_more_than_four_alternatives():
    track = json.loads(recorded(DASH))["data"]["dash"]["video"][0]
    many = [f"{HOST}/{number}.m4s" for number in range(40)]
    piece = plan_of(dash(video=[track | {"backupUrl": many, "backup_url": many}])).pieces[0]

    assert len(piece.alternatives) == 4


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (
            {
                "accept_quality": [112, 80, 125],
                "accept_description": ["高清 1080P+", "x", "HDR 真"],
            },
            {112: "1080P+", 80: "x", 125: "HDR"},
        ),
        (
            {"support_formats": [{"quality": 80, "new_description": "1080P 高清"}]},
            {80: "1080P 高清"},
        ),
        ({"accept_quality": "x", "accept_description": [1], "support_formats": [5, {}]}, {}),
        ({"accept_quality": [80], "accept_description": ["杜比"]}, {80: "杜比"}),
        ({"accept_quality": [80, None], "accept_description": [None, "x"]}, {}),
    ],
)
def test_a_quality_is_called_as_its_source_calls_it(data, names):
    assert qualities(data) == names


def test_pictures_tell_what_they_are_called_and_sound_does_not():
    names = {variant.name for variant in offered(DASH).variants}

    assert names <= {"4K", "1080P", "720P", "480P", None}
    assert "1080P" in names
