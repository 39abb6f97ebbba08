"""Lists of addresses, read in chunks."""

from __future__ import annotations

from io import BytesIO

import pytest

from core.errors import Malformed
from core.model.post import MediaKind
from core.sources import PageInput, adapter
from core.sources.lists import ENTRIES_A_PAGE
from core.sources.text_list import MAX_LINE_BYTES
from tests.support.pages import parse

SITE = "https://cdn.example.com"


class CountingStream(BytesIO):
    """Remembers the longest piece that was asked for and got."""

    longest = 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(size)
        self.longest = max(self.longest, len(piece))
        return piece

    def readline(self, size: int | None = -1, /) -> bytes:
        piece = super().readline(size)
        self.longest = max(self.longest, len(piece))
        return piece


def _walk(body: bytes) -> list[str]:
    """Every address, page by page."""
    cursor, found = None, []
    for _ in range(100):
        page = parse("list", body, cursor=cursor)
        found += [post.key for post in page.posts]
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the walk does not end")


def test_a_page_is_a_thousand_lines_and_the_cursor_the_next_ones_place() -> None:
    lines = [f"{SITE}/{n}.jpg\n" for n in range(ENTRIES_A_PAGE + 5)]
    page = parse("list", "".join(lines))

    assert len(page.posts) == ENTRIES_A_PAGE
    assert page.cursor == f"{len(''.join(lines[:ENTRIES_A_PAGE]))}:{ENTRIES_A_PAGE + 1}"


def test_a_walk_gives_every_line_once_in_order() -> None:
    addresses = [f"{SITE}/{n}.jpg" for n in range(2 * ENTRIES_A_PAGE + 3)]

    assert _walk("\r\n".join(addresses).encode()) == addresses


def test_a_list_that_ends_with_its_page_has_no_next() -> None:
    assert parse("list", f"{SITE}/1.jpg\n" * ENTRIES_A_PAGE).cursor is None


def test_line_numbers_go_on_over_pages() -> None:
    body = f"{SITE}/1.jpg\n" * ENTRIES_A_PAGE + "ftp://x.example.com/\n"
    page = parse("list", body, cursor=parse("list", body).cursor)

    assert [(s.where, s.reason) for s in page.skipped] == [
        (f"line {ENTRIES_A_PAGE + 1}", "not_http_url")
    ]


def test_a_line_past_the_bound_is_skipped_by_number_and_never_held() -> None:
    stream = CountingStream(b"a" * (20 * MAX_LINE_BYTES) + f"\n{SITE}/2.jpg\n".encode())
    page = adapter("list").parse(PageInput(stream=stream, url="file:list.txt"))

    assert [(s.where, s.reason) for s in page.skipped] == [("line 1", "line_too_long")]
    assert [post.key for post in page.posts] == [f"{SITE}/2.jpg"]
    assert stream.longest <= MAX_LINE_BYTES + 2


def test_an_endless_last_line_ends_the_list() -> None:
    page = parse("list", f"{SITE}/1.jpg\n".encode() + b"x" * (3 * MAX_LINE_BYTES))

    assert page.cursor is None
    assert page.skipped[0].where == "line 2"


def test_a_post_is_known_by_its_address_so_that_lines_may_move() -> None:
    before = parse("list", f"{SITE}/1.jpg\n")
    after = parse("list", f"{SITE}/0.jpg\n# new on top\n{SITE}/1.jpg\n")

    assert before.posts[0] == after.posts[1]


@pytest.mark.parametrize(
    ("name", "kind", "manifest"),
    [
        ("1.JPG?x=.mp4", MediaKind.IMAGE, None),
        ("no-extension", MediaKind.IMAGE, None),
        ("clip.mp4#t=3", MediaKind.VIDEO, None),
        ("v.m3u8", MediaKind.VIDEO, "hls"),
        ("v.mpd?a", MediaKind.VIDEO, "dash"),
    ],
)
def test_the_extension_tells_the_kind(name: str, kind: MediaKind, manifest: str | None) -> None:
    (post,) = parse("list", f"{SITE}/{name}").posts

    assert post.media[0].kind is kind
    assert post.media[0].renditions[0].manifest == manifest


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"//cdn.example.com/1.jpg", "not_http_url"),
        (b"https://", "not_http_url"),
        (b"https://x.example.com/\xff.jpg", "not_utf8"),
        (b"https://x.example.com/a.mp3", "unsupported_type"),
        (b"https://x.example.com/" + b"a" * 9000, "address_too_long"),
    ],
)
def test_a_line_that_gives_no_media_is_skipped(line: bytes, reason: str) -> None:
    page = parse("list", line + f"\n{SITE}/1.jpg".encode())

    assert [(s.where, s.reason) for s in page.skipped] == [("line 1", reason)]


def test_a_list_of_comments_only_is_an_empty_page() -> None:
    assert parse("list", "# nothing yet\n\n").posts == ()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("first\nsecond\n", "no_addresses"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not_text"),
        (f"{SITE}/1.jpg\n".encode("utf-16"), "not_text"),
    ],
)
def test_a_body_that_is_no_list_is_refused(body: bytes | str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse("list", body)

    assert caught.value.reason == reason


@pytest.mark.parametrize("cursor", ["", "x", "5", "-1:2", "5:", "999999:3", "1:2:3", "٣:٤"])
def test_a_cursor_from_elsewhere_is_refused(cursor: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse("list", f"{SITE}/1.jpg", cursor=cursor)

    assert caught.value.reason == "bad_cursor"


def test_later_pages_are_read_from_the_kept_body() -> None:
    assert adapter("list").request("https://site.example.com/list.txt", "10:2") is None


def test_a_list_has_no_newest_end() -> None:
    assert not parse("list", f"{SITE}/1.jpg").newest_first
