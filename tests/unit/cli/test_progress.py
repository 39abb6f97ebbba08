from collections.abc import Iterator
from pathlib import Path

import pytest

from core.app import App
from core.budget.budget import TokenBudget
from core.cli.census import Census, Standing
from core.cli.progress import Gauge, Meters, Watch
from core.ledger.memory import MemoryLedger
from core.model.end import MediaEnd
from core.model.walk import WalkPage
from core.steps.ends import write_end
from core.steps.heartbeat import Heartbeat
from core.steps.run import Run
from tests.support.clock import FakeClock
from tests.support.runs import a_walk, an_app, dead_end, got_end, payload, read_page
from tests.support.tasks import an_image_task


class Shown:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.ends: list[str] = []

    def page(self, page: WalkPage) -> None:
        self.pages.append(page.page)

    def ended(self, end: MediaEnd) -> None:
        self.ends.append(end.state)

    def tick(self, meters: Meters) -> None:
        raise AssertionError

    def say(self, text: str) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError


@pytest.fixture
def census() -> Iterator[Census]:
    census = Census()
    yield census
    census.close()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = an_app(tmp_path)
    yield app
    app.close()


def test_ends_are_counted_and_shown(app: App, census: Census):
    screen, watch = Shown(), Watch(census)
    watch.begin(app.store, screen)

    watch(got_end(1, b"12345"))
    watch(dead_end(2))

    assert screen.ends == ["got", "dead"]
    assert census.counts()[Standing.DONE] == census.counts()[Standing.FAILED] == 1
    assert census.got_bytes == 5


def test_a_reader_that_went_away_makes_no_task_fail(app: App, census: Census):
    class Closed(Shown):
        def ended(self, end: MediaEnd) -> None:
            raise BrokenPipeError

    watch = Watch(census)
    watch.begin(app.store, Closed())

    watch(got_end(1))

    assert census.counts()[Standing.DONE] == 1


def test_media_on_a_page_that_were_there_before_are_known(app: App, census: Census):
    write_end(app.store, got_end(1))
    write_end(app.store, dead_end(2))
    walk = a_walk(app.store, state=None)
    screen, watch = Shown(), Watch(census)
    watch.begin(app.store, screen)

    watch(read_page(app.store, walk, 2, 1, 2, 3))

    assert screen.pages == [2]
    assert [census.standing(payload(number).media) for number in (1, 2, 3)] == [
        Standing.KNOWN,
        Standing.FAILED,
        Standing.INCOMPLETE,
    ]


def test_a_media_that_was_opened_again_is_not_failed_yet(app: App, census: Census):
    write_end(app.store, dead_end(1))
    app.store.media.reopen(payload(1).media, 1)
    watch = Watch(census)
    watch.begin(app.store, Shown())

    watch(read_page(app.store, a_walk(app.store, state=None), 2, 1))

    assert census.standing(payload(1).media) is Standing.INCOMPLETE


def test_rates_are_those_of_the_last_ten_seconds(census: Census):
    clock = FakeClock()
    heartbeat = Heartbeat(MemoryLedger(clock), clock, lease_s=30.0)
    gauge = Gauge(census, heartbeat, TokenBudget.memory(clock), ["feed"], clock)
    gauge.read()
    for number in range(100):
        clock.advance(0.5)
        if number >= 60:
            census.settle(str(number), Standing.DONE, 1_000)
        meters = gauge.read()

    assert meters.got == 40
    assert meters.files_per_s == pytest.approx(2.0, rel=0.1)
    assert meters.bytes_per_s == pytest.approx(2_000, rel=0.1)


def test_bytes_under_way_count_for_the_rate(census: Census):
    run = Run(an_image_task(), token="t", renew_until=0.0, granted=print)

    class Busy(Heartbeat):
        def running(self) -> list[Run]:
            return [run]

    clock = FakeClock()
    heartbeat = Busy(MemoryLedger(clock), clock, lease_s=30.0)
    gauge = Gauge(census, heartbeat, TokenBudget.memory(clock), ["feed"], clock)
    gauge.read()
    run.bytes_read = 500
    clock.advance(1.0)
    meters = gauge.read()

    assert meters.bytes_per_s == pytest.approx(500)
    assert list(meters.running) == [run]


def test_a_blocked_source_is_told(census: Census):
    clock = FakeClock()
    budget = TokenBudget.memory(clock)
    budget.throttled("feed", era=0, seconds=12.0)
    heartbeat = Heartbeat(MemoryLedger(clock), clock, lease_s=30.0)
    gauge = Gauge(census, heartbeat, budget, ["feed"], clock)

    assert gauge.read().blocked_s == pytest.approx(12.0)
