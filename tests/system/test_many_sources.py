"""A worker process with fifty sources has the threads, connections and memory of one with two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.ports import Copy
from core.queue.publisher import RabbitPublisher
from tests.support import media
from tests.support.command import until
from tests.support.rabbitmq import VirtualHost
from tests.support.site import Site
from tests.support.tasks import an_image_task
from tests.support.workers import Workers

pytestmark = [pytest.mark.quiet, pytest.mark.system, pytest.mark.rabbitmq, pytest.mark.redis]

PICTURES = 200  # altogether, however many sources share them
SETTINGS = """
store = "store"
[fetch]
allow_networks = ["127.0.0.0/8"]
"""
SOURCE = """
[sources.s{number}]
rate = 200
burst = 50
"""


@dataclass(frozen=True)
class Footprint:
    """What one worker process takes of its machine and of RabbitMQ."""

    threads: int
    sockets: int
    broker_connections: int
    memory_mb: float


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def footprint(vhost: VirtualHost) -> Footprint:
    """Of the process that consumes; its connections are named after it."""
    names = [str(c["client_properties"]["connection_name"]) for c in vhost.connections()]
    [consumer] = vhost.consumers()
    pid = consumer["client_properties"]["connection_name"].rpartition(":")[2]
    process = Path("/proc") / pid
    status = (process / "status").read_text()
    links = [str(link.readlink()) for link in (process / "fd").iterdir()]
    return Footprint(
        threads=_number("Threads", status),
        sockets=sum(link.startswith("socket:") for link in links),
        broker_connections=sum(name.endswith(f":{pid}") for name in names),
        memory_mb=_number("VmRSS", status) / 1024,
    )


def _number(name: str, status: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    assert found, f"the kernel tells no {name}"
    return int(found[1])


def at_work(workers: Workers, vhost: VirtualHost, site: Site, sources: int) -> Footprint:
    """A process that has just got pictures of every source, and a letter to write of each."""
    names = [f"s{number}" for number in range(sources)]
    tables = "".join(SOURCE.format(number=number) for number in range(sources))
    (workers.folder / "headrace.toml").write_text(SETTINGS + tables)
    paths = [f"/{sources}/{number}.jpg" for number in range(PICTURES)]
    for path in paths:
        site.serve(path, media.jpeg(seed=1, size_bytes=2_000))
    paths += [f"/{sources}/gone/{name}.jpg" for name in names]  # for which it has to publish
    with RabbitPublisher(vhost.url, names, SystemClock()) as publisher:
        tasks = [
            an_image_task(site.url(path), source=names[number % sources])
            for number, path in enumerate(paths)
        ]
        publisher.publish([Copy(task) for task in tasks])
    workers.start(processes=1)
    until(lambda: all(site.asked(path) for path in paths), within_s=120.0)
    until(lambda: bool(vhost.consumers()) and len(vhost.connections()) >= 2)
    try:
        return footprint(vhost)
    finally:
        workers.kill()
        until(lambda: not vhost.connections())


@pytest.mark.timeout(300)
def test_fifty_sources_take_no_more_threads_connections_and_memory_than_two(
    workers: Workers, vhost: VirtualHost, site: Site
) -> None:
    two = at_work(workers, vhost, site, 2)
    fifty = at_work(workers, vhost, site, 50)

    assert fifty.threads <= two.threads + 2
    assert fifty.broker_connections == two.broker_connections
    assert fifty.sockets <= two.sockets + 40  # idle ones are kept to 32 sources at most
    assert fifty.memory_mb <= two.memory_mb * 1.25
