"""The rules of a media playlist, one by one."""

from __future__ import annotations

import pytest

from core.errors import AddressRefused, HeadraceError, Malformed, TooLarge, Truncated, Unsupported
from core.manifests import MediaPlaylist, parse, parse_media
from core.manifests import hls_media as limits
from core.manifests.playlists import ByteRange
from tests.support.manifests import BASE, URL, media, segments, text


def reason_of(*lines: str) -> str:
    with pytest.raises(HeadraceError) as caught:
        media(*lines)
    return caught.value.reason


# --- addresses ---


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a.ts", BASE + "a.ts"),
        ("../x/a.ts", "https://media.example.com/x/a.ts"),
        ("/a.ts?k=1,2", "https://media.example.com/a.ts?k=1,2"),
        ("//cdn.example.com/a.ts", "https://cdn.example.com/a.ts"),
        ("http://cdn.example.com/a.ts", "http://cdn.example.com/a.ts"),
        ("a b.ts#part", BASE + "a%20b.ts"),
    ],
)
def test_an_address_is_made_absolute_against_the_final_one(written: str, meant: str):
    assert media(*segments(written)).segments[0].url == meant


def test_the_manifests_query_is_not_inherited():
    found = media(*segments("a.ts"), url=URL + "?token=secret")

    assert found.segments[0].url == BASE + "a.ts"


@pytest.mark.parametrize("written", ["file:///etc/passwd", "data:text/plain,x", "ftp://a.test/b"])
def test_only_http_is_asked_for(written: str):
    with pytest.raises(AddressRefused) as caught:
        media(*segments(written))

    assert caught.value.reason == "address_refused"


@pytest.mark.parametrize(
    "written", ["http://", "http://[::1/a.ts", "http://a.test:99999/b", "a\x07.ts", "x" * 9000]
)
def test_what_is_no_address_is_malformed(written: str):
    assert reason_of(*segments(written)) == "bad_address"


def test_an_address_that_is_not_utf8_is_refused_but_a_title_may_be_anything():
    body = "#EXTM3U\n#EXTINF:6,Glück\na.ts\n#EXT-X-ENDLIST\n".encode("latin-1")
    found = parse(body, URL)

    assert found.notes == ("not all of the manifest is UTF-8",)
    with pytest.raises(Malformed, match="no address"):
        parse(body.replace(b"a.ts", b"\xfc.ts"), URL)


# --- durations ---


@pytest.mark.parametrize(
    ("written", "duration_s", "title"),
    [
        ("6", 6.0, None),
        ("6.006,", 6.006, None),
        ("6.006,one, two", 6.006, "one, two"),
        (" 4.5 ,x", 4.5, "x"),
        (".5,", 0.5, None),
        ("0,", 0.0, None),
    ],
)
def test_a_duration_and_its_title_are_read(written: str, duration_s: float, title: str | None):
    segment = media(f"#EXTINF:{written}", "a.ts").segments[0]

    assert (segment.duration_s, segment.title) == (duration_s, title)


@pytest.mark.parametrize(
    "written", ["", "-1,", "nan", "inf", "1e9", "9999999999", "2000000,", "x,", "6 6,", "\u0666,"]
)
def test_a_duration_that_can_not_be_believed_is_malformed(written: str):
    assert reason_of(f"#EXTINF:{written}", "a.ts") == "bad_duration"


def test_an_address_without_a_duration_is_refused_not_dropped():
    assert reason_of(*segments("a.ts"), "b.ts") == "address_without_extinf"


def test_a_duration_without_an_address_is_refused_not_dropped():
    assert reason_of("#EXTINF:6,", *segments("b.ts")) == "extinf_without_address"


# --- byte ranges ---


def test_a_range_without_offset_follows_the_one_before():
    found = media(
        "#EXTINF:4,",
        "#EXT-X-BYTERANGE:100@50",
        "a.mp4",
        "#EXT-X-BYTERANGE:10",
        "#EXTINF:4,",
        "a.mp4",
    )

    assert [one.byte_range for one in found.segments] == [ByteRange(50, 100), ByteRange(150, 10)]


def test_a_range_without_offset_after_a_whole_resource_is_malformed():
    lines = [*segments("a.mp4"), "#EXTINF:4,", "#EXT-X-BYTERANGE:10", "a.mp4"]

    assert reason_of(*lines) == "byterange_without_previous_same_resource"


def test_a_range_follows_one_of_a_segment_that_the_source_lacks():
    found = media(
        "#EXT-X-GAP",
        "#EXT-X-BYTERANGE:100@0",
        *segments("a.mp4"),
        "#EXT-X-BYTERANGE:10",
        *segments("a.mp4"),
    )

    assert found.segments[1].byte_range == ByteRange(100, 10)


@pytest.mark.parametrize(
    "written", ["0@5", "-5@0", "5@-1", "x", "5@", "9" * 30, f"{2**53}@{2**53}"]
)
def test_a_range_that_can_not_be_is_malformed(written: str):
    assert reason_of(f"#EXT-X-BYTERANGE:{written}", *segments("a.mp4")) == "bad_byterange"


def test_a_range_holds_for_one_segment_only():
    found = media("#EXT-X-BYTERANGE:5@0", *segments("a.mp4", "b.mp4"))

    assert found.segments[1].byte_range is None


# --- maps, gaps, discontinuities, numbers ---


def test_a_maps_range_without_offset_begins_at_zero():
    found = media('#EXT-X-MAP:URI="i.mp4",BYTERANGE="720"', *segments("a.m4s"))

    init = found.segments[0].init
    assert init
    assert init.byte_range == ByteRange(0, 720)


def test_a_map_outlasts_a_discontinuity():
    found = media(
        '#EXT-X-MAP:URI="i.mp4"', *segments("a.m4s"), "#EXT-X-DISCONTINUITY", *segments("b.m4s")
    )

    assert found.segments[0].init == found.segments[1].init
    assert [one.discontinuity for one in found.segments] == [0, 1]


def test_a_map_without_an_address_is_malformed():
    assert reason_of('#EXT-X-MAP:BYTERANGE="5@0"', *segments("a.m4s")) == "bad_map"


def test_a_gap_keeps_its_number_and_holds_for_one_segment():
    found = media("#EXT-X-MEDIA-SEQUENCE:7", "#EXT-X-GAP", *segments("a.ts", "b.ts"))

    assert [(one.sequence, one.gap) for one in found.segments] == [(7, True), (8, False)]


@pytest.mark.parametrize("written", ["x", "-1", "1.5", "9" * 19, "9" * 40, ""])
def test_a_sequence_number_that_can_not_be_believed_is_malformed(written: str):
    assert reason_of(f"#EXT-X-MEDIA-SEQUENCE:{written}", *segments("a.ts")) == "bad_sequence"


def test_a_sequence_number_after_the_first_segment_is_malformed():
    lines = [*segments("a.ts"), "#EXT-X-MEDIA-SEQUENCE:5", *segments("b.ts")]

    assert reason_of(*lines) == "bad_sequence"


@pytest.mark.parametrize(
    "written", ["yesterday", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"]
)
def test_an_odd_clock_costs_nothing(written: str):
    found = media(f"#EXT-X-PROGRAM-DATE-TIME:{written}", *segments("a.ts", "b.ts"))

    assert len(found.segments) == 2


# --- the whole ---


def test_a_byte_order_mark_is_stripped_with_a_note():
    found = parse(b"\xef\xbb\xbf" + text(*segments("a.ts"), "#EXT-X-ENDLIST"), URL)

    assert found.notes == ("a byte order mark stands before the manifest",)


def test_crlf_and_comments_and_unknown_tags_change_nothing():
    plain = text(*segments("a.ts", "b.ts"), "#EXT-X-ENDLIST")
    noisy = plain.replace(b"b.ts", b"\n# words\n#EXT-X-FUTURE:1\n  b.ts  ").replace(b"\n", b"\r\n")

    assert parse(noisy, URL) == parse(plain, URL)


def test_odd_line_separators_in_a_title_end_no_line():
    found = media("#EXTINF:6,one\u2028two\x0bthree", "a.ts")

    assert found.segments[0].title == "one two three"


@pytest.mark.parametrize(
    "body", [b"", b" \r\n", b"\xef\xbb\xbf", b"\0\0", b"#EXTM3U", b"#EXTM3U\n#EXT-X-ENDLIST\n"]
)
def test_nothing_is_no_manifest(body: bytes):
    with pytest.raises(Malformed) as caught:
        parse(body, URL)

    assert caught.value.reason == "empty_manifest"


@pytest.mark.parametrize(
    "body", [b"#EXTM3U8\n", b"hello", b"\xff\xfe#\0E\0X\0T\0", b'{"a": 1}', b"#EXT"]
)
def test_what_does_not_begin_with_the_header_is_no_manifest(body: bytes):
    with pytest.raises(Malformed) as caught:
        parse(body, URL)

    assert caught.value.reason == "no_extm3u"


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html>\n<p>", b"\n<!-- x --><HTML>", b"<html lang=en>"]
)
def test_an_html_page_is_called_one(page: bytes):
    with pytest.raises(Malformed, match="HTML page"):
        parse(page, URL)


def test_a_dash_manifest_where_segments_should_be_is_refused():
    body = b'<MPD mediaPresentationDuration="PT1S"><Period><AdaptationSet mimeType="video/mp4">'
    body += b"<Representation/></AdaptationSet></Period></MPD>"

    with pytest.raises(Unsupported) as caught:
        parse_media(body, URL)

    assert caught.value.reason == "nested_manifest"


def test_a_manifest_that_breaks_off_within_a_segment_is_asked_for_again():
    with pytest.raises(Truncated):
        parse(text(*segments("a.ts"), "#EXTINF:6,"), URL)


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        (text(*segments("a.ts")), False),
        (text(*segments("a.ts"))[:-1], True),
        (text("#EXT-X-PLAYLIST-TYPE:VOD", *segments("a.ts")), True),
        (text("#EXT-X-PLAYLIST-TYPE:EVENT", *segments("a.ts")), False),
        (text(*segments("a.ts"), "#EXT-X-ENDLIST")[:-1], False),
    ],
)
def test_a_manifest_without_its_end_is_told_from_a_live_one(body: bytes, cut: bool):
    found = parse(body, URL)

    assert isinstance(found, MediaPlaylist)
    assert found.cut is cut


def test_an_end_before_the_last_address_is_malformed():
    with pytest.raises(Malformed):
        media(*segments("a.ts"), "#EXTINF:6,")


def test_segments_beside_variants_are_malformed():
    assert (
        reason_of("#EXT-X-STREAM-INF:BANDWIDTH=1", "v.m3u8", *segments("a.ts")) == "mixed_manifest"
    )


def test_a_delta_update_is_refused_by_name():
    assert reason_of("#EXT-X-SKIP:SKIPPED-SEGMENTS=3", *segments("a.ts")) == "delta_update"


def test_an_endless_manifest_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MAX_SEGMENTS", 3)

    with pytest.raises(TooLarge) as caught:
        media(*segments(*(f"{number}.ts" for number in range(4))))

    assert caught.value.reason == "manifest_too_large"


def test_a_huge_manifest_is_refused_unread():
    with pytest.raises(TooLarge):
        parse(b"#EXTM3U\n" + b"#" * 17_000_000, URL)


def test_a_line_without_end_is_refused():
    assert reason_of(*segments("x" * 40_000)) == "line_too_long"


def test_a_long_base_can_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.manifests.hls_reader.MAX_ADDRESSES_CHARS", 20_000)

    with pytest.raises(TooLarge):
        media(*segments("a", "b", "c"), url=f"https://media.example.com/{'x' * 8000}/index.m3u8")


def test_an_error_names_the_line_and_no_secret():
    with pytest.raises(Malformed) as caught:
        media("#EXTINF:x", url=URL + "?token=hush")

    assert "line 3" in str(caught.value)
    assert "hush" not in str(caught.value)
