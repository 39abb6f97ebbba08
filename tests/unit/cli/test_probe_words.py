"""What a probe says."""

from __future__ import annotations

import json

from core.cli.probe_words import ManifestFound, Refusal, is_refused, record, refusal_record, told
from core.manifests import SelectionPolicy, choose
from core.manifests.select import Choice
from tests.support import dash
from tests.support.manifests import (
    ANYTHING,
    URL,
    fixture,
    media,
    multivariant,
    planned,
    segments,
    variant,
)


def test_a_gap_is_told():
    found = media("#EXT-X-GAP", *segments("a.ts", "b.ts"))
    lines = list(
        told(ManifestFound(found.url, found, choose(found, SelectionPolicy()), planned(found)))
    )

    assert "video      2 segments of ts, 12 s, not encrypted, 1 gap: the source lacks them" in lines


def test_nothing_in_a_manifest_can_colour_a_terminal():
    offer = multivariant(*variant("v", codecs="\x1b[31mred"))
    lines = list(told(ManifestFound(offer.url, offer, choose(offer, SelectionPolicy()), None)))

    assert not any("\x1b" in line for line in lines)


def test_the_subtitles_and_the_sound_inside_the_video_are_shown():
    offer = fixture("master.m3u8")
    lines = list(
        told(ManifestFound(offer.url, offer, choose(offer, SelectionPolicy(subtitles=True)), None))
    )

    assert "  audio    In the video group muxed default inside the video" in lines
    assert "* subtitles English (en) group subs" in lines


def test_sound_inside_a_variant_is_said_to_be_in_it():
    offer = multivariant(
        *variant("both", codecs="avc1.64001f,mp4a.40.2"),
        *variant("silent", codecs="avc1.64001f"),
    )
    choice = choose(offer, SelectionPolicy())
    rows = list(told(ManifestFound(offer.url, offer, choice, None)))[2:4]

    assert ["in it" in row for row in rows] == [True, False]


def test_a_refusal_is_told_last():
    offer = multivariant(*variant("v"))
    choice: Choice = choose(offer, SelectionPolicy())
    found = ManifestFound(offer.url, offer, choice, None, Refusal("live_manifest", "it is live"))

    assert is_refused(found)
    assert list(told(found))[-1] == "refused    live_manifest: it is live"
    assert record(found)["refused"] == {"reason": "live_manifest", "message": "it is live"}


def test_no_signature_is_shown():
    offer = multivariant(*variant("v?sig=hush"))
    found = ManifestFound(offer.url, offer, choose(offer, SelectionPolicy()), None)

    assert "hush" not in str(record(found))
    assert "hush" not in str(refusal_record("https://a.example/x?sig=hush", Refusal("r", "m")))


def test_a_secret_that_a_site_writes_into_its_manifest_is_not_shown():
    offer = multivariant(*variant("v?mine=hush"))
    choice = choose(offer, SelectionPolicy())

    assert "hush" not in str(
        record(ManifestFound(URL, offer, choice, None, secret_names=("mine",)))
    )


# --- DASH ---

SOUND = dash.adaptation(
    dash.template("a-$Number$", duration=4),
    dash.representation(id="a", more='bandwidth="96000"'),
    more=f'{dash.AUDIO} lang="en"',
)
PICTURE = dash.adaptation(
    dash.template("v-$Number$", duration=4),
    dash.representation(more='bandwidth="1500000" width="640" height="360"'),
)


def presented(body: bytes, url: str = dash.URL) -> ManifestFound:
    offer = dash.offered(body, url)
    return ManifestFound(url, offer, choose(offer, ANYTHING), dash.planned(body, url=url))


def test_a_dash_manifest_is_shown_as_an_hls_one_is():
    lines = list(told(presented(dash.mpd(dash.period(PICTURE, SOUND)))))

    assert lines[0] == f"DASH manifest {dash.URL}"
    assert "640x360" in lines[2]
    assert "* audio    a (en) mp4a.40.2 96 kbit/s group audio default" in lines
    assert "video      2 segments of fmp4, 8.0 s, not encrypted" in lines


def test_a_dash_manifest_is_told_to_programs():
    found = record(presented(dash.mpd(dash.period(PICTURE, SOUND)), dash.URL + "?sig=hush"))

    assert (found["what"], found["fragments"], found["duration_s"]) == ("dash", 4, 8.0)
    assert found["chosen"] == [f"{dash.URL}?sig=***#v", f"{dash.URL}?sig=***#a"]
    assert found["variants"][0]["height"] == 360
    assert json.loads(json.dumps(found)) == found
