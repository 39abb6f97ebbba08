"""Lists with columns: CSV and TSV, JSON Lines, one JSON array."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from core.errors import Malformed
from core.model.ids import media_id
from core.model.post import FeedPage, Post
from core.sources import PageInput, adapter
from core.sources.list_items import MAX_ITEM_BYTES
from core.sources.list_rows import MAX_ROW_BYTES
from core.sources.lists import ENTRIES_A_PAGE
from core.sources.text_list import MAX_LINE_BYTES
from core.sources.values import kept_key
from tests.support.pages import parse, rss

SITE = "https://cdn.example.com"


def one(body: str | bytes) -> Post:
    (post,) = parse("list", body).posts
    return post


def skips(page: FeedPage) -> list[tuple[str, str]]:
    return [(skipped.where, skipped.reason) for skipped in page.skipped]


def keys(page: FeedPage) -> list[str]:
    return [post.key.removeprefix(f"{SITE}/") for post in page.posts]


def walk(body: bytes) -> list[str]:
    """Every key, page by page."""
    cursor, found = None, []
    for _ in range(100):
        page = parse("list", body, cursor=cursor)
        found += keys(page)
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the walk does not end")


# --- columns ---


def test_columns_tell_about_the_media() -> None:
    digest = "0" * 32
    post = one(
        "Title,URL,Caption,WIDTH,height,MD5,Author,created_at\n"
        f'One,{SITE}/1.jpg,"a, b",640.0,nan,{digest},A. Person,2026-03-01T10:00:00+02:00\n'
    )
    (media,) = post.media

    assert (post.key, post.title, post.text) == (f"{SITE}/1.jpg", "One", "a, b")
    assert (media.renditions[0].width, media.renditions[0].height) == (640, None)
    assert media.hashes == {"md5": digest}
    assert post.author is not None
    assert post.author.name == "A. Person"
    assert post.created_at == datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "told",
    [
        1772323200,
        1772323200.5,
        "1772323200.0",
        1772323200123,
        "2026-03-01",
        "Sun, 01 Mar 2026 00:00:00 GMT",
    ],
)
def test_a_moment_may_be_a_date_or_unix_time(told: object) -> None:
    post = one(json.dumps({"url": f"{SITE}/1.jpg", "created_at": told}))

    assert post.created_at is not None
    assert post.created_at.date().isoformat() == "2026-03-01"


@pytest.mark.parametrize("told", ["soon", 17, -1, True, [1], {"a": 1}, 10**40])
def test_what_is_no_moment_is_noted_and_costs_nothing_else(told: object) -> None:
    post = one(json.dumps({"url": f"{SITE}/1.jpg", "created_at": told}))

    assert post.created_at is None
    assert len(post.notes) == 1


@pytest.mark.parametrize("value", ["", "nan", "NaN", " "])
def test_cells_that_say_nothing_are_empty(value: str) -> None:
    post = one(f"url,title,caption,author,created_at\n{SITE}/1.jpg" + f",{value}" * 4)

    assert (post.title, post.text, post.author, post.created_at) == (None, None, None, None)
    assert post.notes == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({}, "no_url"),
        ({"url": None}, "no_url"),
        ({"url": float("nan")}, "no_url"),
        ({"url": "nan"}, "no_url"),
        ({"url": 7}, "url_not_text"),
        ({"url": [f"{SITE}/2.jpg"]}, "url_not_text"),
        ({"url": "ftp://x.example.com/2.jpg"}, "not_http_url"),
        ({"url": "2.jpg"}, "not_http_url"),
        ({"url": f"{SITE}/2.mp3"}, "unsupported_type"),
        ({"url": "https://\ud800/2.jpg"}, "not_http_url"),
        (7, "not_an_object"),
        ([f"{SITE}/2.jpg"], "not_an_object"),
        (None, "not_an_object"),
    ],
)
def test_an_entry_that_gives_no_media_is_skipped_by_its_number(value: object, reason: str) -> None:
    entries = [json.dumps({"url": f"{SITE}/1.jpg"}), json.dumps(value)]

    assert skips(parse("list", "\n".join(entries))) == [("line 2", reason)]
    assert skips(parse("list", f"[{','.join(entries)}]")) == [("item 2", reason)]


def test_an_address_alone_may_stand_among_objects() -> None:
    body = json.dumps([f"{SITE}/1.jpg", {"URL": f"{SITE}/2.jpg"}])

    assert keys(parse("list", body)) == ["1.jpg", "2.jpg"]


# --- CSV ---


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff", "\n\n"])
def test_a_table_is_known_by_its_header(delimiter: str, end: str, mark: str) -> None:
    rows = [["id", "url"], ["1", f"{SITE}/1.jpg"], ["2", f"{SITE}/2.jpg"]]
    body = mark + end.join(delimiter.join(row) for row in rows)

    assert keys(parse("list", body)) == ["1.jpg", "2.jpg"]
    assert keys(parse("feed", body)) == ["1.jpg", "2.jpg"]


def test_a_cell_may_span_lines_and_rows_are_counted() -> None:
    page = parse("list", f'text,url\n"a\n\nb",{SITE}/1.jpg\n,\nx,{SITE}/2.jpg\n,ftp://x/\n')

    assert page.posts[0].text == "a\n\nb"
    assert skips(page) == [("row 4", "not_http_url")]


def test_a_row_that_has_other_columns_only_is_skipped() -> None:
    assert skips(parse("list", f"url,text\n{SITE}/1.jpg\n,x\n")) == [("row 2", "no_url")]


def test_a_quote_that_never_closes_costs_its_own_row_only() -> None:
    body = f'url,text\n{SITE}/1.jpg,"open\n{SITE}/2.jpg,b\n{SITE}/3.jpg,c\n'
    page = parse("list", body)

    assert keys(page) == ["1.jpg", "2.jpg", "3.jpg"]
    assert page.posts[0].text == '"open'


def test_a_row_that_can_t_be_told_apart_is_skipped() -> None:
    body = f'url,text\n{SITE}/1.jpg,"open,x\n{SITE}/2.jpg,b\n'

    assert skips(parse("list", body)) == [("row 1", "bad_row")]


@pytest.mark.parametrize("cell", ['"' + "x\n" * MAX_ROW_BYTES, "x" * (2 * MAX_ROW_BYTES)])
def test_a_row_past_the_bound_is_never_held(cell: str) -> None:
    body = f"url,text\n{SITE}/1.jpg,{cell}\n"
    page = parse("list", body + f"{SITE}/2.jpg,b\n")

    assert page.cursor is not None or keys(page) == ["2.jpg"]


def test_bytes_that_are_no_utf_8_cost_only_what_they_stand_in() -> None:
    body = b"url,text\n%s/1.jpg,\xff\n%s/\xff.jpg,b\n" % ((SITE.encode(),) * 2)
    page = parse("list", body)

    assert page.posts[0].text == "\N{REPLACEMENT CHARACTER}"
    assert skips(page) == [("row 2", "not_utf8")]


def test_a_table_with_a_header_only_is_an_empty_page() -> None:
    page = parse("list", "url,text\n")

    assert (page.posts, page.cursor) == ((), None)


def test_the_header_holds_for_every_page() -> None:
    rows = "".join(f'"t\n{n}",{SITE}/{n}.jpg\r\n' for n in range(2 * ENTRIES_A_PAGE + 3))
    first = parse("list", f"title,url\r\n{rows}")
    second = parse("list", f"title,url\r\n{rows}", cursor=first.cursor)

    assert second.posts[0].title == f"t {ENTRIES_A_PAGE}"
    assert second.cursor is not None
    assert second.cursor.endswith(f":{2 * ENTRIES_A_PAGE + 1}")


# --- JSON ---


def test_bad_lines_are_skipped_and_counted() -> None:
    good = json.dumps({"url": f"{SITE}/1.jpg"})
    page = parse("list", f"{good}\n\n{{broken\n{good} x\n{'[' * 50_000}\n")

    assert skips(page) == [("line 3", "bad_json"), ("line 4", "bad_json"), ("line 5", "bad_json")]


def test_a_line_past_the_bound_is_skipped() -> None:
    long = json.dumps({"url": f"{SITE}/1.jpg", "text": "x" * MAX_LINE_BYTES})
    page = parse("list", json.dumps({"url": f"{SITE}/0.jpg"}) + f"\n{long}\n")

    assert skips(page) == [("line 2", "line_too_long")]


@pytest.mark.parametrize("body", ["[]", "[ ]\n", "\ufeff[\n]"])
def test_an_empty_array_is_an_empty_page(body: str) -> None:
    assert parse("list", body).posts == ()


def test_an_item_longer_than_what_is_read_at_once_is_read() -> None:
    text = "é\n" * 100_000

    assert one(json.dumps([{"url": f"{SITE}/1.jpg", "text": text}], ensure_ascii=False)).text == (
        text.strip()
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{broken}", "bad_json"),
        ("x", "bad_json"),
        ("[" * 100_000 + "]", "too_deep"),
        ('{"text": "' + "x" * (2 * MAX_ITEM_BYTES), "bad_json"),
    ],
)
def test_damage_in_an_array_is_told_and_what_stands_before_it_kept(bad: str, reason: str) -> None:
    body = f'[{{"url": "{SITE}/1.jpg"}}, {bad}, {{"url": "{SITE}/2.jpg"}}]'
    first = parse("list", body)

    assert keys(first) == ["1.jpg"]
    with pytest.raises(Malformed) as caught:
        parse("list", body, cursor=first.cursor)
    assert caught.value.reason == reason


def test_what_follows_an_arrays_end_is_damage() -> None:
    first = parse("list", f'["{SITE}/1.jpg"] ["{SITE}/2.jpg"]')

    assert first.cursor is not None
    with pytest.raises(Malformed):
        parse("list", f'["{SITE}/1.jpg"] ["{SITE}/2.jpg"]', cursor=first.cursor)


def test_an_array_that_is_cut_behind_an_inner_bracket_is_told_to_be_so() -> None:
    with pytest.raises(Malformed):
        parse("list", f'["{SITE}/1.jpg", ["{SITE}/2.jpg"]')


def test_an_array_cut_anywhere_never_passes_for_a_whole_one() -> None:
    whole = json.dumps([{"url": f"{SITE}/{n}.jpg", "tags": {"é": n}} for n in range(3)]).encode()

    for length in range(1, len(whole)):
        with pytest.raises(Malformed) as caught:
            parse("list", whole[:length])
        assert caught.value.reason == "truncated"


@pytest.mark.parametrize(
    ("body", "reason"),
    [("PAR1\x15\x04", "parquet"), ("[1, 2]", "no_addresses"), ('{"a": 1}', "no_addresses")],
)
def test_a_body_that_is_no_list_is_refused(body: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse("list", body)

    assert caught.value.reason == reason


# --- long ones ---


def _text(count: int) -> Iterator[str]:
    yield from (f"{SITE}/{n}.jpg\n" for n in range(count))


def _csv(count: int) -> Iterator[str]:
    yield "url,caption\n"
    yield from (f'{SITE}/{n}.jpg,"two\nlines"\n' for n in range(count))


def _jsonl(count: int) -> Iterator[str]:
    yield from (json.dumps({"url": f"{SITE}/{n}.jpg", "id": n}) + "\n" for n in range(count))


def _array(count: int) -> Iterator[str]:
    yield "["
    for n in range(count):
        yield f'{"," if n else ""}\n {{"url": "{SITE}/{n}.jpg", "text": "é"}}'
    yield "\n]\n"


FORMS = [_text, _csv, _jsonl, _array]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [ENTRIES_A_PAGE, 2 * ENTRIES_A_PAGE + 3])
def test_a_walk_gives_every_entry_once_in_order(
    form: Callable[[int], Iterator[str]], count: int
) -> None:
    body = "".join(form(count)).encode()

    assert walk(body) == [f"{n}.jpg" for n in range(count)]


@pytest.mark.parametrize("form", FORMS)
def test_a_list_that_ends_with_its_page_has_no_next(form: Callable[[int], Iterator[str]]) -> None:
    assert parse("list", "".join(form(ENTRIES_A_PAGE))).cursor is None


@pytest.mark.parametrize("form", FORMS)
def test_memory_stays_flat_for_a_hundred_thousand_entries(
    form: Callable[[int], Iterator[str]], tmp_path: Path
) -> None:
    path = tmp_path / "list"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(form(100_000))
    with path.open("rb") as stream:
        first = adapter("list").parse(PageInput(stream, "file:list"))
        near_the_end = f"{_behind(path.read_bytes(), 99_990)}:99990"
        tracemalloc.start()
        try:
            adapter("list").parse(PageInput(stream, "file:list", cursor=first.cursor))
            last = adapter("list").parse(PageInput(stream, "file:list", cursor=near_the_end))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert last.cursor is None
    assert keys(last)[-1] == "99999.jpg"
    assert peak < 3_000_000


def _behind(body: bytes, number: int) -> int:
    """Where the entry of this number begins."""
    at = body.index(f"{SITE}/{number}.jpg".encode())
    begin = max(body.rfind(b"\n", 0, at), body.rfind(b",", 0, at) if body[:1] == b"[" else 0)
    return begin + 1


def test_only_what_is_read_is_held() -> None:
    class Counting(BytesIO):
        got = 0

        def read(self, size: int | None = -1, /) -> bytes:
            piece = super().read(size)
            self.got += len(piece)
            return piece

    stream = Counting("".join(_array(50_000)).encode())
    adapter("list").parse(PageInput(stream, "file:list"))

    assert stream.got < 400_000


# --- keys that are kept ---

SIGNED = f"{SITE}/1.jpg?w=1&X-Amz-Signature=hidden&token=alsohidden"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("list", SIGNED),
        ("list", f"url,title\n{SIGNED},One\n"),
        ("list", json.dumps([{"url": SIGNED, "title": "One"}])),
        ("list", SIGNED.replace("https://", "https://ann:alsohidden@")),
        ("rss", rss(f"<guid>{escape(SIGNED)}</guid>")),
        ("rss", rss(f"<link>{escape(SIGNED)}</link>")),
        ("jsonfeed", json.dumps({"items": [{"id": SIGNED}]})),
        ("jsonfeed", json.dumps({"items": [{"url": SIGNED}]})),
        ("iiif", json.dumps({"type": "Manifest", "items": [{"id": SIGNED}]})),
        (
            "sitemap",
            f"<urlset><url><loc>{escape(SIGNED)}</loc><image:image><image:loc>https://a.example/1"
            "</image:loc></image:image></url></urlset>",
        ),
    ],
)
def test_no_secret_of_an_address_is_in_a_key(name: str, body: str) -> None:
    (post,) = parse(name, body).posts

    assert "hidden" not in post.key
    assert post.key.startswith(f"{SITE}/1.jpg?w=1&X-Amz-Signature=***")
    assert parse(name, body).posts[0].key == post.key


def test_two_addresses_that_differ_in_their_secret_alone_are_two_posts() -> None:
    page = parse("list", f"{SITE}/get?token=a\n{SITE}/get?token=b\n")

    assert len({post.key for post in page.posts}) == 2


def test_the_media_of_a_signed_address_is_the_one_that_it_was() -> None:
    (media,) = one(SIGNED).media

    assert media.id("s") == media_id("s", SIGNED)


@pytest.mark.parametrize("key", [f"{SITE}/1.jpg?w=1", "tag:a.example,2020:1#x", "a?token=b", "7"])
def test_any_other_key_stays_as_it_is(key: str) -> None:
    assert kept_key(key) == key
