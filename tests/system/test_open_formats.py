"""Sitemaps, IIIF, tables and every other open format, crawled on a loopback site to verified files:
in one process, and by workers into the same store."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import media
from tests.support.command import FAST, LOOPBACK, QUICK_TO_GIVE_UP, checked, headrace, objects, told
from tests.support.kept import names, records
from tests.support.site import Site, answer
from tests.support.workers import Workers

pytestmark = pytest.mark.system

IIIF_3 = "http://iiif.io/api/presentation/3/context.json"
SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        for number in range(4):
            site.serve(f"/{number}.jpg", media.jpeg(seed=number), content_type="image/jpeg")
        yield site


def digest(number: int) -> str:
    return hashlib.sha256(media.jpeg(seed=number)).hexdigest()


def crawl(address: str, cwd: Path) -> dict[str, Any]:
    (cwd / "headrace.toml").write_text(QUICK_TO_GIVE_UP, encoding="utf-8")
    run = headrace("crawl", address, "--to", "store", "--json", *LOOPBACK, *FAST, cwd=cwd)
    return told(run)


def _urlset(*numbers: int) -> bytes:
    shown = "".join(
        f"<url><loc>/p{n}</loc><image:image><image:loc>/{n}.jpg</image:loc></image:image></url>"
        for n in numbers
    )
    return f"<urlset {SITEMAP}>{shown}</urlset>".encode()


def _manifest(site: Site, number: int) -> dict[str, Any]:
    body = {"id": site.url(f"/{number}.jpg"), "type": "Image"}
    painted = {"motivation": "painting", "body": body}
    canvas = {"id": f"c{number}", "items": [{"items": [painted]}]}
    return {"type": "Manifest", "id": site.url(f"/m{number}"), "items": [canvas]}


def test_a_sitemap_index_is_crawled_to_verified_files(site: Site, tmp_path: Path):
    children = "".join(
        f"<sitemap><loc>{site.url(path)}</loc></sitemap>"
        for path in ("/a.xml.gz", "/gone.xml", "/b.xml.gz")
    )
    site.serve("/map.xml", f"<sitemapindex {SITEMAP}>{children}</sitemapindex>".encode())
    site.serve("/a.xml.gz", gzip.compress(_urlset(0, 1)), content_type="application/x-gzip")
    coded = {"Content-Encoding": "gzip", "Content-Type": "application/xml"}
    site.on("/b.xml.gz", answer(200, coded, gzip.compress(gzip.compress(_urlset(2)))))
    result = crawl(site.url("/map.xml"), tmp_path)

    assert (result["found"], result["got"]) == (3, 3)
    assert set(objects(tmp_path / "store")) == {digest(number) for number in range(3)}
    assert checked(tmp_path / "store").returncode == 0


def test_a_tables_promises_are_checked(site: Site, tmp_path: Path):
    rows = [(0, digest(0)), (1, digest(0)), (2, "")]
    table = "caption,url,sha256\n" + "".join(
        f'"a\nb",{site.url(f"/{number}.jpg")},{promised}\n' for number, promised in rows
    )
    site.serve("/list.csv.gz", gzip.compress(table.encode()), content_type="text/csv")
    result = crawl(site.url("/list.csv.gz"), tmp_path)
    failed = [entry for entry in result["media"] if entry["state"] != "done"]

    assert result["got"] == 2
    assert [(entry["url"], entry["reason"]) for entry in failed] == [
        (site.url("/1.jpg"), "hash_mismatch")
    ]


def test_a_local_array_that_is_gzip_is_crawled(site: Site, tmp_path: Path):
    path = tmp_path / "list.json.gz"
    rows = [{"url": site.url(f"/{number}.jpg")} for number in range(4)]
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))

    assert crawl(str(path), tmp_path)["got"] == 4


def test_a_iiif_collection_is_crawled(site: Site, tmp_path: Path):
    members = [{"id": f"/m{number}", "type": "Manifest"} for number in range(2)]
    top = {"@context": IIIF_3, "type": "Collection", "items": members}
    site.serve("/top", json.dumps(top).encode())
    for number in range(2):
        site.serve(f"/m{number}", json.dumps(_manifest(site, number)).encode())

    assert crawl(site.url("/top"), tmp_path)["got"] == 2


def test_a_pictures_own_address_is_crawled(site: Site, tmp_path: Path):
    result = crawl(site.url("/0.jpg"), tmp_path)

    assert [entry["url"] for entry in result["media"]] == [site.url("/0.jpg")]
    assert set(objects(tmp_path / "store")) == {digest(0)}


def test_a_file_that_no_page_may_be_as_large_as_is_crawled_all_the_same(site: Site, tmp_path: Path):
    film = media.mp4(size_bytes=300_000)
    site.serve("/film", film)
    small = "[sources.feed]\nmax_page_bytes = 100000\n"
    (tmp_path / "headrace.toml").write_text(small, encoding="utf-8")
    run = headrace("crawl", site.url("/film"), "--to", "s", "--json", *LOOPBACK, cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert set(objects(tmp_path / "s")) == {hashlib.sha256(film).hexdigest()}


# --- every open format, in both modes ---


def _rss(site: Site, *numbers: int, following: str = "") -> bytes:
    items = "".join(
        f'<item><guid>r{n}</guid><enclosure url="{site.url(f"/{n}.jpg")}"/></item>' for n in numbers
    )
    link = f'<a:link rel="next" href="{following}"/>' if following else ""
    return (
        '<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel><title>r</title>'
        f"{link}{items}</channel></rss>"
    ).encode()


def _atom(site: Site, *numbers: int) -> bytes:
    entries = "".join(
        f'<entry><id>urn:a{n}</id><link rel="enclosure" href="{site.url(f"/{n}.jpg")}"/></entry>'
        for n in numbers
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>a</title>{entries}</feed>'.encode()


def _jsonfeed(site: Site, *numbers: int) -> bytes:
    items = [
        {
            "id": f"j{number}",
            "attachments": [{"url": site.url(f"/{number}.jpg"), "mime_type": "image/jpeg"}],
        }
        for number in numbers
    ]
    told = {"version": "https://jsonfeed.org/version/1.1", "title": "j", "items": items}
    return json.dumps(told).encode()


def _everything(site: Site) -> dict[str, bytes]:
    """A feed of each open format by its path, and what they lead to; pictures from 10 on."""
    children = f"<sitemap><loc>{site.url('/images.xml.gz')}</loc></sitemap>"
    rows = "".join(f"{site.url(f'/{number}.jpg')},{digest(number)}\n" for number in (18, 19))
    lines = "".join(f'{{"url": "{site.url(f"/{n}.jpg")}"}}\n' for n in (20, 21))
    return {
        "/feed.rss": _rss(site, 10, 11, following=site.url("/older.rss")),
        "/feed.atom": _atom(site, 13, 14),
        "/feed.json": _jsonfeed(site, 15),
        "/sitemap.xml": f"<sitemapindex {SITEMAP}>{children}</sitemapindex>".encode(),
        "/iiif": json.dumps({"@context": IIIF_3} | _manifest(site, 17)).encode(),
        "/table.csv": f"url,sha256\n{rows}".encode(),
        "/lines.jsonl.gz": gzip.compress(lines.encode()),
        "/list.txt": f"# of pictures\n{site.url('/22.jpg')}\n".encode(),
        "/older.rss": _rss(site, 12),
        "/images.xml.gz": gzip.compress(_urlset(16)),
    }


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_workers_fill_the_same_store_from_every_open_format(
    site: Site, workers: Workers, tmp_path: Path
):
    pictures = range(10, 23)
    for number in pictures:
        site.serve(f"/{number}.jpg", media.jpeg(seed=number), content_type="image/jpeg")
    everything = _everything(site)
    for path, body in everything.items():
        site.serve(path, body)
    feeds = [site.url(path) for path in [*everything][:-2]]  # the last two are led to
    workers.start()

    alone = headrace("crawl", *feeds, "--to", "store", "--json", *LOOPBACK, *FAST, cwd=tmp_path)
    submitted = workers.headrace("submit", *feeds)
    workers.wait_for(done=len(pictures))

    assert alone.returncode == 0, alone.stderr
    assert submitted.returncode == 0, submitted.stderr
    assert set(objects(tmp_path / "store")) == {digest(number) for number in pictures}
    assert objects(workers.store) == objects(tmp_path / "store")
    assert records(workers.store) == records(tmp_path / "store")
    assert names(workers.store) == names(tmp_path / "store")
    assert workers.letters() == []
