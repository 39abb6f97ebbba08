"""`headrace crawl` over sitemaps, IIIF and tables, on a loopback site: to verified files."""

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
from tests.support.site import Site, answer

pytestmark = pytest.mark.system

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
    def manifest(number: int) -> dict[str, Any]:
        body = {"id": site.url(f"/{number}.jpg"), "type": "Image"}
        painted = {"motivation": "painting", "body": body}
        canvas = {"id": f"c{number}", "items": [{"items": [painted]}]}
        return {"type": "Manifest", "id": site.url(f"/m{number}"), "items": [canvas]}

    context = "http://iiif.io/api/presentation/3/context.json"
    members = [{"id": f"/m{number}", "type": "Manifest"} for number in range(2)]
    top = {"@context": context, "type": "Collection", "items": members}
    site.serve("/top", json.dumps(top).encode())
    for number in range(2):
        site.serve(f"/m{number}", json.dumps(manifest(number)).encode())

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
