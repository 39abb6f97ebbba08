"""What an operator switches while workers and crawls run, as the server they ask sees it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import media
from tests.support.command import LOOPBACK, Started, environment, headrace, objects, until
from tests.support.redis import flush
from tests.support.site import Site, answer, whole
from tests.support.workers import Workers

pytestmark = pytest.mark.system

STUBBORN = """
[retries]
max_attempts = 50
[fetch]
allow_networks = ["127.0.0.0/8"]
"""
REACH_S = 1.0  # a switch is to be at every worker by then
IMPATIENT = "import core.cli.stranding as s; s.GIVE_UP_S = 2.0; import core.cli.main as m; m.main()"


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def pictures(site: Site, count: int, *, delay_s: float = 0.0) -> set[str]:
    """A list of pictures at /list.txt; their digests. Served again, they may come quicker."""
    digests = set()
    for number in range(count):
        body = media.jpeg(seed=number, size_bytes=2_000)
        site.serve(f"/{number}.jpg", body, delay_s=delay_s)
        digests.add(hashlib.sha256(body).hexdigest())
    addresses = "".join(f"{site.url(f'/{number}.jpg')}\n" for number in range(count))
    site.serve("/list.txt", addresses.encode(), content_type="text/plain")
    return digests


def asked_within(site: Site, seconds: float) -> int:
    """How many requests come within so long, whenever we wake."""
    before, end = len(site.requests), time.monotonic() + seconds
    time.sleep(seconds)
    return sum(seen.at < end for seen in site.requests[before:])


# --- workers ---


@pytest.mark.quiet
@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_pause_reaches_every_worker_and_survives_a_flush(
    workers: Workers, site: Site, redis_url: str
):
    digests = pictures(site, 150, delay_s=0.5)
    workers.start(processes=2)
    workers.headrace("submit", site.url("/list.txt"))
    until(lambda: len(site.requests) > 20)

    paused = workers.headrace("pause", "feed", "--reason", "they asked us to")
    time.sleep(REACH_S)
    while_paused = asked_within(site, 2.0)
    flush(redis_url)
    after_the_flush = asked_within(site, 2.0)
    status = workers.status()
    told = workers.headrace("status").stdout
    resumed_at = len(site.requests)
    pictures(site, 150)
    workers.headrace("resume", "feed")
    workers.wait_for(done=150)

    assert paused.returncode == 0
    assert resumed_at < 150
    assert (while_paused, after_the_flush) == (0, 0)
    assert status["paused"]["reason"] == "they asked us to"
    assert "they asked us to" in told
    assert set(objects(workers.store)) == digests
    assert workers.letters() == []


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_worker_that_starts_while_a_source_is_paused_asks_nothing(workers: Workers, site: Site):
    pictures(site, 5)
    workers.headrace("submit", site.url("/list.txt"))
    workers.headrace("pause", "feed")
    workers.start(processes=2)
    time.sleep(3.0)
    asked = len(site.requests)
    workers.headrace("resume", "feed")
    workers.wait_for(done=5)

    assert asked == 0


@pytest.mark.quiet
@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_changed_rate_reaches_every_worker(workers: Workers, site: Site):
    pictures(site, 2000, delay_s=0.1)
    workers.start(processes=2)
    workers.headrace("submit", site.url("/list.txt"))
    until(lambda: len(site.requests) > 20)

    workers.headrace("budget", "feed", "--rate", "4", "--burst", "2")
    time.sleep(REACH_S)
    slow = asked_within(site, 4.0)
    budget = workers.status()["budget"]
    workers.headrace("budget", "feed", "--reset")
    time.sleep(REACH_S)
    fast = asked_within(site, 2.0)

    assert 8 <= slow <= 2 + 4 * 4.0 + 1
    assert (budget["rate"], budget["burst"], budget["switched"]) == (4.0, 2, True)
    assert fast > 30


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_what_was_purged_is_got_when_it_is_submitted_after_all(workers: Workers, site: Site):
    digests = pictures(site, 120, delay_s=1.0)
    workers.start(processes=2)
    workers.headrace("submit", site.url("/list.txt"))
    until(lambda: len(site.requests) > 10)

    purged = workers.headrace("purge", "feed", "--yes")
    until(lambda: asked_within(site, 1.5) == 0)
    left = workers.status()
    pictures(site, 120)
    workers.headrace("submit", "--unfinished", site.url("/list.txt"))
    workers.wait_for(done=120)

    assert purged.returncode == 0
    assert (left["ready"], left["leased"], left["delayed"]) == (0, 0, 0)
    assert left["done"] < 120
    assert set(objects(workers.store)) == digests


def refusing_for_a_day(site: Site, count: int) -> set[str]:
    """Pictures, one of which is refused first, for a day; their digests. In a list and a feed."""
    digests = pictures(site, count, delay_s=0.0)
    body = media.jpeg(seed=3, size_bytes=2_000)
    site.on("/3.jpg", answer(429, {"Retry-After": "86400"}), whole(body))
    items = "".join(
        f"<item><guid>{number}</guid>"
        f"<enclosure url='{site.url(f'/{number}.jpg')}' type='image/jpeg'/></item>"
        for number in range(count)
    )
    feed = f"<rss version='2.0'><channel>{items}</channel></rss>"
    site.serve("/feed.rss", feed.encode(), content_type="application/rss+xml")
    return digests


@pytest.mark.quiet
@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_block_of_a_day_is_over_at_every_worker_once_a_person_ends_it(
    workers: Workers, site: Site, redis_url: str
):
    settings = (workers.folder / "headrace.toml").read_text()
    one_bucket = "[sources.feed]\nadapter = 'rss'"
    (workers.folder / "headrace.toml").write_text(settings.replace("[sources.feed]", one_bucket))
    refusing_for_a_day(site, 40)
    workers.headrace("budget", "feed", "--rate", "8", "--burst", "1")
    workers.start(processes=2)
    workers.headrace("submit", site.url("/feed.rss"))
    until(lambda: (workers.status()["budget"]["blocked_s"] or 0) > 80_000)
    told = workers.headrace("status").stdout
    while_blocked = asked_within(site, 2.0)

    opened = workers.headrace("resume", "feed", "--unblock")
    asked = len(site.requests)
    until(lambda: len(site.requests) > asked, within_s=REACH_S + 2.0)  # at half its rate
    flush(redis_url)
    workers.headrace("budget", "feed", "--rate", "100", "--burst", "1")
    until(lambda: workers.status()["done"] >= 39)

    assert "headrace resume feed --unblock" in told
    assert while_blocked == 0
    assert "feed is open: 23 h 59 min were left of its block" in opened.stdout
    assert workers.status()["budget"]["pace"] < 1
    assert workers.status()["budget"]["blocked_s"] == 0


# --- a crawl ---


@pytest.mark.quiet
def test_a_crawl_is_paused_and_resumed_while_it_runs(site: Site, tmp_path: Path):
    digests = pictures(site, 60, delay_s=0.5)
    arguments = ("crawl", site.url("/list.txt"), "--to", "s", "--concurrency", "2", *LOOPBACK)
    with Started(*arguments, cwd=tmp_path) as crawl:
        until(lambda: len(site.requests) > 8)
        headrace("pause", "feed", "--store", "s", cwd=tmp_path)
        time.sleep(REACH_S)
        while_paused = asked_within(site, 2.0)
        pictures(site, 60)
        headrace("resume", "feed", "--store", "s", cwd=tmp_path)
        status, out, _ = crawl.end()

    assert while_paused == 0
    assert status == 0
    assert "feed is paused: by a person" in out
    assert "feed goes on" in out
    assert set(objects(tmp_path / "s")) == digests


@pytest.mark.quiet
def test_a_crawl_goes_on_once_a_person_ends_the_block_of_a_host(site: Site, tmp_path: Path):
    digests = refusing_for_a_day(site, 12)
    arguments = ("crawl", site.url("/list.txt"), "--to", "s", "--concurrency", "2", *LOOPBACK)
    with Started(*arguments, cwd=tmp_path) as crawl:
        until(lambda: len(site.asked("/3.jpg")) == 1)
        time.sleep(REACH_S)
        while_blocked = asked_within(site, 1.0)
        named = headrace("resume", "feed/127.0.0.1", "--unblock", "--store", "s", cwd=tmp_path)
        status, out, error = crawl.end()

    assert while_blocked == 0
    assert named.returncode == 0
    assert status == 0
    assert "feed/127.0.0.1: what blocked it is over" in out
    assert "headrace resume feed/127.0.0.1 --unblock --store" in error
    assert set(objects(tmp_path / "s")) == digests


def impatient(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A crawl that gives up after two seconds."""
    return subprocess.run(
        [sys.executable, "-c", IMPATIENT, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_crawl_of_a_paused_source_says_so_and_leaves_it(site: Site, tmp_path: Path):
    digests = pictures(site, 3)
    arguments = ("crawl", site.url("/list.txt"), "--to", "s", *LOOPBACK)
    (tmp_path / "empty.txt").write_text("# nothing yet\n")
    headrace("crawl", "empty.txt", "--to", "s", cwd=tmp_path)
    headrace("pause", "feed", "--store", "s", "--reason", "come back", cwd=tmp_path)

    left = impatient(tmp_path, *arguments)
    asked = len(site.requests)
    headrace("resume", "feed", "--store", "s", cwd=tmp_path)
    again = headrace(*arguments, cwd=tmp_path)

    assert left.returncode == 1
    assert (
        "source feed: it is paused (come back) until `headrace resume feed --store " in left.stdout
    )
    assert asked == 0
    assert again.returncode == 0
    assert set(objects(tmp_path / "s")) == digests


def test_a_crawl_ends_when_nobody_answers_any_more(tmp_path: Path):
    with Site() as dying:
        digests = pictures(dying, 60, delay_s=0.3)
        (tmp_path / "headrace.toml").write_text(STUBBORN)
        crawl = subprocess.Popen(
            [sys.executable, "-c", IMPATIENT, "crawl", dying.url("/list.txt"), "--to", "s"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        until(lambda: len(objects(tmp_path / "s")) > 5)
    out, _ = crawl.communicate(timeout=60)

    assert crawl.returncode == 1, out
    assert "source feed: nobody answers there: what is open of it is left" in out
    assert 5 < len(objects(tmp_path / "s")) < len(digests)
