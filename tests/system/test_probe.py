"""`headrace probe` as a person runs it, against a site on loopback."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support import dash, media
from tests.support.command import LOOPBACK, headrace
from tests.support.manifests import FOLDER, segments, text, variant
from tests.support.site import Site, answer

pytestmark = pytest.mark.system

HLS = "application/vnd.apple.mpegurl"
VIDEO = text(*segments("a.ts", "b.ts"), "#EXT-X-ENDLIST")
SOUND = text('#EXT-X-KEY:METHOD=AES-128,URI="k.key"', *segments("a.aac", "b.aac"), "#EXT-X-ENDLIST")
OFFER = text(
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Main",LANGUAGE="en",DEFAULT=YES,URI="a.m3u8"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Česky",LANGUAGE="cs",URI="cs.m3u8"',
    *variant("big.m3u8?sig=hush", resolution="1920x1080", bandwidth=5_000_000, audio="a"),
    *variant("small.m3u8", resolution="640x360", bandwidth=800_000, audio="a"),
)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        site.serve("/offer.m3u8", OFFER, content_type=HLS)
        for name in ("big", "small"):
            site.serve(f"/{name}.m3u8", VIDEO, content_type=HLS)
        for name in ("a", "cs"):
            site.serve(f"/{name}.m3u8", SOUND, content_type=HLS)
        yield site


def probe(address: str, cwd: Path, *more: object) -> CompletedProcess[str]:
    return headrace("probe", address, *LOOPBACK, *more, cwd=cwd)


def told(address: str, cwd: Path, *more: object) -> dict[str, Any]:
    """The one JSON object."""
    run = probe(address, cwd, "--json", *more)
    assert run.stdout.count("\n") == 1, run.stderr
    return json.loads(run.stdout)


def test_an_offer_is_shown_with_what_is_chosen_and_why(site: Site, tmp_path: Path):
    run = probe(site.url("/offer.m3u8"), tmp_path)
    starred = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("*")]

    assert run.returncode == 0, run.stderr
    assert starred == ["1920x1080", "audio"]
    assert "chosen     1920x1080 5.0 Mbit/s: the best of 2 variants; audio Main (en)" in run.stdout
    assert "video      2 segments of ts, 12 s, not encrypted" in run.stdout
    assert "audio      2 segments of aac, 12 s, AES-128 with 1 key" in run.stdout
    assert "hush" not in run.stdout


def test_only_manifests_are_asked_for_and_nothing_is_stored(site: Site, tmp_path: Path):
    probe(site.url("/offer.m3u8"), tmp_path)

    assert [seen.path for seen in site.requests] == ["/offer.m3u8", "/big.m3u8?sig=hush", "/a.m3u8"]
    assert list(tmp_path.iterdir()) == []


def test_a_height_changes_the_choice(site: Site, tmp_path: Path):
    found = told(site.url("/offer.m3u8"), tmp_path, "--max-height", 720)

    assert found["chosen"][0] == site.url("/small.m3u8")
    assert found["fragments"] == 4
    assert [track["encryption"] for track in found["tracks"]] == [None, "AES-128"]


def test_a_sources_settings_change_the_choice(site: Site, tmp_path: Path):
    settings = '[sources.films]\nmax_height = 400\nlanguage = "cs"\n'
    (tmp_path / "headrace.toml").write_text(settings, encoding="utf-8")
    found = told(site.url("/offer.m3u8"), tmp_path, "--source", "films")

    assert found["chosen"] == [site.url("/small.m3u8"), site.url("/cs.m3u8")]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("live_refresh_1.m3u8", "live_manifest"),
        ("drm_sample_aes.m3u8", "drm_unsupported"),
        ("bad_byterange_without_previous.m3u8", "byterange_without_previous_same_resource"),
    ],
)
def test_what_would_not_be_got_is_told_with_its_reason(
    site: Site, tmp_path: Path, name: str, reason: str
):
    site.serve("/video.m3u8", (FOLDER / name).read_bytes(), content_type=HLS)
    run = probe(site.url("/video.m3u8"), tmp_path, "--json")

    assert run.returncode == 1
    assert json.loads(run.stdout)["refused"]["reason"] == reason


def test_what_is_offered_is_shown_also_when_the_chosen_is_refused(site: Site, tmp_path: Path):
    site.serve("/big.m3u8", OFFER, content_type=HLS)
    run = probe(site.url("/offer.m3u8"), tmp_path)

    assert run.returncode == 1
    assert "640x360" in run.stdout
    assert "refused    nested_manifest: " in run.stdout


def test_segments_lie_beside_the_final_address(site: Site, tmp_path: Path):
    site.redirect("/video", "/cdn/offer.m3u8")
    site.serve("/cdn/offer.m3u8", text(*variant("v.m3u8")), content_type=HLS)
    site.serve("/cdn/v.m3u8", VIDEO, content_type=HLS)

    assert told(site.url("/video"), tmp_path)["chosen"] == [site.url("/cdn/v.m3u8")]


def test_a_dash_manifest_is_shown_and_nothing_else_is_asked_for(site: Site, tmp_path: Path):
    body = (dash.FOLDER / "segment_base.mpd").read_bytes()
    site.serve("/video.mpd", body, content_type="application/dash+xml")
    run = probe(site.url("/video.mpd"), tmp_path, "--max-height", 400)
    starred = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("*")]

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"DASH manifest {site.url('/video.mpd')}\n")
    assert starred == ["640x360", "audio"]
    assert "video      1 segment of fmp4, 12 s, not encrypted" in run.stdout
    assert [seen.path for seen in site.requests] == ["/video.mpd"]


@pytest.mark.parametrize(
    ("name", "reason"), [("dynamic_live.mpd", "live_manifest"), ("drm.mpd", "drm_unsupported")]
)
def test_a_dash_manifest_that_would_not_be_got_is_told_with_its_reason(
    site: Site, tmp_path: Path, name: str, reason: str
):
    site.serve("/video.mpd", (dash.FOLDER / name).read_bytes())
    run = probe(site.url("/video.mpd"), tmp_path, "--json")

    assert run.returncode == 1
    assert json.loads(run.stdout)["refused"]["reason"] == reason


def test_a_plain_file_is_told_by_its_first_bytes_and_not_fetched(site: Site, tmp_path: Path):
    body = media.mp4(size_bytes=30_000_000)
    sent: list[int] = []

    def behave(exchange: Any) -> None:
        exchange.head(200, {"Content-Type": "text/plain", "Content-Length": str(len(body))})
        for start in range(0, len(body), 100_000):
            exchange.raw(body[start : start + 100_000])
            sent.append(start)

    site.on("/film", behave)
    run = probe(site.url("/film"), tmp_path)

    assert run.returncode == 0, run.stderr
    assert "type       video/mp4" in run.stdout
    assert "says text/plain" in run.stdout
    assert len(sent) < 200


def test_a_feed_is_told_with_its_reader_and_its_first_media(site: Site, tmp_path: Path):
    addresses = f"{site.url('/1.jpg')}\n{site.url('/offer.m3u8')}\n"
    site.serve("/list", addresses.encode(), content_type="text/plain")
    run = probe(site.url("/list"), tmp_path)
    found = told(site.url("/list"), tmp_path)

    assert run.returncode == 0, run.stderr
    assert "read as    list" in run.stdout
    assert f"video (hls)  {site.url('/offer.m3u8')}" in run.stdout
    assert (found["adapter"], found["post_count"], found["media_count"]) == ("list", 2, 2)


def test_an_index_is_followed_to_its_first_posts_and_no_media_is_asked_for(
    site: Site, tmp_path: Path
):
    sitemap = "http://www.sitemaps.org/schemas/sitemap/0.9"
    child = f"<sitemap><loc>{site.url('/1.xml.gz')}</loc></sitemap>"
    site.serve("/map", f'<sitemapindex xmlns="{sitemap}">{child}</sitemapindex>'.encode())
    shown = f"<loc>{site.url('/p')}</loc><image:image><image:loc>/1.jpg</image:loc></image:image>"
    urlset = f'<urlset xmlns="{sitemap}"><url>{shown}</url></urlset>'
    site.serve("/1.xml.gz", gzip.compress(urlset.encode()), content_type="application/gzip")
    found = told(site.url("/map"), tmp_path)

    assert (found["adapter"], found["told_by"], found["pages"]) == ("sitemap", "bytes", 2)
    assert [one["url"] for one in found["posts"][0]["media"]] == [site.url("/1.jpg")]
    assert [seen.path for seen in site.requests] == ["/map", "/1.xml.gz"]


def test_the_settings_say_how_an_address_is_read(site: Site, tmp_path: Path):
    settings = (
        f'[sources.press]\nadapter = "atom"\n'
        f'[feeds.daily]\nsource = "press"\naddress = "{site.url("/f")}"\n'
    )
    (tmp_path / "headrace.toml").write_text(settings, encoding="utf-8")
    site.serve("/f", b"<feed xmlns='http://www.w3.org/2005/Atom'></feed>")
    run = probe("daily", tmp_path)

    assert run.returncode == 0, run.stderr
    assert "read as    atom, told by its settings" in run.stdout


def test_sources_lists_what_there_is(tmp_path: Path):
    run = headrace("sources", cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("adapter")
    assert "https://site.example/sitemap.xml" in run.stdout


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"<html><p>Sign in</p></html>", "html_instead_of_feed"), (b"\x00\x01\x02", "unknown_format")],
)
def test_what_is_nothing_of_ours_is_told_so(site: Site, tmp_path: Path, body: bytes, reason: str):
    site.on("/x", answer(200, {}, body))
    run = probe(site.url("/x"), tmp_path, "--json")

    assert run.returncode == 1
    assert json.loads(run.stdout)["refused"]["reason"] == reason


def test_a_missing_manifest_is_told_in_one_line(site: Site, tmp_path: Path):
    run = probe(site.url("/gone.m3u8"), tmp_path)

    assert run.returncode == 1
    assert run.stderr == f"headrace: {site.url('/gone.m3u8')}: status 404, it is gone\n"


def test_private_addresses_are_refused_by_default(site: Site, tmp_path: Path):
    run = headrace("probe", site.url("/offer.m3u8"), "--json", cwd=tmp_path)

    assert json.loads(run.stdout)["refused"]["reason"] == "address_refused"
    assert site.requests == []


def test_a_file_is_no_address(tmp_path: Path):
    (tmp_path / "list.txt").write_text("http://a.example/1.jpg\n", encoding="utf-8")

    assert probe("list.txt", tmp_path).returncode == 2
