"""The named sources, spoken by the sample site and crawled to verified files in both modes: signed
in, throttled, with addresses that are dead when they are listed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.sample_site import bilibili, facebook, settings, weibo, weibo_posts
from scripts.sample_site.site import SampleSite, Seen
from scripts.sample_site.speaking import GUARDED, RETRY_AFTER_S
from tests.support.command import LOOPBACK, Started, checked, headrace, objects, told, until
from tests.support.kept import names, records
from tests.support.rendered import frames
from tests.support.workers import Workers

pytestmark = pytest.mark.system

FEEDS = tuple(one.feed for one in settings.NAMED)
MEDIA = {
    "facebook": 4,
    "weibo": 17,
    "weibo-desktop": 17,
    "weibo-open": 15,
    "bilibili": 4,
}  # by source
LISTS = (facebook.EDGE, weibo.MOBILE, weibo.DESKTOP, weibo.OPEN, bilibili.DYNAMICS)
JOINED = 2  # videos that Bilibili gives in tracks and in parts
# What of the site's files is no media by itself: smaller sizes, and pieces of videos.
NO_MEDIA = ("*-160.jpg", "small.jpg", "*.m4s", "*.flv")
FOR_WORKERS = '[lease]\nseconds = 2\n[fetch]\nallow_networks = ["127.0.0.0/8"]\n'


@pytest.fixture(autouse=True, scope="module")
def _ffmpeg() -> None:
    if shutil.which("ffmpeg") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("ffmpeg is missing")


@dataclass(frozen=True)
class Crawled:
    """A whole crawl in one process, without any service."""

    site: SampleSite
    run: subprocess.CompletedProcess[str]
    folder: Path
    requests: tuple[Seen, ...]

    @property
    def store(self) -> Path:
        return self.folder / "store"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("crawled")
    with SampleSite() as site:
        settings.write(folder, site.address)
        run = headrace("crawl", *FEEDS, "--to", "store", *LOOPBACK, "--json", cwd=folder)
        yield Crawled(site, run, folder, tuple(site.requests))


def plain_media() -> set[bytes]:
    """Every picture and film that a source gives as one file."""
    files = {file for file in GUARDED.rglob("*.*") if not any(map(file.match, NO_MEDIA))}
    return {file.read_bytes() for file in files}


def asked(crawled: Crawled, path: str) -> list[Seen]:
    return [seen for seen in crawled.requests if seen.path == path]


# --- in one process ---


def test_every_source_ends_in_verified_files(crawled: Crawled):
    kept = objects(crawled.store)

    assert crawled.run.returncode == 0, crawled.run.stderr
    assert told(crawled.run)["got"] == sum(MEDIA.values())
    assert plain_media() <= set(kept.values())
    assert len(kept) == len(plain_media()) + JOINED
    assert checked(crawled.store).returncode == 0


def test_videos_in_tracks_and_in_parts_play_whole(crawled: Crawled):
    joined = {path for path, body in objects(crawled.store).items() if body not in plain_media()}
    found = [path for path in (crawled.store / "objects").rglob("*") if path.name in joined]
    shown = {frames(path).video for path in found}
    files = GUARDED / "bilibili"
    parts = [frames(files / f"bank-{number}.flv").video for number in (1, 2)]

    assert shown == {frames(files / "tide-picture.m4s").video, parts[0] + parts[1]}


@pytest.mark.parametrize("path", LISTS)
def test_a_source_that_throttles_is_waited_for(crawled: Crawled, path: str):
    seen = asked(crawled, path)
    [refused] = [number for number, one in enumerate(seen) if one.status in (400, 429)]

    assert seen[refused + 1].status == 200
    assert seen[refused + 1].at - seen[refused].at >= RETRY_AFTER_S


@pytest.mark.parametrize(
    ("file", "namer", "else_times"),
    [
        (f"{facebook.FILES}heron.mp4", f"{facebook.API}/{facebook.VIDEO}", 0),
        (f"{weibo.FILMS}sluice.mp4", weibo.MOBILE_POST, 1),  # for twelve pictures
        (f"{weibo.FILMS}sluice.mp4", weibo.DESKTOP_POST, 1),
        (f"{bilibili.STREAMS}tide-sound.m4s", bilibili.PLAYURL, 2),  # as manifests
    ],
)
def test_an_address_that_is_dead_when_listed_is_asked_for_anew(
    crawled: Crawled, file: str, namer: str, else_times: int
):
    gets = asked(crawled, file)

    assert gets
    assert all(seen.status in (200, 206) for seen in gets)  # the dead one was not even tried
    assert len(asked(crawled, namer)) > else_times


def test_nothing_is_asked_for_without_its_referer_or_ticket(crawled: Crawled):
    assert not [seen for seen in crawled.requests if seen.status == 403]


def test_a_text_that_a_list_cuts_is_kept_whole_where_its_source_gives_the_rest(crawled: Crawled):
    kept = records(crawled.store).items()
    posts = [record for path, record in kept if path.startswith("posts/")]
    texts = {
        one["source"]: one["post"]["text"]
        for one in posts
        if (one["post"].get("text") or "").startswith("A walk around")
    }
    [walk] = [note for note in weibo_posts.OLDER if note.rest]

    assert texts == {
        "weibo": walk.words + walk.rest,
        "weibo-desktop": walk.words + walk.rest,
        "weibo-open": f"{walk.words}...",
    }


def test_tokens_and_cookies_are_in_nothing_that_is_kept_or_said(crawled: Crawled):
    kept = [path.read_bytes() for path in crawled.store.rglob("*") if path.is_file()]
    said = [crawled.run.stdout.encode(), crawled.run.stderr.encode()]

    for secret in (facebook.TOKEN, "the-millers-own-", "the-weir-keepers"):
        assert not [text for text in kept + said if secret.encode() in text]


def test_a_second_crawl_gets_no_file_anew(crawled: Crawled):
    before = len(crawled.site.requests)

    run = headrace("crawl", *FEEDS, "--to", "store", *LOOPBACK, "--json", cwd=crawled.folder)

    later = crawled.site.requests[before:]
    files = (facebook.FILES, weibo.FILMS, *weibo.PICTURES, bilibili.PICTURES, bilibili.STREAMS)
    assert run.returncode == 0
    assert told(run)["got"] == 0
    assert {seen.path for seen in later} >= set(LISTS)
    assert not [seen.path for seen in later if seen.path.startswith(files)]


# --- with workers ---


def done(workers: Workers) -> int:
    """Media got, of all sources."""
    workers.headrace("sums")
    status = json.loads(workers.headrace("status", "--json").stdout)
    return sum(source["done"] for source in status["sources"])


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_workers_fill_the_same_store(workers: Workers, crawled: Crawled):
    crawled.site.begin_anew()
    settings.write(workers.folder, crawled.site.address, FOR_WORKERS)
    workers.start()

    submitted = workers.headrace("submit", *FEEDS)
    until(lambda: done(workers) == sum(MEDIA.values()))

    store = workers.folder / "headrace-store"
    assert submitted.returncode == 0
    assert objects(store) == objects(crawled.store)
    assert records(store) == records(crawled.store)
    assert names(store) == names(crawled.store)
    assert workers.letters() == []


# --- signed out ---


@pytest.fixture
def site() -> Iterator[SampleSite]:
    with SampleSite() as site:
        yield site


def sign_out(folder: Path, source: str) -> str:
    """Put an old secret where the source's own is; its own."""
    file = settings.secret_file(folder, source)
    ours = file.read_text()
    file.write_text(ours.replace("the-", "an-old-"))
    return ours


def is_paused(store: Path, source: str) -> bool:
    switches = store / "switches.json"
    return switches.exists() and source in switches.read_text()


@pytest.mark.parametrize("named", settings.NAMED, ids=lambda named: named.source)
def test_a_source_that_is_signed_out_goes_on_once_its_secret_is_renewed(
    named: settings.Named, site: SampleSite, tmp_path: Path
):
    settings.write(tmp_path, site.address)
    ours = sign_out(tmp_path, named.source)

    with Started("crawl", named.feed, "--to", "s", *LOOPBACK, cwd=tmp_path) as crawl:
        until(lambda: is_paused(tmp_path / "s", named.source))
        asked = len(site.requests)
        settings.secret_file(tmp_path, named.source).write_text(ours)
        headrace("resume", named.source, "--store", "s", cwd=tmp_path)
        status, out, err = crawl.end()

    assert asked <= 2  # the list, and where its redirect led
    assert f"{named.source} is paused" in out + err
    assert status == 0, out + err
    assert f"got {MEDIA[named.source]}" in out


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_workers_take_a_renewed_cookie_without_a_restart(workers: Workers, site: SampleSite):
    settings.write(workers.folder, site.address, FOR_WORKERS)
    ours = sign_out(workers.folder, "bilibili")
    workers.start()
    workers.headrace("submit", "keeper")
    until(lambda: is_paused(workers.folder / "headrace-store", "bilibili"))

    settings.secret_file(workers.folder, "bilibili").write_text(ours)
    workers.headrace("resume", "bilibili")
    until(lambda: done(workers) == MEDIA["bilibili"])

    assert workers.letters() == []
