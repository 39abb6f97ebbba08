"""The same job on RabbitMQ and Redis: `headrace submit`, `dramatiq actors`, and what an operator
does. The store they fill equals the embedded one."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
from tests.support.site import Site, drip, whole

pytestmark = [pytest.mark.system, pytest.mark.rabbitmq, pytest.mark.redis]

ROOT = Path(__file__).parents[2]
DRAMATIQ = Path(sys.executable).with_name("dramatiq")
SETTINGS = """
store = "store"
[sources.feed]
rate = 200
burst = 50
concurrency = 3
[lease]
seconds = 2
[fetch]
allow_networks = ["127.0.0.0/8"]
"""


@dataclass
class Workers:
    """`dramatiq actors` in a folder, and the commands beside it."""

    folder: Path
    env: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def start(self, processes: int = 2) -> subprocess.Popen[bytes]:
        """One group of processes with four threads each."""
        log = (self.folder / "workers.log").open("ab")
        with log:
            group = subprocess.Popen(
                [DRAMATIQ, "actors", "-p", str(processes), "-t", "4"],
                cwd=self.folder,
                env=environment(**self.env),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running.append(group)
        return group

    def kill(self) -> None:
        """-9 for the whole group at once."""
        group = self.running.pop()
        os.killpg(group.pid, signal.SIGKILL)
        group.wait(timeout=20)

    def end(self) -> None:
        for group in self.running:
            if group.poll() is None:
                os.killpg(group.pid, signal.SIGKILL)
            group.wait(timeout=20)

    def headrace(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return headrace(*arguments, cwd=self.folder, **self.env)

    def status(self) -> dict[str, Any]:
        """What `headrace status` says of the one source."""
        told = json.loads(self.headrace("status", "--json").stdout)
        return next(source for source in told["sources"] if source["source"] == "feed")

    def letters(self) -> list[dict[str, Any]]:
        return json.loads(self.headrace("dead", "list", "--json").stdout)["letters"]

    def wait_for(self, done: int, dead: int = 0, within_s: float = 60.0) -> None:
        """Until so many media are done and dead. A killed worker's count needs `headrace sums`."""

        def reached() -> bool:
            self.headrace("sums")
            status = self.status()
            return (status["done"], status["dead"]) == (done, dead)

        until(reached, within_s)


@pytest.fixture
def workers(tmp_path: Path, vhost_url: str, redis_url: str) -> Iterator[Workers]:
    folder = tmp_path / "rabbitmq"
    folder.mkdir()
    (folder / "headrace.toml").write_text(SETTINGS)
    workers = Workers(folder, {"HEADRACE_RABBITMQ_URL": vhost_url, "HEADRACE_REDIS_URL": redis_url})
    yield workers
    workers.end()


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

_OF_THE_RUN = {"ended_at", "attempts", "at", "first_failure", "last_failure", "worker", "resumed"}


def without_the_run(value: Any) -> Any:
    """A record without what tells when, by whom and at which try."""
    if isinstance(value, dict):
        return {
            name: without_the_run(held) for name, held in value.items() if name not in _OF_THE_RUN
        }
    return [without_the_run(held) for held in value] if isinstance(value, list) else value


def records(store: Path) -> dict[str, Any]:
    """Every media's ends and every post's versions."""
    files = [*(store / "media").rglob("*.json"), *(store / "posts").rglob("*.json")]
    found = {
        str(path.relative_to(store)): without_the_run(json.loads(path.read_text()))
        for path in files
    }
    for record in found.values():
        for name in ("first_seen_in", "seen_at", "first_seen_at", "walk"):
            record.pop(name, None)
    return found


def names(store: Path) -> set[str]:
    library = store / "library"
    return {str(path.relative_to(library)) for path in library.rglob("*") if path.is_file()}


def test_the_store_equals_the_embedded_one(workers: Workers, sample: SampleSite, tmp_path: Path):
    headrace("crawl", *sample.feeds, "--to", "embedded", *LOOPBACK, cwd=tmp_path)
    embedded = tmp_path / "embedded"
    workers.start()

    submitted = workers.headrace("submit", *sample.feeds)
    workers.wait_for(done=21, dead=1)
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
    workers.wait_for(done=9, dead=1)
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
    workers.wait_for(done=9, dead=1)
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
    workers.wait_for(done=5)

    run = workers.headrace("crawl", sample.feeds[1])

    assert run.returncode == 1
    assert "is in use by workers" in run.stderr


# --- dying ---


@pytest.mark.timeout(240)
def test_workers_killed_at_any_moment_lose_nothing(workers: Workers, site: Site):
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
    handed_back = workers.status()
    workers.start()
    workers.wait_for(done=1)

    assert handed_back["ready"] == 1
    assert site.asked("/0.jpg")[-1].headers["Range"] is not None
    assert list(objects(workers.store).values()) == [big]
