from __future__ import annotations

import pytest

from core.errors import Misconfigured
from core.settings import FeedSettings, Settings, SourceSettings
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
