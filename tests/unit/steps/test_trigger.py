from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from core.errors import Malformed, Misconfigured, TooLarge
from core.settings import FeedSettings, Settings, SourceSettings
from core.steps.local_file import opened
from core.steps.trigger import find_feed

SETTINGS = Settings(
    sources={"press": SourceSettings(adapter="rss", secret_query={"key": "hush"})},
    feeds={"daily": FeedSettings(source="press", address="https://press.example/rss?key=hush&a=1")},
)


@pytest.mark.parametrize("named", ["daily", "https://press.example/rss?key=hush&a=1"])
def test_a_feed_of_the_settings_is_found_by_name_and_by_address(named):
    record = find_feed(SETTINGS, named).record

    assert (record.source, record.adapter) == ("press", "rss")
    assert record.address == "https://press.example/rss?a=1"


def test_any_other_address_belongs_to_the_default_source():
    assert find_feed(SETTINGS, "http://other.example/feed").record.source == "feed"


def test_a_file_is_known_by_its_place(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("https://pictures.example/1.jpg\n")

    feed = find_feed(SETTINGS, str(path))

    assert feed.file == path
    assert feed.record.address == path.as_uri()


@pytest.mark.parametrize(
    "named",
    [
        "file:///etc/hostname",
        "ftp://a.example/x",
        "http://[bad/",
        "http://",
        "",
        "x" * 5000,
        "a\0b",
    ],
)
def test_what_is_neither_address_nor_file_nor_feed_is_refused_with_what_would_do(named):
    with pytest.raises(Misconfigured, match=r"neither an address .* nor a feed"):
        find_feed(SETTINGS, named)


def test_an_address_with_a_token_is_refused_before_anything_is_stored():
    settings = Settings(sources={"fb": SourceSettings(adapter="facebook")}).model_copy(
        update={
            "feeds": {
                "page": FeedSettings(
                    source="fb", address="https://graph.facebook.com/v27.0/1/posts?access_token=T"
                )
            }
        }
    )

    with pytest.raises(Misconfigured, match="put it into `token` in the settings"):
        find_feed(settings, "page")


# --- local files that are gzip ---


def _kept(path: Path, body: bytes, max_bytes: int = 1_000_000) -> bytes:
    path.write_bytes(body)
    with opened(path, max_bytes) as stream:
        return stream.read()


@pytest.mark.parametrize("size_bytes", [0, 1, 5_000_000])
def test_a_local_file_that_is_gzip_is_kept_as_what_is_in_it(tmp_path: Path, size_bytes: int):
    inside = bytes(size_bytes)

    assert _kept(tmp_path / "list.csv.gz", gzip.compress(inside), 10_000_000) == inside


@pytest.mark.parametrize("body", [b"", b"\x1f", b"plain"])
def test_any_other_local_file_is_kept_as_it_is(tmp_path: Path, body: bytes):
    assert _kept(tmp_path / "list.gz", body, max_bytes=0) == body


def test_a_bomb_in_a_local_file_is_refused(tmp_path: Path):
    with pytest.raises(TooLarge, match="max_page_bytes"):
        _kept(tmp_path / "list.gz", gzip.compress(bytes(50_000_000)))


@pytest.mark.parametrize("damaged", [gzip.compress(b"list")[:-3], b"\x1f\x8bnothing"])
def test_a_damaged_gzip_is_no_feed_on_any_attempt(tmp_path: Path, damaged: bytes):
    with pytest.raises(Malformed, match=r"list\.gz") as caught:
        _kept(tmp_path / "list.gz", damaged)

    assert caught.value.reason == "damaged_gzip"


def test_the_bound_of_a_local_file_is_its_sources(tmp_path: Path):
    path = tmp_path / "list.gz"
    path.write_bytes(b"x")
    given = Settings(sources={"feed": SourceSettings(max_page_bytes=7)})

    assert find_feed(given, str(path)).max_page_bytes == 7
