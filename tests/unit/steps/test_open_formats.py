"""Walks over open formats that are more than pages in a row: trees, and bodies that are kept."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.reading import Reading
from tests.unit.sources.test_sitemap import NAMES, image, urlset, video

FEEDS = "https://feeds.example"
PICTURES = "https://pictures.example"


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    reading = Reading(tmp_path / "store")
    yield reading
    reading.store.close()


def shown(name: str) -> str:
    return f"<loc>{FEEDS}/{name}</loc>" + image(f"{PICTURES}/{name}.jpg")


def index(*names: str) -> bytes:
    inside = "".join(f"<sitemap><loc>{FEEDS}/{name}</loc></sitemap>" for name in names)
    return f"<sitemapindex {NAMES}>{inside}</sitemapindex>".encode()


def test_an_index_is_walked_to_its_last_child(reading: Reading):
    names = [f"{number}.xml" for number in range(120)]
    reading.site[f"{FEEDS}/map"] = index(*names)
    for name in names:
        reading.site[f"{FEEDS}/{name}"] = urlset(shown(name)).encode()

    asked = reading.crawl(f"{FEEDS}/map")

    assert [url for url in asked if url != f"{FEEDS}/map"] == [f"{FEEDS}/{name}" for name in names]
    assert reading.got() == set(names)
    assert reading.endings() == ["last_page"]


def test_a_walk_over_an_index_goes_on_where_its_worker_died(reading: Reading):
    reading.site[f"{FEEDS}/map"] = index("a.xml", "b.xml")
    reading.site |= {f"{FEEDS}/{n}.xml": urlset(shown(n)).encode() for n in "ab"}
    reading.trigger(f"{FEEDS}/map")
    reading.work(tasks=2)
    reading.queue.clear()

    asked = reading.crawl(f"{FEEDS}/map")

    assert asked[0] == f"{FEEDS}/b.xml"
    assert reading.got() >= {"b"}


def test_a_large_sitemap_is_asked_for_once(reading: Reading, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.sources.sitemap.POSTS_A_PAGE", 2)
    reading.site[f"{FEEDS}/map"] = urlset(*map(shown, "abcde")).encode()

    asked = reading.crawl(f"{FEEDS}/map")

    assert asked == [f"{FEEDS}/map"]
    assert reading.got() == set("abcde")


def test_videos_expire_by_the_clock_in_a_local_file_too(reading: Reading, tmp_path: Path):
    path = tmp_path / "map.xml"
    films = [
        video(content_loc=f"{PICTURES}/{name}.jpg", expiration_date=date)
        for name, date in (("old", "1970-01-02"), ("new", "2030-01-01"))
    ]
    path.write_text(urlset(f"<loc>{FEEDS}/p</loc>" + "".join(films)), encoding="utf-8")

    reading.crawl(str(path))

    assert reading.got() == {"new"}


def test_a_local_list_that_is_gzip_is_read_to_its_end(reading: Reading, tmp_path: Path):
    rows = [json.dumps({"url": f"{PICTURES}/{number}.jpg"}) for number in range(600)]
    path = tmp_path / "list.json.gz"
    path.write_bytes(gzip.compress(f"[{','.join(rows)}]".encode()))

    asked = reading.crawl(str(path))

    assert asked == []
    assert reading.got() == {str(number) for number in range(600)}


def test_the_hash_of_a_row_goes_with_its_task(reading: Reading):
    digest = "0" * 64
    table = f"url,sha256\n{PICTURES}/a.jpg,{digest}\n"
    reading.site[f"{FEEDS}/list"] = table.encode()
    reading.trigger(f"{FEEDS}/list")
    reading.work(tasks=1)

    assert [task.payload.hashes for task in reading.queue] == [{"sha256": digest}]
