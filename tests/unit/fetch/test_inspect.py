from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import EmptyBody, HeadraceError, NotMedia, StorageDown, Truncated, Unsupported
from core.fetch.inspect import Inspected, inspect
from core.model.post import MediaKind
from tests.support.media import SAMPLES, jpeg, mp4, webp


@pytest.fixture
def look(tmp_path: Path):
    def inspect_bytes(body: bytes) -> Inspected:
        path = tmp_path / "file.jpg"
        path.write_bytes(body)
        return inspect(path)

    return inspect_bytes


@pytest.mark.parametrize("name", SAMPLES)
def test_a_whole_file_passes_with_its_size(look, name: str) -> None:
    found = look(SAMPLES[name])

    assert found.checked == "structure"
    assert (found.width, found.height) in ((24, 16), (64, 64))
    assert found.trailing_bytes == 0


@pytest.mark.parametrize("name", SAMPLES)
def test_trailing_bytes_are_allowed_and_counted(look, name: str) -> None:
    assert look(SAMPLES[name] + b"PK\x03\x04 something appended").trailing_bytes == 22 + 1


def test_row_11_the_type_is_the_bytes_not_the_names(look) -> None:
    """inputs.tsv row 11: a .jpg address serves WebP."""
    found = look(webp())

    assert (found.type, found.extension, found.kind) == ("image/webp", ".webp", MediaKind.IMAGE)


@pytest.mark.parametrize(
    ("body", "error", "reason"),
    [
        (b"<html><body>404</body></html>", NotMedia, "html_instead_of_media"),
        (b'{"error": 404}', NotMedia, "json_instead_of_media"),
        (b"<Error><Code>AccessDenied</Code></Error>", NotMedia, "xml_instead_of_media"),
        (b"no such picture", NotMedia, "text_instead_of_media"),
        (b"ID3\x04\0\0", NotMedia, "audio_instead_of_media"),
        (b"\0\1\2\3\4\5", NotMedia, "not_media"),
        (b"#EXTM3U\n", Unsupported, "unsupported_manifest"),
        (b"\xef\xbb\xbf<MPD>", Unsupported, "unsupported_manifest"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Unsupported, "unsupported_svg"),
        (b"", EmptyBody, "empty_body"),
        (jpeg()[:-2], Truncated, "truncated"),
        (mp4()[:-1], Truncated, "truncated"),
    ],
)
def test_row_10_what_is_wrong_is_named(
    look, body: bytes, error: type[HeadraceError], reason: str
) -> None:
    """inputs.tsv row 10: HTML with an image's name or label is rejected, by its bytes."""
    with pytest.raises(error) as caught:
        look(body)

    assert caught.value.reason == reason


def test_a_format_without_a_walker_is_known_by_its_head_only(look) -> None:
    found = look(b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm" + bytes(100))

    assert found == Inspected("video/webm", ".webm", MediaKind.VIDEO, checked="signature")


def test_a_file_that_is_gone_is_the_stores_trouble(tmp_path: Path) -> None:
    with pytest.raises(StorageDown):
        inspect(tmp_path / "nothing")


def test_a_file_of_four_gigabytes_is_walked_by_seeks(tmp_path: Path) -> None:
    """Sparse: what is read is the boxes' headers."""
    path, size = tmp_path / "large.mp4", 4 * 1024**3
    head = mp4(fast_start=True)
    index = head[: head.index(b"mdat") - 4]
    data = (1).to_bytes(4, "big") + b"mdat" + (size - len(index)).to_bytes(8, "big")
    with path.open("wb") as file:
        file.write(index + data)
        file.truncate(size)

    assert (inspect(path).width, inspect(path).trailing_bytes) == (24, 0)
