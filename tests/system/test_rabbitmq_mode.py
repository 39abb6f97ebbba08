"""The same job on RabbitMQ and Redis: `headrace submit`, `dramatiq actors`, and what an operator
does. The store they fill equals the embedded one."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.sample_site.site import DEAD_LINK, SampleSite
from tests.support import media
from tests.support.command import (
    LOOPBACK,
    checked,
    environment,
    headrace,
    objects,
    staged_bytes,
    until,
)
from tests.support.kept import names, records
from tests.support.site import Site, drip, whole
from tests.support.workers import DRAMATIQ, Workers

pytestmark = [pytest.mark.system, pytest.mark.rabbitmq, pytest.mark.redis]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def sample() -> Iterator[SampleSite]:
    with SampleSite() as sample:
        yield sample


def pictures(site: Site, count: int, *, delay_s: float) -> dict[str, bytes]:
    """A list of pictures at /list.txt, by digest."""
    bodies = {}
    for number in range(count):
        body = media.jpeg(seed=number, size_bytes=40_000)
        site.serve(f"/{number}.jpg", body, etag=f'"{number}"', delay_s=delay_s)
        bodies[hashlib.sha256(body).hexdigest()] = body
    addresses = "".join(f"{site.url(f'/{number}.jpg')}\n" for number in range(count))
    site.serve("/list.txt", addresses.encode(), content_type="text/plain")
    return bodies


# --- the stores are equal ---


def test_the_store_equals_the_embedded_one(workers: Workers, sample: SampleSite, tmp_path: Path):
    headrace("crawl", *sample.feeds, "--to", "embedded", *LOOPBACK, cwd=tmp_path)
    embedded = tmp_path / "embedded"
    workers.start()

    submitted = workers.headrace("submit", *sample.feeds)
    workers.wait_for(done=24, dead=1)
    workers.headrace("sums")

    assert submitted.returncode == 0
    assert objects(workers.store) == objects(embedded)
    assert records(workers.store) == records(embedded)
    assert names(workers.store) == names(embedded)
    assert (workers.store / "SHA256SUMS").read_text() == (embedded / "SHA256SUMS").read_text()


# --- what a person does ---


def test_submit_answers_at_once_with_ids_that_are_there(workers: Workers, sample: SampleSite):
    run = workers.headrace("submit", sample.feeds[0])
    feed, walk, task, address = run.stdout.splitlines()[-1].split()

    assert run.returncode == 0
    assert address == sample.feeds[0]
    assert (workers.store / "walks" / feed / walk).is_dir()
    assert task.startswith(f"discover-{feed}-{walk}")
    assert workers.status()["ready"] == 1
    assert sample.requests == []


def test_a_dead_link_is_listed_tried_again_and_discarded(workers: Workers, sample: SampleSite):
    workers.start()
    workers.headrace("submit", sample.feeds[0])
    workers.wait_for(done=10, dead=1)
    address = sample.address + DEAD_LINK

    [letter] = workers.letters()
    asked = len([seen for seen in sample.requests if seen.path == DEAD_LINK])
    dry = workers.headrace("dead", "requeue", "--id", letter["id"], "--dry-run")
    again = subprocess.run(
        [sys.executable, ROOT / "scripts" / "requeue_dead_letters.py", "--reason", "gone"],
        cwd=workers.folder,
        env=environment(**workers.env),
        capture_output=True,
        text=True,
        check=False,
    )
    until(lambda: len([seen for seen in sample.requests if seen.path == DEAD_LINK]) > asked)
    until(lambda: bool(workers.letters()))
    workers.wait_for(done=10, dead=1)
    discarded = workers.headrace("dead", "discard", "--source", "feed")

    assert (letter["subject"], letter["reason"], letter["http_status"]) == (address, "gone", 404)
    assert "would have requeued 1 task" in dry.stdout
    assert "requeued 1 task" in again.stdout, again.stderr
    assert "discarded 1 letter" in discarded.stdout
    assert workers.letters() == []


def test_what_an_embedded_run_left_is_submitted_on_demand(workers: Workers, site: Site):
    bodies = pictures(site, 3, delay_s=0.0)
    site.on("/0.jpg", drip(b"x" * 1000, every_s=30.0), whole(media.jpeg(seed=0, size_bytes=40_000)))
    arguments = ["crawl", site.url("/list.txt"), "--to", "store"]
    embedded = subprocess.Popen(
        [DRAMATIQ.with_name("headrace"), *arguments],
        cwd=workers.folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: len(objects(workers.store)) == 2 and bool(site.asked("/0.jpg")))
    embedded.kill()
    embedded.wait(timeout=20)
    workers.start()

    workers.headrace("submit", "--unfinished", site.url("/list.txt"))
    workers.wait_for(done=3)

    assert objects(workers.store) == bodies


def test_a_crawl_keeps_off_a_store_that_workers_have(workers: Workers, sample: SampleSite):
    workers.start()
    workers.headrace("submit", sample.feeds[1])
    workers.wait_for(done=6)

    run = workers.headrace("crawl", sample.feeds[1])

    assert run.returncode == 1
    assert "is in use by workers" in run.stderr


# --- dying ---


@pytest.mark.timeout(240)
def test_row_36_workers_killed_at_any_moment_lose_nothing(workers: Workers, site: Site):
    bodies = pictures(site, 60, delay_s=0.1)
    moments = random.Random(9)
    workers.headrace("submit", site.url("/list.txt"))

    for _ in range(5):
        workers.start()
        seen = len(site.requests) + moments.randrange(1, 10)
        until(lambda seen=seen: len(site.requests) >= seen)
        workers.kill()
    workers.start()
    workers.wait_for(done=60, within_s=180.0)
    workers.headrace("sums")

    assert objects(workers.store) == bodies
    assert len(names(workers.store)) == 60
    assert checked(workers.store).returncode == 0
    assert workers.letters() == []


def test_a_stopped_worker_hands_back_what_it_holds(workers: Workers, site: Site):
    pictures(site, 1, delay_s=0.0)
    big = media.jpeg(seed=3, size_bytes=1_600_000)
    site.on(
        "/0.jpg",
        drip(big, every_s=0.05, size=4_000, ETag='"big"'),
        whole(big, etag='"big"'),
    )
    group = workers.start(processes=1)  # a second one would take what the first hands back
    workers.headrace("submit", site.url("/list.txt"))
    until(lambda: staged_bytes(workers.store) > 50_000)

    group.send_signal(signal.SIGTERM)
    group.wait(timeout=30)
    until(lambda: workers.status()["ready"] == 1)
    workers.start()
    workers.wait_for(done=1)

    assert site.asked("/0.jpg")[-1].headers["Range"] is not None
    assert list(objects(workers.store).values()) == [big]
