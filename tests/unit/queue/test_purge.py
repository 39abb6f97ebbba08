from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.clock import SystemClock
from core.errors import SharedStateDown
from core.model.task import Task
from core.ports import Copy
from core.queue import purge
from core.queue.connection import opened
from core.queue.lanes import HEADRACE, lane
from core.queue.publisher import RabbitPublisher
from core.queue.purge import drain
from tests.support.dead_letters import on_the_lane, picture
from tests.support.queue import eventually
from tests.support.tasks import a_discover_task, a_verify_task

pytestmark = pytest.mark.rabbitmq

MARK = 1_000


@pytest.fixture
def publisher(vhost_url: str) -> Iterator[RabbitPublisher]:
    with RabbitPublisher(vhost_url, ["feed", "press"], SystemClock()) as made:
        yield made


def older(task: Task) -> bool:
    return task.serial < MARK


def publish(publisher: RabbitPublisher, *tasks: Task) -> None:
    for task in tasks:
        publisher.publish([Copy(task)])  # one by one: in this order


def serials(url: str, name: str = "feed.image") -> list[int]:
    return [task.serial for task in on_the_lane(url, name)]


def test_what_is_older_goes_from_every_lane(publisher: RabbitPublisher, vhost_url: str):
    page = a_discover_task().model_copy(update={"serial": 1})
    publish(publisher, page, picture(1, serial=1), picture(2, serial=MARK - 1))
    dropped = drain(vhost_url, "feed", older)

    assert {name: count for name, count in dropped.items() if count} == {
        "feed.discover": 1,
        "feed.image": 2,
    }
    assert serials(vhost_url) == []
    assert serials(vhost_url, "feed.discover") == []


def test_what_is_newer_stays_in_its_order(publisher: RabbitPublisher, vhost_url: str):
    ages = (1, MARK + 1, 2, MARK + 2, MARK, 3, MARK + 3)
    publish(publisher, *(picture(at, serial=serial) for at, serial in enumerate(ages)))
    dropped = drain(vhost_url, "feed", older)
    publish(publisher, picture(9, serial=MARK + 9))

    eventually(lambda: publisher.ready("feed") == 5, "what was kept is back")
    assert dropped["feed.image"] == 3
    assert serials(vhost_url) == [MARK + 1, MARK + 2, MARK, MARK + 3, MARK + 9]


def test_other_sources_keep_theirs_also_in_a_shared_lane(
    publisher: RabbitPublisher, vhost_url: str
):
    joins = [
        a_verify_task("a" * 32, source="press"),
        a_verify_task("b" * 32, source="feed"),
        a_verify_task("c" * 32, source="press"),
    ]
    publish(publisher, *joins, a_discover_task(source="press"))
    dropped = drain(vhost_url, "feed", older)
    shared = lane(HEADRACE, joins[0].kind)

    eventually(lambda: publisher.ready("press") == 1, "the other source's are where they were")
    assert dropped[shared] == 1
    assert [task.payload.media for task in on_the_lane(vhost_url, shared)] == ["a" * 32, "c" * 32]
    assert len(on_the_lane(vhost_url, "press.discover")) == 1


def test_what_cannot_be_read_is_left_for_a_worker_to_bury(
    publisher: RabbitPublisher, vhost_url: str
):
    publish(publisher, picture(1, serial=1))
    with opened(vhost_url, "test") as connection:
        connection.channel().basic_publish("", "feed.image", b"\x00no json")
    dropped = drain(vhost_url, "feed", older)

    assert dropped["feed.image"] == 1
    eventually(lambda: publisher.ready("feed") == 1, "the other message is back")


def test_lanes_that_nobody_declared_hold_nothing(vhost_url: str):
    assert set(drain(vhost_url, "feed", older).values()) == {0}


def test_trouble_in_the_middle_gives_back_what_was_not_dropped(
    publisher: RabbitPublisher, vhost_url: str
):
    publish(publisher, *(picture(number, serial=number) for number in range(4)))

    def fails_at_the_third(task: Task) -> bool:
        if task.serial == 2:
            raise SharedStateDown("Redis went away")
        return older(task)

    with pytest.raises(SharedStateDown):
        drain(vhost_url, "feed", fails_at_the_third)

    eventually(lambda: publisher.ready("feed") == 2, "the rest is back")
    assert serials(vhost_url) == [2, 3]


def test_tasks_that_are_published_meanwhile_keep_their_order(
    publisher: RabbitPublisher, vhost_url: str
):
    publish(publisher, *(picture(number, serial=1) for number in range(3)))

    def while_others_publish(task: Task) -> bool:
        if task.id == picture(0).id:
            publish(publisher, *(picture(10 + n, serial=MARK + n) for n in range(5)))
        return older(task)

    drain(vhost_url, "feed", while_others_publish)

    eventually(lambda: publisher.ready("feed") == 5, "the new ones are there")
    assert serials(vhost_url) == [MARK + n for n in range(5)]


def test_more_to_keep_than_is_held_is_left_to_the_workers(
    publisher: RabbitPublisher, vhost_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(purge, "_HELD", 3)
    ages = (1, MARK, MARK + 1, 2, MARK + 2, 3, MARK + 3)
    publish(publisher, *(picture(at, serial=serial) for at, serial in enumerate(ages)))
    dropped = drain(vhost_url, "feed", older)

    eventually(lambda: publisher.ready("feed") == 5, "what was kept is back")
    assert dropped["feed.image"] == 2
    assert sorted(serials(vhost_url)) == [3, MARK, MARK + 1, MARK + 2, MARK + 3]
