import multiprocessing
import os
import signal

import pytest
from pika import BasicProperties

from core.clock import SystemClock
from core.errors import BrokerDown
from core.model.task import State
from core.queue import dead_letters, lanes
from core.queue.connection import opened
from core.queue.dead_letters import Selection, browse, discard
from core.queue.publisher import RabbitPublisher
from tests.support.dead_letters import (
    GONE,
    SLOW,
    CrashAfterConfirm,
    CrashBeforePublish,
    again,
    letter,
    listed,
    on_the_lane,
    picture,
)
from tests.support.tasks import a_discover_task

pytestmark = pytest.mark.rabbitmq


@pytest.fixture
def publisher(vhost_url):
    with RabbitPublisher(vhost_url, ["feed", "press"], SystemClock()) as made:
        yield made


def test_a_requeued_task_is_on_its_lane_with_its_next_generation(publisher, vhost_url):
    publisher.bury(letter(picture(1, attempts=5)))
    report = again(vhost_url, publisher)
    (task,) = on_the_lane(vhost_url)

    assert [one.id for one in report.published] == [task.id]
    assert (task.generation, task.attempts, task.state) == (2, 0, State.PENDING)
    assert listed(vhost_url) == []


def test_a_report_keeps_what_people_see_and_no_body(publisher, vhost_url):
    publisher.bury(letter(picture(1)))
    (one,) = again(vhost_url, publisher).published

    assert (one.body, one.task) == (b"", None)
    assert (one.kind, one.reason) == ("image", GONE.reason)


def test_only_what_is_selected_is_requeued_and_the_rest_keeps_its_order(publisher, vhost_url):
    for number in range(6):
        publisher.bury(letter(picture(number), SLOW if number % 2 else GONE))
    again(vhost_url, publisher, Selection(reason="timeout"))

    assert [task.id for task in on_the_lane(vhost_url)] == [picture(n).id for n in (1, 3, 5)]
    assert listed(vhost_url) == [picture(n).id for n in (0, 2, 4)]


def test_one_letter_may_be_requeued_by_its_id(publisher, vhost_url):
    for number in range(3):
        publisher.bury(letter(picture(number)))
    again(vhost_url, publisher, Selection(ids=frozenset({picture(1).id})))

    assert [task.id for task in on_the_lane(vhost_url)] == [picture(1).id]


def test_a_dry_run_tells_and_touches_nothing(publisher, vhost_url):
    publisher.bury(letter(picture(1)))

    def never(task):
        raise AssertionError("a dry run reopens nothing")

    report = again(vhost_url, publisher, reopen=never, dry_run=True)

    assert [one.id for one in report.published] == [picture(1).id]
    assert listed(vhost_url) == [picture(1).id]
    assert on_the_lane(vhost_url) == []


def test_a_task_with_several_letters_lives_on_once_from_its_latest(publisher, vhost_url):
    moved = picture(1, generation=2, serial=9)
    for task in (picture(1), moved, picture(1), picture(2)):
        publisher.bury(letter(task))
    report = again(vhost_url, publisher)
    lane = on_the_lane(vhost_url)

    assert sorted(task.generation for task in lane if task.id == picture(1).id) == [3]
    assert (len(report.published), len(report.settled)) == (2, 2)
    assert listed(vhost_url) == []


def test_repeats_in_another_batch_are_settled_too(publisher, vhost_url, monkeypatch):
    monkeypatch.setattr(dead_letters, "BATCH", 2)
    for number in (1, 2, 3, 1, 2, 1):
        publisher.bury(letter(picture(number)))
    report = again(vhost_url, publisher)

    assert len(on_the_lane(vhost_url)) == 3
    assert (len(report.published), len(report.settled)) == (3, 3)
    assert listed(vhost_url) == []


def test_a_task_that_is_no_longer_dead_is_settled_and_not_published(publisher, vhost_url):
    publisher.bury(letter(picture(1)))
    report = again(vhost_url, publisher, reopen=lambda _task: None)

    assert [one.id for one in report.settled] == [picture(1).id]
    assert on_the_lane(vhost_url) == []
    assert listed(vhost_url) == []


def test_a_crash_between_confirm_and_ack_repeats_and_loses_nothing(publisher, vhost_url):
    for number in range(3):
        publisher.bury(letter(picture(number)))
    with pytest.raises(BrokerDown, match="crashed here"):
        again(vhost_url, CrashAfterConfirm(publisher))

    assert listed(vhost_url) == [picture(n).id for n in range(3)]
    again(vhost_url, publisher)
    assert {task.id for task in on_the_lane(vhost_url)} == {picture(n).id for n in range(3)}
    assert listed(vhost_url) == []


def test_a_crash_before_publishing_leaves_the_letters(publisher, vhost_url):
    publisher.bury(letter(picture(1)))
    with pytest.raises(BrokerDown, match="crashed here"):
        again(vhost_url, CrashBeforePublish(publisher))

    assert listed(vhost_url) == [picture(1).id]


def _killed_after_publishing(url):
    class KillAfterConfirm(CrashAfterConfirm):
        def publish(self, window):
            self._real.publish(window)
            os.kill(os.getpid(), signal.SIGKILL)

    again(url, KillAfterConfirm(RabbitPublisher(url, ["feed"], SystemClock())))


def test_a_requeue_that_is_killed_loses_nothing(publisher, vhost_url):
    publisher.bury(letter(picture(1)))
    child = multiprocessing.get_context("fork").Process(
        target=_killed_after_publishing, args=[vhost_url]
    )
    child.start()
    child.join(30)

    assert child.exitcode == -signal.SIGKILL
    assert [task.id for task in on_the_lane(vhost_url)] == [picture(1).id]
    assert listed(vhost_url) == [picture(1).id]


def test_an_unreadable_letter_is_listed_left_by_a_requeue_and_can_be_discarded(
    publisher, vhost_url
):
    publisher.bury_raw("feed.image", b"\x00no json", "bad_message", "not a task")
    publisher.bury(letter(picture(1)))
    report = again(vhost_url, publisher)
    (left,) = browse(vhost_url, "feed")

    assert [one.id for one in report.unreadable] == [left.id]
    assert (left.task, left.reason, left.kind) == (None, "bad_message", "image")
    assert discard(vhost_url, "feed", Selection(ids=frozenset({left.id})))
    assert listed(vhost_url) == []


def test_discarding_takes_all_letters_of_what_is_selected_and_no_other(publisher, vhost_url):
    for task in (picture(1), picture(2), picture(1)):
        publisher.bury(letter(task))
    gone = discard(vhost_url, "feed", Selection(ids=frozenset({picture(1).id})))

    assert len(gone) == 2
    assert listed(vhost_url) == [picture(2).id]


def test_a_dry_discard_touches_nothing(publisher, vhost_url):
    publisher.bury(letter(picture(1)))

    assert discard(vhost_url, "feed", Selection(), dry_run=True)
    assert listed(vhost_url) == [picture(1).id]


def test_a_requeue_ends_although_its_tasks_die_again_at_once(publisher, vhost_url):
    class DiesAgain(CrashAfterConfirm):
        def publish(self, window):
            for copy in window:
                self._real.bury(letter(copy.task))

    publisher.bury(letter(picture(1)))
    report = again(vhost_url, DiesAgain(publisher))

    assert len(report.published) == 1
    assert [one.generation for one in browse(vhost_url, "feed")] == [2]


def test_what_is_settled_in_one_go_is_gone_when_the_reading_ends(publisher, vhost_url):
    publisher.bury(letter(picture(1)))
    bodies = [b"no JSON %d" % number for number in range(200)]
    with opened(vhost_url, "letters") as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for body in bodies:
            channel.basic_publish("", lanes.dead("feed"), body, BasicProperties(delivery_mode=2))

    with dead_letters._reading(vhost_url, "feed") as reading:
        for one in list(reading.letters()):
            reading.settle(one)

    assert listed(vhost_url) == []


def test_another_source_is_left_alone(publisher, vhost_url):
    publisher.bury(letter(a_discover_task(source="press")))
    again(vhost_url, publisher)

    assert len(listed(vhost_url, "press")) == 1
