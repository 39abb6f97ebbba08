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
from tests.support.site import Site
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


def pictures(site: Site, count: int, *, delay_s: float) -> set[str]:
    """A list of pictures at /list.txt; their digests."""
    digests = set()
    for number in range(count):
        body = media.jpeg(seed=number, size_bytes=2_000)
        site.serve(f"/{number}.jpg", body, delay_s=delay_s)
        digests.add(hashlib.sha256(body).hexdigest())
    addresses = "".join(f"{site.url(f'/{number}.jpg')}\n" for number in range(count))
    site.serve("/list.txt", addresses.encode(), content_type="text/plain")
    return digests


def asked_within(site: Site, seconds: float) -> int:
    """How many requests come within so long."""
    before = len(site.requests)
    time.sleep(seconds)
    return len(site.requests) - before


# --- workers ---


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_pause_reaches_every_worker_and_survives_a_flush(
    workers: Workers, site: Site, redis_url: str
):
    digests = pictures(site, 150, delay_s=0.2)
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
    workers.headrace("resume", "feed")
    time.sleep(REACH_S)
    until(lambda: len(site.requests) > resumed_at, within_s=2.0)
    workers.wait_for(done=150)

    assert paused.returncode == 0
    assert resumed_at < 100
    assert (while_paused, after_the_flush) == (0, 0)
    assert status["paused"]["reason"] == "they asked us to"
    assert "they asked us to" in told
    assert set(objects(workers.store)) == digests
    assert workers.letters() == []


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_worker_that_starts_while_a_source_is_paused_asks_nothing(workers: Workers, site: Site):
    pictures(site, 5, delay_s=0.0)
    workers.headrace("submit", site.url("/list.txt"))
    workers.headrace("pause", "feed")
    workers.start(processes=2)
    time.sleep(3.0)
    asked = len(site.requests)
    workers.headrace("resume", "feed")
    workers.wait_for(done=5)

    assert asked == 0


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_changed_rate_reaches_every_worker(workers: Workers, site: Site):
    pictures(site, 400, delay_s=0.1)
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
    digests = pictures(site, 120, delay_s=0.2)
    workers.start(processes=2)
    workers.headrace("submit", site.url("/list.txt"))
    until(lambda: len(site.requests) > 10)

    purged = workers.headrace("purge", "feed", "--yes")
    time.sleep(2.0)
    after = asked_within(site, 1.5)
    left = workers.status()
    workers.headrace("submit", "--unfinished", site.url("/list.txt"))
    workers.wait_for(done=120)

    assert purged.returncode == 0
    assert after == 0
    assert (left["ready"], left["leased"], left["delayed"]) == (0, 0, 0)
    assert left["done"] < 100
    assert set(objects(workers.store)) == digests


# --- a crawl ---


def test_a_crawl_is_paused_and_resumed_while_it_runs(site: Site, tmp_path: Path):
    digests = pictures(site, 60, delay_s=0.1)
    arguments = ("crawl", site.url("/list.txt"), "--to", "s", "--concurrency", "2", *LOOPBACK)
    with Started(*arguments, cwd=tmp_path) as crawl:
        until(lambda: len(site.requests) > 8)
        headrace("pause", "feed", "--store", "s", cwd=tmp_path)
        time.sleep(REACH_S)
        while_paused = asked_within(site, 2.0)
        headrace("resume", "feed", "--store", "s", cwd=tmp_path)
        status, out, _ = crawl.end()

    assert while_paused == 0
    assert status == 0
    assert "feed is paused: by a person" in out
    assert "feed goes on" in out
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
    digests = pictures(site, 3, delay_s=0.0)
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
        digests = pictures(dying, 60, delay_s=0.1)
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
