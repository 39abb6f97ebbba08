"""`headrace produce` beside workers, on RabbitMQ and Redis."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import media
from tests.support.command import HEADRACE, environment, objects, until
from tests.support.site import Site, answer
from tests.support.workers import SETTINGS, Workers

pytestmark = [pytest.mark.system, pytest.mark.rabbitmq, pytest.mark.redis]


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        for name in ("press", "mill"):
            show(site, name, 3)
        yield site


def show(site: Site, name: str, count: int) -> None:
    """A list with so many pictures."""
    addresses = [site.url(f"/{name}-{number}.jpg") for number in range(count)]
    for number in range(count):
        body = media.jpeg(seed=number + 10 * len(name), size_bytes=20_000)
        site.serve(f"/{name}-{number}.jpg", body)
    site.serve(f"/{name}.txt", "\n".join(addresses).encode() + b"\n", content_type="text/plain")


def feeds(workers: Workers, site: Site, **every: str) -> None:
    """Write the settings: a feed by its name and how often it is asked."""
    lines = [SETTINGS]
    for name, times in every.items():
        address = site.url(f"/{name}.txt")
        lines.append(f'[feeds.{name}]\nsource = "feed"\naddress = "{address}"\nevery = "{times}"\n')
    (workers.folder / "headrace.toml").write_text("".join(lines))


@dataclass
class Producing:
    """`headrace produce`, and its log while it runs."""

    process: subprocess.Popen[bytes]
    path: Path

    @property
    def log(self) -> str:
        return self.path.read_text()

    def hears(self, number: signal.Signals, answer: str) -> None:
        """Send it a signal, and wait for what its log says to that."""
        self.process.send_signal(number)
        until(lambda: answer in self.log)

    def ends_at(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=30)


@contextmanager
def producing(workers: Workers, name: str = "producer") -> Iterator[Producing]:
    path = workers.folder / f"{name}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [HEADRACE, "produce"],
            cwd=workers.folder,
            env=environment(**workers.env),
            stdout=log,
            stderr=log,
        )
    try:
        yield Producing(process, path)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=20)


def test_once_puts_each_feed_to_the_workers_and_ends(workers: Workers, site: Site):
    feeds(workers, site, press="1h", mill="1h")

    run = workers.headrace("produce", "--once")
    ready = workers.status()["ready"]
    workers.start()
    workers.wait_for(done=6)

    assert run.returncode == 0, run.stderr
    assert [line.split()[:2] for line in run.stdout.splitlines()[1:]] == [
        ["press", "asked"],
        ["mill", "asked"],
    ]
    assert ready == 2


def test_once_says_that_the_broker_is_not_there(workers: Workers, site: Site):
    feeds(workers, site, press="1h")
    workers.env["HEADRACE_RABBITMQ_URL"] = "amqp://guest:guest@127.0.0.1:1/%2F"

    run = workers.headrace("produce", "--once")

    assert run.returncode == 1
    assert "RabbitMQ" in run.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_feeds_are_asked_again_and_again_until_it_is_ended(
    workers: Workers, site: Site, number: signal.Signals
):
    feeds(workers, site, press="1s")
    workers.start()
    with producing(workers) as producer:
        workers.wait_for(done=3)
        show(site, "press", 5)  # news
        workers.wait_for(done=5)

        status = producer.ends_at(number)

    assert status == 0, producer.log
    assert "feed press: asked now, then every 1s" in producer.log
    assert " ending" in producer.log
    assert "Traceback" not in producer.log
    assert len(objects(workers.store)) == 5


def test_sighup_takes_new_feeds_over_and_a_bad_file_keeps_the_old_ones(
    workers: Workers, site: Site
):
    feeds(workers, site, press="1h")
    workers.start()
    with producing(workers) as producer:
        workers.wait_for(done=3)
        (workers.folder / "headrace.toml").write_text("[feeds.mill\n")
        producer.hears(signal.SIGHUP, "the settings are not taken over, the old ones stay: ")
        feeds(workers, site, mill="1s")
        producer.hears(signal.SIGHUP, "the settings are taken over")
        workers.wait_for(done=6)

        status = producer.ends_at(signal.SIGTERM)

    assert status == 0, producer.log
    assert "feed press: no longer asked" in producer.log
    assert "not valid TOML" in producer.log


def test_a_feed_whose_host_said_slower_is_held_back_and_status_tells_of_the_host(
    workers: Workers, site: Site
):
    feeds(workers, site, press="1h")
    site.on("/press.txt", answer(429, {"Retry-After": "600"}))
    workers.start()
    workers.headrace("produce", "--once")
    until(lambda: workers.status()["budget"]["hosts"])

    told = workers.headrace("status")
    again = workers.headrace("produce", "--once")

    assert told.returncode == 0
    assert "open but for the hosts below" in told.stdout
    assert re.search(r"\nfeed/127\.0\.0\.1: blocked for (9 min|10 min 0 s)", told.stdout)
    assert again.stdout.splitlines()[1].startswith("press  held  127.0.0.1, which is asked for the")


def test_sighup_in_the_first_moments_is_acted_on_once_it_runs(workers: Workers, site: Site):
    feeds(workers, site, press="1h")
    with producing(workers) as producer:
        until(lambda: hears_sighup(producer.process.pid))
        producer.hears(signal.SIGHUP, "the settings are taken over")

        status = producer.ends_at(signal.SIGTERM)

    assert status == 0, producer.log


def hears_sighup(pid: int) -> bool:
    """Whether the process has a handler for it."""
    [caught] = [
        line.split()[1]
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("SigCgt:")
    ]
    return bool(int(caught, 16) & 1 << signal.SIGHUP - 1)


def test_two_producers_ask_as_one_would(workers: Workers, site: Site):
    feeds(workers, site, press="1s")
    workers.start()
    with producing(workers, "one") as one, producing(workers, "another") as another:
        workers.wait_for(done=3)
        until(lambda: len(site.asked("/press.txt")) > 4)
        statuses = [producer.ends_at(signal.SIGTERM) for producer in (one, another)]

    pictures = [seen for seen in site.requests if seen.path.endswith(".jpg")]
    assert statuses == [0, 0]
    assert len(pictures) == 3
