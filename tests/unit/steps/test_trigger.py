from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from core.errors import Malformed, Misconfigured, TooLarge
from core.model.walk import FeedRecord
from core.settings import FeedSettings, Settings, SourceSettings
from core.steps.local_file import opened
from core.steps.trigger import asked_host, find_feed, refuse_unreadable
from tests.support.store import FEED, open_store
from tests.support.store import page as a_page

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


@pytest.mark.parametrize("damaged", [gzip.compress(b"list", mtime=0)[:-3], b"\x1f\x8bnothing"])
def test_a_damaged_gzip_is_no_feed_on_any_attempt(tmp_path: Path, damaged: bytes):
    with pytest.raises(Malformed, match=r"list\.gz") as caught:
        _kept(tmp_path / "list.gz", damaged)

    assert caught.value.reason == "damaged_gzip"


def test_the_bound_of_a_local_file_is_its_sources(tmp_path: Path):
    path = tmp_path / "list.gz"
    path.write_bytes(b"x")
    given = Settings(sources={"feed": SourceSettings(max_page_bytes=7)})

    assert find_feed(given, str(path)).max_page_bytes == 7


# --- addresses that only a named source's adapter can read ---

NAMED = {
    "weibo": "https://weibo.com/u/1000000001",
    "facebook": "https://www.facebook.com/mill",
    "bilibili": "https://space.bilibili.com/1/dynamic",
    "mastodon": "https://pond.example/api/v1/accounts/7/statuses",
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_pasted_address_of_a_named_source_is_told_with_its_adapter(kind: str):
    with pytest.raises(Misconfigured, match=f"read by the adapter '{kind}'") as it:
        find_feed(Settings(), NAMED[kind])

    assert it.value.reason == "named_source"


def test_it_names_the_sources_of_the_settings_that_could_read_it():
    given = Settings(sources={"mine": SourceSettings(adapter="weibo")})

    with pytest.raises(Misconfigured, match='with source = "mine"'):
        find_feed(given, NAMED["weibo"])


def test_a_feed_of_the_settings_without_its_source_is_told_with_its_place():
    given = Settings(feeds={"weir": FeedSettings(source="feed", address=NAMED["weibo"])})

    with pytest.raises(Misconfigured, match=r"^feeds\.weir\.address: .*'weibo'"):
        refuse_unreadable(given)


def test_a_pasted_address_with_a_token_is_told_to_lose_it_first():
    pasted = "https://graph.facebook.com/v27.0/1/posts?access_token=hush-hush"

    with pytest.raises(Misconfigured, match="put it into `token`") as it:
        find_feed(Settings(), pasted)

    assert "hush" not in str(it.value)


def test_an_address_goes_to_the_adapter_that_the_default_source_is_given():
    given = Settings(sources={"feed": SourceSettings(adapter="weibo")})

    assert find_feed(given, NAMED["weibo"]).record.adapter == "weibo"


# --- addresses that no adapter can read ---

UNREADABLE = Settings(
    sources={"keeper": SourceSettings(adapter="bilibili")},
    feeds={
        "read": FeedSettings(source="keeper", address="https://www.bilibili.com/read/cv1"),
        "file": FeedSettings(source="keeper", address="not-there-yet.json"),
    },
)


@pytest.mark.parametrize("named", ["read", "https://www.bilibili.com/read/cv1"])
def test_an_address_that_its_adapter_refuses_is_refused_with_its_place(named):
    with pytest.raises(Misconfigured, match=r"^feeds\.read\.address: .*space\.bilibili\.com") as it:
        find_feed(UNREADABLE, named)

    assert it.value.reason == "bad_address"


def test_every_feed_of_the_settings_is_looked_at_before_any_is_asked():
    with pytest.raises(Misconfigured, match=r"^feeds\.read\.address"):
        refuse_unreadable(UNREADABLE)


def test_a_file_may_come_later():
    refuse_unreadable(UNREADABLE.model_copy(update={"feeds": {"file": UNREADABLE.feeds["file"]}}))


# --- the host that is asked ---


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "s")
    yield store
    store.close()


def record_of(adapter: str, address: str) -> FeedRecord:
    return FeedRecord(feed=FEED, source="a", adapter=adapter, address=address)


@pytest.mark.parametrize(
    ("adapter", "address", "host"),
    [
        ("feed", "https://press.example/rss", "press.example"),
        ("facebook", "https://www.facebook.com/HarbourLanternClub", "graph.facebook.com"),
        ("weibo", "https://www.weibo.com/u/1000000001", "weibo.com"),
        ("bilibili", "https://space.bilibili.com/100000001/dynamic", "api.bilibili.com"),
        ("bilibili", "https://www.bilibili.com/read/cv1", None),
        ("list", "file:///list.txt", None),
    ],
)
def test_the_host_that_is_asked_for_a_feed_is_its_adapters_to_say(store, adapter, address, host):
    assert asked_host(store, record_of(adapter, address)) == host


def test_a_walk_that_is_open_asks_where_its_next_page_lies(store):
    walk, _ = store.walks.open_or_resume(FEED, now=1.0)
    page = a_page(walk.walk)
    store.walks.end_page(page.model_copy(update={"next_cursor": "rss https://pages.example/2"}))

    assert asked_host(store, record_of("feed", "https://press.example/rss")) == "pages.example"
