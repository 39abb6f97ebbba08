from __future__ import annotations

import pytest

from core.fetch import types
from core.fetch.types import Sniffed, is_manifest, is_svg, name_of_other, sniff
from tests.support.media import SAMPLES, mp4

_PACKET = b"\x47" + bytes(187)


@pytest.mark.parametrize(
    ("head", "sniffed"),
    [
        (SAMPLES["jpeg"], types.JPEG),
        (SAMPLES["png"], types.PNG),
        (SAMPLES["gif"], types.GIF),
        (SAMPLES["webp"], types.WEBP),
        (SAMPLES["mp4"], types.MP4),
        (SAMPLES["mov"], types.MOV),
        (SAMPLES["heic"], types.HEIC),
        (SAMPLES["avif"], types.AVIF),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif", types.AVIF),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", types.HEIC),
        (b"\0\0\0\x10ftypmif1\0\0\0\0", types.HEIF),
        (b"\0\0\0\x10ftyp3gp5\0\0\0\0", types.THREE_GP),
        (b"\0\0\0\x10ftypXYZW\0\0\0\0", types.MP4),
        (b"\0\0\x10\0moov" + bytes(20), types.MOV),
        (b"BM" + bytes(12) + b"\x28\0\0\0", types.BMP),
        (b"II*\0\x08\0\0\0", types.TIFF),
        (b"MM\0*\0\0\0\x08", types.TIFF),
        (b"\xff\x0a\xfa\x1f", types.JXL),
        (b"\0\0\0\x0cJXL \r\n\x87\n", types.JXL),
        (b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0" + bytes(8), types.ICO),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", types.WEBM),
        (b"\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska", types.MATROSKA),
        (b"FLV\x01\x05\0\0\0\x09", types.FLV),
        (_PACKET * 4, types.MPEG_TS),
        ((bytes(4) + _PACKET) * 4, types.MPEG_TS),
        (b"\0\0\x01\xba\x44", types.MPEG_PS),
        (b"RIFF\x10\0\0\0AVI LIST", types.AVI),
        (bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"), types.ASF),
        (b"OggS" + bytes(24) + b"\x80theora", types.OGG),
    ],
)
def test_media_is_known_by_its_magic_number(head: bytes, sniffed: Sniffed) -> None:
    assert sniff(head) == sniffed


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<!DOCTYPE html><html>", "html"),
        (b"\xef\xbb\xbf\n  <HTML lang=en>", "html"),
        (b"<!-- hi --><html>", "html"),
        (b"<?xml version='1.0'?><html xmlns='x'>", "html"),
        ("<html>é".encode("latin-1") + b"x" * 40, "html"),
        (b"\xff\xfe" + "<html>".encode("utf-16-le"), "html"),
        (b'{"error": "gone"}', "json"),
        (b"[1]", "json"),
        (b"<?xml version='1.0'?><Error/>", "xml"),
        (b"<rss>", "xml"),
        (b"Not found\n", "text"),
        (("x" + "ö" * 4000).encode()[:4096], "text"),
        (b"%PDF-1.7", "pdf"),
        (b"PK\x03\x04", "zip"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"ID3\x04", "audio"),
        (b"OggS" + bytes(24) + b"\x01vorbis", "audio"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio"),
        (b"\0\0\0\x18ftypM4A \0\0\0\0", "audio"),
        (b"\0\0\0\0\0\0\0\0", "unknown"),
        (b"\x00\x01\x02\x03", "unknown"),
        (b"GIF8", "text"),
        (b"\x89PN\0", "unknown"),
    ],
)
def test_what_is_no_media_is_named(head: bytes, name: str) -> None:
    assert sniff(head) is None
    assert name_of_other(head) == name


@pytest.mark.parametrize(
    "head",
    [
        b"#EXTM3U\n#EXT-X-VERSION:3",
        b"\xef\xbb\xbf#EXTM3U\n",
        b"<MPD xmlns='urn:mpeg:dash:schema:mpd:2011'>",
        b"<?xml version='1.0' encoding='utf-8'?>\n<!-- made by x -->\n<MPD type='static'>",
        b"\xef\xbb\xbf<?xml version='1.0'?><MPD>",
    ],
)
def test_a_manifest_is_told_apart(head: bytes) -> None:
    assert is_manifest(head)


@pytest.mark.parametrize("head", [b"#EXTINF", b"<MPDX>", SAMPLES["jpeg"], b"see #EXTM3U"])
def test_what_only_mentions_one_is_none(head: bytes) -> None:
    assert not is_manifest(head)


def test_a_drawing_is_told_apart() -> None:
    assert is_svg(b"<?xml version='1.0'?>\n<!DOCTYPE svg PUBLIC 'x'>\n<svg xmlns='y'>")
    assert not is_svg(b"<html><svg>")


def test_a_brand_decides_not_the_samples_name() -> None:
    assert sniff(mp4(brand=b"M4A ")) is None


@pytest.mark.timeout(5)
def test_a_head_of_nothing_but_comments_is_told_at_once() -> None:
    head = b"<!---->" * 500 + b"x"

    assert not is_manifest(head)
    assert not is_svg(head)
    assert name_of_other(head) == "xml"
