"""`headrace crawl` as people use it, against the sample site and against one that misbehaves."""

from __future__ import annotations

import hashlib
import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.sample_site.site import DEAD_LINK, SampleSite
from tests.support import media
from tests.support.command import (
    FAST,
    LOOPBACK,
    QUICK_TO_GIVE_UP,
    Started,
    checked,
    headrace,
    objects,
    staged_bytes,
    told,
    until,
)
from tests.support.site import Site, answer, drip, whole

pytestmark = pytest.mark.system


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def sample() -> Iterator[SampleSite]:
    with SampleSite() as sample:
        yield sample


def pictures(site: Site, count: int, *, size_bytes: int = 4_000, delay_s: float = 0.0) -> set[str]:
    """Serve a list of pictures at /list.txt; the digests of their bytes."""
    digests = set()
    for number in range(count):
        body = media.jpeg(seed=number, size_bytes=size_bytes)
        etag = f'"{number}"'
        site.serve(f"/{number}.jpg", body, content_type="image/jpeg", etag=etag, delay_s=delay_s)
        digests.add(hashlib.sha256(body).hexdigest())
    addresses = "".join(f"{site.url(f'/{number}.jpg')}\n" for number in range(count))
    site.serve("/list.txt", addresses.encode(), content_type="text/plain")
    return digests


def crawl(address: str, cwd: Path, *more: object):
    return headrace("crawl", address, "--to", "store", *LOOPBACK, *FAST, *more, cwd=cwd)


# --- the whole job ---


def test_everything_but_the_dead_link_is_got_and_told(sample: SampleSite, tmp_path: Path):
    run = crawl(sample.feeds[0], tmp_path, "--json")
    result = told(run)
    by_state = {entry["url"]: entry for entry in result["media"] if entry["state"] != "done"}

    assert run.returncode == 1
    assert (result["found"], result["got"], result["failed"]) == (11, 10, 1)
    assert list(by_state) == [sample.address + DEAD_LINK]
    assert by_state[sample.address + DEAD_LINK]["reason"] == "gone"
    assert f"404 gone  {sample.address}{DEAD_LINK}" in run.stderr


def test_what_is_told_lies_there(sample: SampleSite, tmp_path: Path):
    result = told(crawl(sample.feeds[1], tmp_path, "--json"))
    files = [entry for entry in result["media"] if entry["state"] == "done"]

    assert files
    for entry in files:
        content = (tmp_path / "store" / entry["path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["object"]


def test_json_stands_alone_on_stdout(sample: SampleSite, tmp_path: Path):
    run = crawl(sample.feeds[2], tmp_path, "--json", "-v")

    assert run.returncode == 0
    assert run.stdout.count("\n") == 1
    assert set(told(run)) == {
        "found",
        "got",
        "known",
        "failed",
        "incomplete",
        "bytes",
        "media",
    }


def test_checksums_are_merged(sample: SampleSite, tmp_path: Path):
    run = crawl(sample.feeds[1], tmp_path)
    store = tmp_path / "store"

    assert run.returncode == 0
    assert len((store / "SHA256SUMS").read_text().splitlines()) == len(objects(store))
    assert checked(store).returncode == 0


def test_several_feeds_go_into_one_run(sample: SampleSite, tmp_path: Path):
    run = headrace(
        "crawl", *sample.feeds, "--to", "store", *LOOPBACK, *FAST, "--json", cwd=tmp_path
    )

    assert told(run)["found"] == 25
    assert told(run)["got"] == 24


def test_a_file_of_addresses_is_a_feed(site: Site, tmp_path: Path):
    digests = pictures(site, 3)
    (tmp_path / "mine.txt").write_text("".join(f"{site.url(f'/{n}.jpg')}\n" for n in range(3)))

    run = crawl("mine.txt", tmp_path)

    assert run.returncode == 0
    assert set(objects(tmp_path / "store")) == digests


# --- once more ---


def test_a_rerun_asks_the_feed_once_and_no_media(sample: SampleSite, tmp_path: Path):
    crawl(sample.feeds[0], tmp_path)
    before = len(sample.requests)

    result = told(crawl(sample.feeds[0], tmp_path, "--json"))

    assert [seen.path for seen in sample.requests[before:]] == ["/pictures.rss"]
    assert (result["found"], result["got"], result["known"], result["bytes"]) == (11, 0, 10, 0)


def test_a_rerun_of_a_file_asks_nobody(site: Site, tmp_path: Path):
    pictures(site, 2)
    (tmp_path / "mine.txt").write_text("".join(f"{site.url(f'/{n}.jpg')}\n" for n in range(2)))
    crawl("mine.txt", tmp_path)
    before = len(site.requests)

    run = crawl("mine.txt", tmp_path)

    assert run.returncode == 0
    assert len(site.requests) == before


def test_what_a_passing_fault_took_is_tried_again_by_any_rerun(site: Site, tmp_path: Path):
    (tmp_path / "headrace.toml").write_text(QUICK_TO_GIVE_UP)
    pictures(site, 1)
    picture = media.jpeg(seed=7)
    site.on("/0.jpg", answer(500), whole(picture))

    first, second = crawl(site.url("/list.txt"), tmp_path), crawl(site.url("/list.txt"), tmp_path)

    assert first.returncode == 1
    assert "server_trouble" in first.stdout
    assert "the same command tries again" in first.stdout
    assert second.returncode == 0
    assert list(objects(tmp_path / "store").values()) == [picture]


def test_a_known_404_is_asked_for_again_only_with_retry_dead(site: Site, tmp_path: Path):
    pictures(site, 2)
    site.on("/0.jpg", answer(404))
    crawl(site.url("/list.txt"), tmp_path)
    site.serve("/0.jpg", media.jpeg(seed=0))

    plain = crawl(site.url("/list.txt"), tmp_path)
    asked_plainly = len(site.asked("/0.jpg"))
    again = crawl(site.url("/list.txt"), tmp_path, "--retry-dead")

    assert (plain.returncode, asked_plainly) == (1, 1)
    assert "--retry-dead" in plain.stdout
    assert (again.returncode, len(site.asked("/0.jpg"))) == (0, 2)
    assert len(site.asked("/1.jpg")) == 1


# --- what goes wrong ---


def test_a_feed_that_is_gone_is_named(site: Site, tmp_path: Path):
    run = crawl(site.url("/no-feed.rss"), tmp_path)

    assert run.returncode == 1
    assert f"gone  {site.url('/no-feed.rss')}" in run.stdout
    assert "Traceback" not in run.stdout + run.stderr


def test_loopback_is_refused_unless_it_is_allowed(site: Site, tmp_path: Path):
    pictures(site, 1)

    run = headrace("crawl", site.url("/list.txt"), "--to", "store", cwd=tmp_path)

    assert run.returncode == 1
    assert "address_refused" in run.stdout
    assert "--allow-network" in run.stdout
    assert site.requests == []


def test_a_store_in_use_is_said_so(site: Site, tmp_path: Path):
    pictures(site, 1, delay_s=20.0)
    address = site.url("/list.txt")

    with Started("crawl", address, "--to", "store", *LOOPBACK, cwd=tmp_path):
        until(lambda: bool(site.asked("/0.jpg")))
        second = crawl(address, tmp_path)

    assert second.returncode == 1
    assert "is in use by" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_title_that_the_terminal_cannot_show_ends_nothing(site: Site, tmp_path: Path):
    site.serve("/1.jpg", media.jpeg(seed=1))
    attachment = {"url": site.url("/1.jpg"), "mime_type": "image/jpeg"}
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Mills",
        "items": [{"id": "1", "title": "M\u00fchle \u6c34\u8eca", "attachments": [attachment]}],
    }
    site.serve("/feed.json", json.dumps(feed).encode(), content_type="application/feed+json")

    run = headrace(
        "crawl",
        site.url("/feed.json"),
        "--to",
        "store",
        *LOOPBACK,
        cwd=tmp_path,
        PYTHONIOENCODING="ascii:strict",
    )

    assert run.returncode == 0, run.stderr
    assert "M?hle" in run.stdout


def test_a_reader_that_goes_away_ends_no_crawl(site: Site, tmp_path: Path):
    digests = pictures(site, 20, delay_s=0.05)
    arguments = ("crawl", site.url("/list.txt"), "--to", "store", *LOOPBACK, *FAST)

    with Started(*arguments, cwd=tmp_path) as run:
        assert run.process.stdout
        run.process.stdout.readline()
        run.process.stdout.close()
        status = run.process.wait(timeout=60)
        assert run.process.stderr
        said = run.process.stderr.read()

    assert status == 1
    assert said == ""
    assert set(objects(tmp_path / "store")) == digests


# --- interrupted ---


def test_a_file_that_the_disk_lost_is_fetched_anew_once_its_record_is_gone(
    site: Site, tmp_path: Path
):
    digests = pictures(site, 3)
    crawl(site.url("/list.txt"), tmp_path)
    lost = min(digests)
    store = tmp_path / "store"
    [record] = [one for one in (store / "media").rglob("*.json") if lost in one.read_text()]
    record.unlink()
    (store / "objects" / "sha256" / lost[:2] / lost[2:4] / lost).unlink()

    again = crawl(site.url("/list.txt"), tmp_path, "--json")

    assert (told(again)["got"], told(again)["known"]) == (1, 2)
    assert set(objects(store)) == digests
    assert checked(store).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_in_good_order_and_goes_on_later(
    number: signal.Signals, site: Site, tmp_path: Path
):
    pictures(site, 1)
    big = media.jpeg(seed=3, size_bytes=600_000)
    site.on(
        "/0.jpg",
        drip(big, every_s=0.05, size=4_000, ETag='"big"', Accept_Ranges="bytes"),
        whole(big, etag='"big"'),
    )
    address = site.url("/list.txt")

    with Started("crawl", address, "--to", "store", *LOOPBACK, cwd=tmp_path) as started:
        until(lambda: staged_bytes(tmp_path / "store") > 50_000)
        started.process.send_signal(number)
        status, out, _ = started.end()
    after = crawl(address, tmp_path)

    assert status == 130
    assert "not_finished" in out
    assert "The same command goes on" in out
    assert after.returncode == 0
    assert site.asked("/0.jpg")[-1].headers["Range"] is not None
    assert list(objects(tmp_path / "store").values()) == [big]


def test_a_second_interrupt_ends_at_once(site: Site, tmp_path: Path):
    pictures(site, 1)
    site.on("/0.jpg", drip(media.jpeg(size_bytes=600_000), every_s=15.0, size=200_000))

    with Started("crawl", site.url("/list.txt"), "--to", "store", *LOOPBACK, cwd=tmp_path) as run:
        until(lambda: bool(site.asked("/0.jpg")))
        run.process.send_signal(signal.SIGINT)
        assert run.process.stdout
        for line in run.process.stdout:
            if "Ending what is in hand" in line:
                break
        run.process.send_signal(signal.SIGINT)
        status = run.process.wait(timeout=12)  # the next bytes come after fifteen

    assert status == 130


def test_killed_at_any_moment_it_goes_on_and_every_file_is_exact(site: Site, tmp_path: Path):
    digests = pictures(site, 60, size_bytes=60_000, delay_s=0.05)
    address, store = site.url("/list.txt"), tmp_path / "store"
    moments = random.Random(36)

    for _ in range(5):
        arguments = ("crawl", address, "--to", "store", *LOOPBACK, "--rate", "60", "--burst", "5")
        with Started(*arguments, cwd=tmp_path) as run:
            seen = len(site.requests) + moments.randrange(1, 12)
            until(lambda seen=seen: len(site.requests) >= seen or run.process.poll() is not None)
            run.kill()
    last = crawl(address, tmp_path, "--json")

    assert last.returncode == 0, last.stderr
    assert told(last)["found"] == 60
    assert told(last)["known"] + told(last)["got"] == 60
    assert {hashlib.sha256(body).hexdigest() for body in objects(store).values()} == digests
    assert set(objects(store)) == digests
    assert checked(store).returncode == 0
    assert staged_bytes(store) == 0
