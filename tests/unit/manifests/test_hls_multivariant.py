"""The rules of a multivariant playlist."""

from __future__ import annotations

import pytest

from core.errors import HeadraceError, Malformed, TooLarge, Truncated, Unsupported
from core.manifests import hls_multivariant as limits
from core.manifests import parse, parse_media
from core.manifests.playlists import RenditionKind
from tests.support.manifests import BASE, URL, multivariant, segments, text, variant


def test_numbers_that_can_not_be_believed_are_not_told():
    found = multivariant(
        *variant("a.m3u8", bandwidth="-5", resolution="0x0", **{"frame-rate": "NaN"}),
        *variant("b.m3u8", bandwidth="9" * 30, resolution="999999x999999"),
    )

    assert [(one.bandwidth, one.width, one.height, one.frame_rate) for one in found.variants] == [
        (0, None, None, None)
    ] * 2
    assert len(found.notes) == 2


def test_blank_lines_and_comments_may_stand_before_a_variants_address():
    found = multivariant("#EXT-X-STREAM-INF:BANDWIDTH=1", "", "# words", "a.m3u8")

    assert found.variants[0].url == BASE + "a.m3u8"


def test_a_rendition_without_an_address_is_inside_the_variant():
    found = multivariant('#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x"', *variant("a.m3u8"))

    assert found.renditions[0].url is None


def test_a_rendition_of_a_kind_we_do_not_know_is_noted():
    found = multivariant('#EXT-X-MEDIA:TYPE=SMELL,GROUP-ID="a",NAME="x"', *variant("a.m3u8"))

    assert (found.renditions, len(found.notes)) == ((), 1)


def test_closed_captions_are_inside_the_video():
    tag = '#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="x",INSTREAM-ID="CC1"'
    found = multivariant(tag, *variant("a.m3u8"))

    assert found.renditions[0].kind is RenditionKind.CLOSED_CAPTIONS


def test_i_frame_streams_are_counted_and_never_offered():
    tag = '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=9,URI="i.m3u8"'
    found = multivariant(tag, *variant("a.m3u8"))

    assert (found.i_frame_streams, len(found.variants)) == (1, 1)


def test_renditions_without_a_variant_are_nothing_to_choose_from():
    with pytest.raises(Malformed) as caught:
        multivariant('#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="a.m3u8"')

    assert caught.value.reason == "empty_manifest"


def test_a_manifest_that_breaks_off_within_a_variant_is_asked_for_again():
    with pytest.raises(Truncated):
        multivariant(*variant("a.m3u8"), "#EXT-X-STREAM-INF:BANDWIDTH=1")


def test_a_variant_without_an_address_is_refused_not_dropped():
    with pytest.raises(Malformed) as caught:
        multivariant("#EXT-X-STREAM-INF:BANDWIDTH=1", *variant("a.m3u8"))

    assert caught.value.reason == "stream_inf_without_address"


@pytest.mark.parametrize(
    ("bound", "lines"),
    [
        ("MAX_VARIANTS", variant("a.m3u8") * 3),
        ("MAX_RENDITIONS", ['#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a"'] * 3),
    ],
)
def test_an_endless_offer_is_refused(monkeypatch: pytest.MonkeyPatch, bound: str, lines: list[str]):
    monkeypatch.setattr(limits, bound, 2)

    with pytest.raises(TooLarge):
        multivariant(*lines)


def test_a_nest_of_multivariant_manifests_is_refused_by_name():
    with pytest.raises(Unsupported) as caught:
        parse_media(text(*variant("a.m3u8")), URL)

    assert caught.value.reason == "nested_manifest"


def test_a_media_playlist_is_what_a_variant_leads_to():
    body = text(*segments("a.ts"), "#EXT-X-ENDLIST")

    assert parse_media(body, URL) == parse(body, URL)


def test_a_variant_that_is_no_http_address_is_refused():
    with pytest.raises(HeadraceError) as caught:
        multivariant(*variant("file:///etc/passwd"))

    assert caught.value.reason == "address_refused"
