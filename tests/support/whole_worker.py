"""A worker with everything that `dramatiq actors` has, in this process: on a real RabbitMQ and
Redis, with a store, fetching from a site."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dramatiq

from core.app import App
from core.assemble import rabbitmq_app
from core.errors import HeadraceError
from core.model.task import Kind, Task
from core.ports import Copy
from core.queue import depth
from core.queue.lanes import HEADRACE, lanes_of
from core.settings import Settings
from tests.support import media
from tests.support.queue import eventually, working
from tests.support.site import Site
from tests.support.tasks import an_image_task

FAST: dict[str, object] = {"rate": 500.0, "burst": 50}  # a budget that is never spent here
PICTURE = media.jpeg(seed=1, size_bytes=2_000)


class Whole:
    """The worker's parts, and a look at what it does."""

    def __init__(self, app: App, site: Site) -> None:
        self.app, self.site = app, site
        self.turns = app.broker.turns

    def put(self, *tasks: Task) -> None:
        self.app.publisher.publish([Copy(task) for task in tasks])

    def images(self, source: str, count: int, *, of: str = "", **how: Any) -> list[Task]:
        """Tasks for pictures that the site has, `how` as for `Site.serve`."""
        paths = [f"/{source}/{of}{number}.jpg" for number in range(count)]
        for path in paths:
            self.site.serve(path, PICTURE, **how)
        return [an_image_task(self.site.url(path), source=source) for path in paths]

    def got(self, tasks: list[Task]) -> int:
        """How many of them are in the store."""
        media_store = self.app.store.media
        return sum(media_store.ended(task.payload.media, 1) is not None for task in tasks)

    def asked(self, source: str) -> int:
        """How many requests of a source the site has seen."""
        return sum(seen.path.startswith(f"/{source}/") for seen in list(self.site.requests))

    def ready(self, source: str) -> int:
        url = self.app.settings.broker.url.get_secret_value()
        found = depth.read(url, [source]).lanes
        return sum(found[name] for name in lanes_of(source))

    def rate(self, tasks: list[Task]) -> float:
        """Publish them: how many a second are got."""
        self.put(*tasks)
        began = time.monotonic()
        eventually(lambda: self.got(tasks) == len(tasks), "they are got", within_s=60.0)
        return len(tasks) / (time.monotonic() - began)


@contextmanager
def a_whole_worker(
    folder: Path,
    rabbitmq_url: str,
    redis_url: str,
    sources: dict[str, dict[str, object]],
    *,
    threads: int = 8,
) -> Iterator[Whole]:
    """For as long as the block runs. The site ends first: nothing hangs on it."""
    settings = Settings.model_validate(
        {
            "store": folder,
            "sources": {name: {"adapter": "rss"} | terms for name, terms in sources.items()},
            "broker": {"url": rabbitmq_url},
            "redis": {"url": redis_url},
            "fetch": {"allow_networks": ["127.0.0.0/8"]},
            "lease": {"seconds": 5},
        }
    )
    app = rabbitmq_app(settings)
    for kind in Kind:
        dramatiq.actor(
            app.perform,
            actor_name=kind.value,
            queue_name=HEADRACE,
            broker=app.broker,
            throws=HeadraceError,
        )
    try:
        with working(app.broker, threads=threads), Site() as site:
            yield Whole(app, site)
    finally:
        app.close()
