"""What a probe says."""

from __future__ import annotations

from core.cli.probe_words import ManifestFound, Refusal, is_refused, record, refusal_record, told
from core.manifests import SelectionPolicy, choose
from core.manifests.select import Choice
from tests.support.manifests import URL, fixture, media, multivariant, planned, segments, variant


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
