"""The bound on what is open, on given time: a long feed, slow workers, the real page step, the real
queue and ledger of one process."""

from __future__ import annotations

import gc
import io
import logging
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from types import SimpleNamespace

import pytest
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from core.clock import SystemClock
from core.fetch.page import PageBody
from core.model.request import Request
from core.model.source import SourceTerms
from core.ports import Copy
from core.producer.producer import Producer
from core.sources.lists import ENTRIES_A_PAGE
from core.steps.depths import open_depth
from core.steps.discover import DiscoverStep
from core.steps.reopened import Reopened
from core.store.posts import Seen
from tests.support.command import until
from tests.support.producing import Workers, World
from tests.support.tasks import an_image_task
from tests.unit.producer.conftest import MakeWorld

ITEMS = 100_000
RATE = 20.0
HIGH, LOW = 2000, 1000
LIST = "https://mill.example/list.txt"
PRESS = "https://press.example/rss"


class Site:
    """Serves lists."""

    def __init__(self, lists: dict[str, bytes]) -> None:
        self.lists = lists

    @contextmanager
    def visit(self, _terms: SourceTerms, **_told: object) -> Iterator[Site]:
        yield self

    token_wait_s = 0.0

    asked = None

    def page(self, request: Request, **_told: object) -> PageBody:
        body = io.BytesIO(self.lists[request.url])
        return PageBody(body, request.url, "text/plain", 200, {})


class Posts:
    """All of them new, and none kept: a hundred thousand files would take longer than the test."""

    def put_page(self, posts: list[object], **_where: object) -> list[Seen]:
        return [Seen.NEW for _ in posts]

    def vanished(self, _posts: object, **_where: object) -> int:
        return 0


def a_list(items: int) -> bytes:
    return b"".join(b"https://mill.example/%d.jpg\n" % number for number in range(items))


def workers_of(world: World, site: Site) -> Workers:
    real = world.producers[0]._lending.newest.store
    media = SimpleNamespace(open_generation=lambda _media: 1)
    store = SimpleNamespace(
        posts=Posts(),
        walks=real.walks,
        media=media,
        feeds=real.feeds,
        switches=real.switches,
    )
    step = DiscoverStep(
        store=store,
        fetcher=site,
        terms=lambda source: SourceTerms(source, RATE, 20),
        depth=open_depth(world.queue, world.ledger),
        high_water=HIGH,
        low_water=LOW,
        max_attempts=5,
        clock=world.clock,
        stop_after_known=lambda _source: 1,
        slow_down=lambda _asked, _seconds: None,
        reopened=Reopened(store, world.ledger),
    )
    return Workers(world, step, rate=RATE)


def a_list_world(a_world: MakeWorld) -> World:
    return a_world(
        sources={"mill": {"adapter": "list", "rate": RATE}},
        feeds={"mill": {"source": "mill", "address": LIST, "every": "5m"}},
    )


@pytest.mark.parametrize(("producers", "done"), [(1, 12_000), (2, 6_000)])
def test_a_long_feed_never_passes_the_mark_and_a_page(
    a_world: MakeWorld, producers: int, done: int
):
    """As far as `done`: the rest is more of the same, and was tried to its end."""
    world = a_list_world(a_world)
    for _ in range(producers):
        world.produce()
    workers = workers_of(world, Site({LIST: a_list(ITEMS)}))
    depths = [0]

    world.after(1.0)
    while workers.done < done:
        workers.work(60.0, lambda: depths.append(world.depth("mill")))
        world.after(0.0)

    assert HIGH < max(depths) <= HIGH + ENTRIES_A_PAGE + producers
    assert min(depths[workers.held :]) > 0  # the workers never ran dry


def test_a_producer_that_is_held_goes_on_below_the_low_mark(a_world: MakeWorld, caplog):
    caplog.set_level(logging.INFO, "core.producer")
    world = a_list_world(a_world)
    world.produce()
    fill(world, "mill", HIGH + 1)
    workers = workers_of(world, Site({LIST: a_list(1)}))
    depths = []

    while not world.after(0.0):
        depths.append(world.depth("mill"))
        workers.work(5.0)

    assert depths[0] == HIGH + 1
    assert LOW <= depths[-1] <= LOW + 5 * RATE  # and the next look found it below
    [line] = [line for line in caplog.messages if "held back" in line]
    assert "has 2,001 tasks open and passed 2,000: it gets more when fewer than 1,000 are" in line


def test_a_slow_lane_does_not_hold_the_producer_of_another_source(a_world: MakeWorld):
    world = a_world(
        sources={"mill": {"adapter": "list"}},
        feeds={
            "mill": {"source": "mill", "address": LIST, "every": "5m"},
            "press": {"source": "feed", "address": PRESS, "every": "5m"},
        },
    )
    world.produce()
    fill(world, "mill", HIGH + 1)

    assert world.after(3600.0 - 1.0) == [PRESS] * 12


def test_a_run_that_hangs_holds_no_other(a_world: MakeWorld):
    world = a_world(
        sources={"mill": {"adapter": "list"}},
        feeds={
            "mill": {"source": "mill", "address": LIST},
            "press": {"source": "feed", "address": PRESS},
        },
    )
    world.clock = SystemClock()
    let_go = threading.Event()
    published: list[str] = []

    def publish(window: list[Copy]) -> None:
        if window[0].task.source == "mill":
            assert let_go.wait(30)
        published.append(window[0].task.source)

    world.publisher = SimpleNamespace(publish=publish)
    producer = Producer(
        world.app(), BackgroundScheduler(executors={"default": ThreadPoolExecutor(2)}, timezone=UTC)
    )
    producer.start()
    until(lambda: published == ["feed"])
    let_go.set()
    producer.close()  # waits for the other

    assert published == ["feed", "mill"]


def test_a_producers_memory_is_flat(a_world: MakeWorld):
    world = a_list_world(a_world)
    world.publisher = SimpleNamespace(publish=lambda _window: None, published=[])
    _, scheduler = world.produce()

    def runs(count: int) -> None:
        for _ in range(count):
            world.clock.advance(300.0)
            scheduler.look()
            assert scheduler.runs.end() == 1

    runs(20)
    tracemalloc.start()
    try:
        runs(20)
        before = traced_bytes()
        runs(400)
        after = traced_bytes()
    finally:
        tracemalloc.stop()

    assert after - before < 20_000


def traced_bytes() -> int:
    """What our code and the scheduler's hold; the interpreter's own tables grow by leaps."""
    gc.collect()
    places = [tracemalloc.Filter(True, where) for where in ("*/core/*", "*/apscheduler/*")]
    snapshot = tracemalloc.take_snapshot().filter_traces(places)
    return sum(trace.size for trace in snapshot.traces)


def fill(world: World, source: str, tasks: int) -> None:
    world.queue.publish(
        [
            Copy(an_image_task(f"https://mill.example/left/{number}.jpg", source=source))
            for number in range(tasks)
        ]
    )
