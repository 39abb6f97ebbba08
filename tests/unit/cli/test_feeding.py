import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.app import App
from core.cli import feeding
from core.cli.census import Census, Standing
from core.cli.feeding import Feeding, orders
from core.errors import StorageDown
from core.model.task import Kind
from core.model.walk import FeedRecord, WalkState
from core.ports import Copy
from core.queue.embedded import EmbeddedQueue
from core.steps.ends import write_end
from core.steps.trigger import Feed
from tests.support.clock import FakeClock
from tests.support.command import until
from tests.support.runs import RECORD, a_walk, an_app, close, dead_end, got_end, payload, read_page

FEED = Feed(RECORD)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = an_app(tmp_path)
    yield app
    app.close()


@pytest.fixture
def census() -> Iterator[Census]:
    census = Census()
    yield census
    census.close()


def published(app: App, census: Census, monkeypatch: pytest.MonkeyPatch, **how: bool):
    """What a feeding publishes, in order."""
    copies: list[Copy] = []
    monkeypatch.setattr(EmbeddedQueue, "publish", lambda _queue, window: copies.extend(window))
    Feeding(app, orders(app, [FEED]), census, retry_dead=how.get("retry_dead", False)).feed()
    return [copy.task for copy in copies]


def test_a_new_feed_is_one_task(app: App, census: Census, monkeypatch: pytest.MonkeyPatch):
    [task] = published(app, census, monkeypatch)

    assert task.kind is Kind.DISCOVER


def test_leftovers_go_before_the_feed(app: App, census: Census, monkeypatch: pytest.MonkeyPatch):
    a_walk(app.store, 1, 2, state=None)
    write_end(app.store, got_end(1))

    tasks = published(app, census, monkeypatch)

    assert [task.kind for task in tasks] == [Kind.IMAGE, Kind.DISCOVER]
    assert census.standing(payload(1).media) is Standing.KNOWN
    assert census.standing(payload(2).media) is Standing.INCOMPLETE


def test_leftovers_are_of_their_orders_submission(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    """A purge while they are given means those that are still to come, too."""
    a_walk(app.store, 1, 2, state=None)

    leftovers = published(app, census, monkeypatch)
    order = leftovers.pop()

    assert len(leftovers) == 2
    assert {(task.origin_ms, task.serial) for task in leftovers} == {
        (order.origin_ms, order.serial)
    }


def test_an_open_walk_is_gone_on_with_at_its_next_page(app: App):
    walk = a_walk(app.store, 1, state=None)
    read = read_page(app.store, walk, 2, 2)
    close(app.store, walk, WalkState.COMPLETE)
    following = a_walk(app.store, 1, state=None)

    [order] = orders(app, [FEED])

    assert read.page == 2
    assert order.task.payload.walk == following.walk


def test_a_passing_fault_begins_its_next_generation(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    a_walk(app.store, 1, 2)
    write_end(app.store, dead_end(1, passing=True))
    write_end(app.store, dead_end(2))

    image, _ = published(app, census, monkeypatch)

    assert (image.payload.media, image.generation) == (payload(1).media, 2)
    assert census.standing(payload(2).media) is Standing.FAILED


def test_retry_dead_means_lasting_faults_too(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    a_walk(app.store, 1)
    write_end(app.store, dead_end(1))

    image, _ = published(app, census, monkeypatch, retry_dead=True)

    assert image.generation == 2


def test_a_leftover_on_several_pages_is_given_once(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    walk = a_walk(app.store, 1, state=None)
    read_page(app.store, walk, 2, 1)
    close(app.store, walk, WalkState.COMPLETE)

    assert len(published(app, census, monkeypatch)) == 2


def test_no_more_is_given_than_the_low_water_mark_lets_in(tmp_path: Path, census: Census):
    app = an_app(tmp_path, backpressure={"high_water": 300, "low_water": 250})
    a_walk(app.store, *range(1_000))
    feeding = Feeding(app, orders(app, [FEED]), census, retry_dead=False)
    feeding.start()
    queue = app.publisher
    assert isinstance(queue, EmbeddedQueue)
    until(lambda: queue.open_tasks() >= 400)  # two windows, and no worker takes any
    app.stop.set()
    feeding.end()
    over = feeding.is_over()
    given = queue.open_tasks()
    app.close()

    assert over
    assert given == 400


def test_what_is_waited_for_is_said_once(tmp_path: Path, census: Census):
    app = an_app(tmp_path, backpressure={"high_water": 300, "low_water": 150})
    app = replace(app, clock=FakeClock())
    a_walk(app.store, *range(1_000))
    started, said = app.clock.now(), []

    def wait(seconds: float, wake: threading.Event | None = None) -> bool:
        app.clock.advance(seconds)
        if app.clock.now() - started > 60.0:  # no worker takes any
            app.stop.set()
        return app.stop.is_set()

    app.clock.sleep = wait
    Feeding(
        app,
        orders(app, [FEED]),
        census,
        retry_dead=False,
        say=lambda line: said.append((round(app.clock.now() - started), line)),
    ).feed()
    app.close()

    assert said == [
        (
            5,
            "feed: waits, with 200 tasks open; the rest goes in once fewer than 150 are "
            "(headrace status)",
        )
    ]


def test_a_fault_of_ours_reaches_whoever_waits(app: App, census: Census):
    feeding = Feeding(app, orders(app, [FEED]), census, retry_dead=False)
    app.store.close()
    feeding.start()
    feeding.end()

    with pytest.raises(StorageDown):
        feeding.is_over()


def test_a_source_that_is_full_holds_up_no_other(tmp_path: Path, census: Census):
    sources = {"feed": {"adapter": "rss"}, "press": {"adapter": "rss"}}
    marks = {"high_water": 300, "low_water": 150}
    app = an_app(tmp_path, sources=sources, backpressure=marks)
    a_walk(app.store, *range(1_000))
    other = FeedRecord(feed="e" * 16, source="press", adapter="rss", address="https://p.example/")
    feeding = Feeding(app, orders(app, [FEED, Feed(other)]), census, retry_dead=False)
    feeding.start()
    queue = app.publisher
    assert isinstance(queue, EmbeddedQueue)
    until(lambda: queue.open_by_source() == {"feed": 200, "press": 1})
    app.stop.set()
    feeding.end()
    app.close()


def test_two_feeds_of_a_source_go_after_the_leftovers_of_both(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    a_walk(app.store, 1)
    other = RECORD.model_copy(update={"feed": "e" * 16, "address": "https://p.example/"})
    copies: list[Copy] = []
    monkeypatch.setattr(EmbeddedQueue, "publish", lambda _queue, window: copies.extend(window))
    given = orders(app, [Feed(other), FEED])
    Feeding(app, given, census, retry_dead=False).feed()

    assert [copy.task.kind for copy in copies] == [Kind.IMAGE, Kind.DISCOVER, Kind.DISCOVER]


# --- a million old media ---


def many_pages(app: App, count: int) -> None:
    walk = a_walk(app.store, 1, state=None)
    write_end(app.store, got_end(1))
    for number in range(2, count + 1):
        read_page(app.store, walk, number, number)
        write_end(app.store, got_end(number))
    close(app.store, walk, WalkState.COMPLETE)


def test_a_feed_does_not_wait_while_many_old_pages_are_looked_through(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(feeding, "_LOOKED_THROUGH", 3)
    many_pages(app, 20)
    order = orders(app, [FEED])
    read: list[int] = []
    outlines = app.store.walks.outlines
    monkeypatch.setattr(
        app.store.walks,
        "outlines",
        lambda *which: (read.append(one.page) or one for one in outlines(*which)),
    )
    begun_after: list[int] = []
    monkeypatch.setattr(EmbeddedQueue, "publish", lambda *_: begun_after.append(len(read)))
    Feeding(app, order, census, retry_dead=False).feed()

    assert begun_after == [3]
    assert census.counts()[Standing.KNOWN] == 20


def test_what_the_run_itself_reads_is_no_leftover(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    """The feed goes in early, and its pages come while the older ones are looked through."""
    monkeypatch.setattr(feeding, "_LOOKED_THROUGH", 1)
    walk = a_walk(app.store, 1, state=None)
    given = orders(app, [FEED])

    def publish(_queue: EmbeddedQueue, window: list[Copy]) -> None:
        copies.extend(window)
        if any(copy.task.kind is Kind.DISCOVER for copy in window):
            read_page(app.store, walk, 2, 2)

    copies: list[Copy] = []
    monkeypatch.setattr(EmbeddedQueue, "publish", publish)
    Feeding(app, given, census, retry_dead=False).feed()

    media = [copy.task.payload.media for copy in copies if copy.task.kind is Kind.IMAGE]
    assert media == [payload(1).media]


def test_a_known_media_costs_one_look_at_its_record(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    a_walk(app.store, *range(100))
    for number in range(100):
        write_end(app.store, got_end(number))
    given = orders(app, [FEED])
    done: list[str] = []
    monkeypatch.setattr(app.store._disk, "before", lambda what, path: done.append(what))
    monkeypatch.setattr(EmbeddedQueue, "publish", lambda *_: None)
    Feeding(app, given, census, retry_dead=False).feed()

    assert census.counts()[Standing.KNOWN] == 100
    assert len(done) < 100 + 10


def test_an_old_page_is_read_whole_only_for_what_is_open(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    walk = a_walk(app.store, 1, 2, state=None)
    read_page(app.store, walk, 2, 3, 4)
    close(app.store, walk, WalkState.COMPLETE)
    for number in (1, 3):
        write_end(app.store, got_end(number))
    write_end(app.store, dead_end(2))
    given = orders(app, [FEED])
    whole: list[int] = []
    page = app.store.walks.page
    monkeypatch.setattr(
        app.store.walks, "page", lambda *which: whole.append(which[-1]) or page(*which)
    )
    monkeypatch.setattr(EmbeddedQueue, "publish", lambda *_: None)
    Feeding(app, given, census, retry_dead=False).feed()

    assert whole == [2]
    assert census.counts() == {
        Standing.KNOWN: 2,
        Standing.FAILED: 1,
        Standing.INCOMPLETE: 1,
    }
