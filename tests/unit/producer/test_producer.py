from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from core.errors import BrokerDown, Misconfigured, StorageDown
from core.model.switch import Pause, Switch
from core.model.walk import WalkPage
from core.producer.producer import Producer
from core.settings import Settings
from core.steps.trigger import find_feed
from tests.support.command import until
from tests.support.producing import GivenTime, World, a_tree
from tests.unit.producer.conftest import MakeWorld

PRESS = "https://press.example/rss"
MILL = "https://mill.example/feed.json"
HOUR_S = 3600.0


def a_feed(address: str = PRESS, source: str = "feed", **more: object) -> dict[str, object]:
    return {"source": source, "address": address} | more


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "core.producer")


def said(caplog: pytest.LogCaptureFixture, word: str) -> list[str]:
    return [line for line in caplog.messages if word in line]


def pause(world: World, source: str, reason: str | None) -> None:
    switches = world.producers[0]._lending.newest.store.switches
    pause = Pause(reason=reason, since=world.clock.now()) if reason else None
    switches.change(source, lambda _before: Switch(pause=pause))


# --- when ---


def test_every_feed_is_asked_at_the_start_and_then_by_its_interval(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed(every="15m"), "mill": a_feed(MILL)})
    world.produce()

    assert sorted(world.after(1.0)) == [MILL, PRESS]
    assert world.after(HOUR_S - 2.0) == [PRESS] * 3
    assert sorted(world.after(2.0)) == [MILL, PRESS]


def test_first_runs_are_spread_by_the_jitter_but_come_at_once(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed(every="1d", jitter="1h"), "mill": a_feed(MILL)})
    world.produce()

    assert world.after(1.0) == [MILL]
    assert world.after(9.0) == [PRESS]


def test_a_changed_feed_with_much_jitter_is_asked_at_once_too(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed()})
    producer, _ = world.produce()
    world.after(1.0)

    producer.take_over(world.app(settings_with(world, press=a_feed(every="1d", jitter="1h"))))

    assert world.after(10.0) == [PRESS]


def test_cron_means_local_time(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed(cron="30 6 * * mon-fri")})
    zone = ZoneInfo("Asia/Kolkata")
    world.clock.advance(datetime(2026, 7, 3, 6, 0, tzinfo=zone).timestamp() - world.clock.now())
    world.produce(zone=zone)  # a Friday

    assert world.after(60.0) == [PRESS]
    assert world.after(1740.0 + 1.0) == [PRESS]
    assert world.after(3 * 86_400.0 - 5.0) == []
    assert world.after(5.0) == [PRESS]


def test_a_feed_has_one_run_at_a_time(a_world: MakeWorld, caplog: pytest.LogCaptureFixture):
    world = a_world(feeds={"press": a_feed(every="1m")})
    _, scheduler = world.produce()

    for _ in range(5):
        scheduler.look()
        world.clock.advance(60.0)

    assert len(scheduler.runs.begun) == 1
    assert said(caplog, "feed press: its last run is not over, so this one is left out")


def test_late_runs_are_one(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed(every="1m")})
    _, scheduler = world.produce()
    world.after(1.0)

    world.clock.advance(5 * HOUR_S)  # the machine slept
    scheduler.look()

    assert scheduler.runs.end() == 1
    assert world.after(30.0) == []


# --- what it does ---


def test_a_walk_that_was_interrupted_goes_on_where_it_stopped(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed()})
    producer, _ = world.produce()
    store = producer._lending.newest.store
    record = find_feed(world.settings, "press").record
    walk, _ = store.walks.open_or_resume(record.feed, now=world.clock.now() - 86_400.0)
    for page in (1, 2):
        read = WalkPage(
            walk=walk.walk,
            feed=walk.feed,
            page=page,
            next_cursor=f"cursor-{page + 1}",
            read_at=world.clock.now(),
        )
        store.walks.end_page(read)

    world.after(1.0)

    [task] = world.publisher.published
    assert (task.payload.walk, task.payload.page) == (walk.walk, 3)
    assert task.payload.cursor == "cursor-3"
    assert store.walks.asked_again(walk)


def test_a_walk_begins_once_and_is_open_from_then_on(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"press": a_feed(every="1h")})
    world.produce()
    world.after(2 * HOUR_S + 1.0)

    walk = world.publisher.published[0].payload.walk
    assert said(caplog, "feed press: walk") == [
        f"feed press: walk {walk} begins",
        f"feed press: walk {walk} is still open at page 1",
        f"feed press: walk {walk} is still open at page 1",
    ]


def test_an_error_that_nobody_foresaw_is_told_and_the_next_run_comes(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"press": a_feed()})
    world.produce()
    world.publisher.down = ZeroDivisionError("ours")
    world.after(1.0)
    world.publisher.down = None

    asked = world.after(HOUR_S)

    [line] = [record for record in caplog.records if "nobody foresaw" in record.message]
    assert line.levelno == logging.ERROR
    assert line.exc_info[0] is ZeroDivisionError
    assert asked == [PRESS]


def test_what_is_down_is_told_once_and_tried_each_minute(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"press": a_feed()})
    world.produce()
    world.publisher.down = BrokerDown("RabbitMQ is not there")

    assert world.after(600.0) == []
    world.publisher.down = None
    assert world.after(60.0) == [PRESS]
    assert world.after(HOUR_S - 61.0) == []
    [line] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert line.message == "feed press: could not be asked: RabbitMQ is not there"


def test_a_feed_that_cannot_be_asked_keeps_no_other_from_it(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"gone": a_feed("list-that-is-not-there.txt"), "mill": a_feed(MILL)})
    world.produce()

    assert world.after(600.0) == [MILL]
    [line] = said(caplog, "feed gone: could not be asked")
    assert "is neither an address" in line


# --- the gate ---


def test_a_paused_source_is_held_with_its_reason_and_goes_on_soon_after(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"press": a_feed(every="6h")})
    world.produce()
    pause(world, "feed", "the cookie ran out")

    assert world.after(600.0) == []
    pause(world, "feed", None)
    assert world.after(60.0) == [PRESS]
    assert said(caplog, "held back") == [
        "feed press: held back: source feed is paused: the cookie ran out"
    ]


def test_a_blocked_source_is_held_until_its_block_ends(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"press": a_feed(every="6h")})
    world.produce()
    world.budget.blocked["feed"] = 40.0

    assert world.after(39.0) == []
    world.budget.blocked.clear()
    assert world.after(2.0) == [PRESS]
    assert said(caplog, "held back") == [
        "feed press: held back: source feed told us to slow down, and is blocked for 40 s more"
    ]


def test_a_feed_whose_host_is_blocked_is_held_and_the_sources_others_are_not(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"press": a_feed(every="6h"), "mill": a_feed(MILL, every="6h")})
    world.budget.blocked["feed/press.example"] = 40.0
    world.produce()

    assert world.after(39.0) == [MILL]
    world.budget.blocked.clear()
    assert world.after(2.0) == [PRESS]
    assert said(caplog, "held back") == [
        "feed press: held back: press.example, which is asked for the feed, told us to slow down, "
        "and is blocked for 40 s more"
    ]


def test_a_feed_is_held_while_the_host_of_its_api_is_blocked(a_world: MakeWorld):
    club = "https://www.facebook.com/HarbourLanternClub"
    world = a_world(
        sources={"club": {"adapter": "facebook"}},
        feeds={"club": a_feed(club, source="club", every="6h")},
    )
    world.budget.blocked["club/graph.facebook.com"] = 40.0
    world.produce()

    assert world.after(39.0) == []
    world.budget.blocked.clear()
    assert world.after(2.0) == [club]


def test_a_feed_is_not_held_for_a_host_that_nobody_is_to_ask(a_world: MakeWorld):
    club = "https://www.facebook.com/HarbourLanternClub"
    world = a_world(
        sources={"club": {"adapter": "facebook"}}, feeds={"club": a_feed(club, source="club")}
    )
    world.budget.blocked["club/www.facebook.com"] = 40.0
    world.produce()

    assert world.after(1.0) == [club]


def test_a_source_of_one_feed_does_not_hold_anothers(a_world: MakeWorld):
    world = a_world(
        sources={"mill": {}}, feeds={"press": a_feed(), "mill": a_feed(MILL, source="mill")}
    )
    world.produce()
    pause(world, "feed", "for tonight")

    assert world.after(600.0) == [MILL]


# --- other settings ---


def settings_with(world: World, **feeds: object) -> Settings:
    return a_tree(world.settings.store.parent, {"feeds": feeds})


def test_settings_that_are_taken_over_ask_what_is_new_and_leave_the_rest_its_time(
    a_world: MakeWorld,
):
    world = a_world(feeds={"press": a_feed(), "old": a_feed("https://old.example/rss")})
    producer, _ = world.produce()
    world.after(1800.0)

    producer.take_over(world.app(settings_with(world, press=a_feed(), mill=a_feed(MILL))))

    assert world.after(1.0) == [MILL]
    assert world.after(1800.0) == [PRESS]
    assert world.after(1800.0) == [MILL]
    assert len(world.closed) == 1


def test_a_feed_that_changed_is_asked_at_once(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed()})
    producer, _ = world.produce()
    world.after(10.0)

    producer.take_over(world.app(settings_with(world, press=a_feed(MILL, every="10m"))))

    assert world.after(600.0 + 1.0) == [MILL, MILL]


def test_settings_whose_store_cannot_be_had_change_nothing(a_world: MakeWorld, tmp_path):
    world = a_world(feeds={"press": a_feed()})
    producer, _ = world.produce()
    world.after(1.0)
    (tmp_path / "store" / "store.json").write_bytes(b"{")

    with pytest.raises(StorageDown):
        producer.take_over(world.app(settings_with(world, mill=a_feed(MILL))))

    assert world.after(HOUR_S) == [PRESS]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"store": "elsewhere"}, "store changed"),
        ({"broker": {"url": "amqp://guest:secret@other.example:5672/%2F"}}, "broker.url changed"),
        ({"redis": {"url": "redis://:secret@other.example/0"}}, "redis.url changed"),
    ],
)
def test_what_workers_would_not_see_is_not_taken_over(
    a_world: MakeWorld, tmp_path, changed: dict[str, object], named: str
):
    world = a_world(feeds={"press": a_feed()})
    producer, _ = world.produce()
    world.after(1.0)
    feeds = {"feeds": {"mill": a_feed(MILL)}}
    where = {"store": tmp_path / changed["store"]} if "store" in changed else changed

    with pytest.raises(Misconfigured, match=f"{named}, which takes a restart") as refused:
        producer.take_over(world.app(a_tree(tmp_path, feeds | where)))

    assert "secret" not in str(refused.value)
    assert not (tmp_path / "elsewhere").exists()
    assert world.after(HOUR_S) == [PRESS]


def test_another_store_in_the_same_folder_is_not_taken_over(a_world: MakeWorld, tmp_path):
    world = a_world(feeds={"press": a_feed()})
    producer, _ = world.produce()
    world.after(1.0)
    (tmp_path / "store").rename(tmp_path / "away")  # as when its disk is not mounted
    other = world.app()

    with pytest.raises(Misconfigured, match="holds another"):
        producer.take_over(other)

    other.close()


def test_a_run_that_is_under_way_keeps_what_it_uses(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed()})
    producer, _ = world.produce()
    first = producer._lending.newest

    with producer._lending.lend() as lent:
        producer.take_over(world.app())
        closed_meanwhile = list(world.closed)

    assert lent is first
    assert closed_meanwhile == []
    assert [app is first for app in world.closed] == [True]


def test_closing_lets_no_further_run_begin(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed()})
    producer, scheduler = world.produce()
    scheduler.look()

    producer.close()
    scheduler.runs.end()

    assert world.publisher.published == []
    world.producers.clear()


def test_closing_says_that_it_waits_only_where_a_run_is_under_way(
    a_world: MakeWorld, caplog: pytest.LogCaptureFixture
):
    world = a_world(feeds={"press": a_feed()})
    busy, _ = world.produce()
    idle, _ = world.produce()
    world.producers.clear()

    idle.close()
    before = said(caplog, "are waited for")
    with busy._lending.lend():
        ending = threading.Thread(target=busy.close)
        ending.start()
        until(lambda: said(caplog, "are waited for"))
    ending.join(10.0)

    assert before == []
    assert said(caplog, "are waited for") == ["runs under way are waited for"]


def test_a_producer_that_never_started_can_be_closed(a_world: MakeWorld):
    world = a_world(feeds={"press": a_feed()})
    Producer(world.app(), GivenTime(UTC)).close()

    assert len(world.closed) == 1
