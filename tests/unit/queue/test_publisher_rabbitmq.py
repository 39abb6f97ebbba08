import itertools
import multiprocessing
import threading
import time

import pytest

from core.clock import SystemClock
from core.errors import BrokerDown, Misconfigured
from core.model.end import Failure
from core.ports import Copy, DeadLetter
from core.queue import depth, lanes
from core.queue.connection import opened
from core.queue.message import decode
from core.queue.publisher import RabbitPublisher
from tests.support.tasks import a_discover_task, an_image_task

pytestmark = pytest.mark.rabbitmq

FAILURE = Failure(reason="gone", message="404", passing=False, http_status=404)


@pytest.fixture
def publisher(vhost_url):
    with RabbitPublisher(vhost_url, ["feed", "press"], SystemClock(), patience_s=0) as made:
        yield made


def tasks(count, source="feed"):
    return [an_image_task(f"https://a.example/{n}.jpg", source=source) for n in range(count)]


def copies(count, source="feed", delay_s=0.0):
    return [Copy(task, delay_s) for task in tasks(count, source)]


def taken(url, queue, *, within_s=0.0):
    """The next message of a queue, acknowledged; waits for it for a while."""
    deadline = time.monotonic() + within_s
    with opened(url, "test") as connection:
        channel = connection.channel()
        while True:
            method, properties, body = channel.basic_get(queue, auto_ack=True)
            if method is not None or time.monotonic() > deadline:
                return properties, body
            time.sleep(0.05)


def test_making_a_publisher_connects_nothing():
    RabbitPublisher("amqp://127.0.0.1:1/", ["feed"], SystemClock()).close()


def test_a_window_is_on_its_lanes_when_publish_returns(publisher, vhost_url):
    publisher.publish([*copies(300), *copies(200, "press"), Copy(a_discover_task())])

    found = depth.read(vhost_url, ["feed", "press"]).lanes
    assert {"feed.manifest", "press.fragment", "headrace.verify"} <= found.keys()
    assert {lane: ready for lane, ready in found.items() if ready} == {
        "feed.image": 300,
        "feed.discover": 1,
        "press.image": 200,
    }


def test_a_lane_keeps_its_windows_order(publisher, vhost_url):
    publisher.publish(copies(3))

    for task in tasks(3):
        assert decode(taken(vhost_url, "feed.image")[1])[1] == task


def test_an_empty_window_does_not_even_connect():
    with RabbitPublisher("amqp://127.0.0.1:1/", ["feed"], SystemClock()) as unconnected:
        unconnected.publish([])


def test_many_callers_share_one_connection(publisher, vhost_url, vhost):
    callers = [threading.Thread(target=publisher.publish, args=[copies(50)]) for _ in range(12)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert depth.read(vhost_url, ["feed"]).lanes["feed.image"] == 600
    assert len(vhost.wait_for_connections(1)) == 1


def test_the_console_shows_who_publishes(publisher, vhost):
    publisher.publish(copies(1))
    (connection,) = vhost.wait_for_connections(1)

    assert connection["client_properties"]["connection_name"].startswith("headrace publisher ")


def test_a_full_queue_is_told_as_full_and_not_as_a_lost_connection(vhost):
    vhost.set_policy("short", r"^feed\.image$", {"max-length": 5})
    with RabbitPublisher(vhost.url, ["feed", "press"], SystemClock()) as publisher:
        with pytest.raises(BrokerDown, match=r"feed\.image: queue full") as caught:
            publisher.publish(copies(500))
        publisher.publish(copies(1, "press"))

        assert caught.value.reason == "queue_full"
        assert len(vhost.wait_for_connections(1)) == 1


def test_an_unknown_source_is_refused_before_it_could_freeze_the_delays(publisher):
    with pytest.raises(Misconfigured, match=r"\[sources.other\]"):
        publisher.publish(copies(1, "other", delay_s=1.0))


def test_a_deleted_lane_is_told_declared_again_and_used(publisher, vhost_url):
    publisher.publish(copies(1))
    with opened(vhost_url, "test") as connection:
        connection.channel().queue_delete("feed.image")

    with pytest.raises(BrokerDown, match=r"no queue 'feed.image'"):
        publisher.publish(copies(1))
    publisher.publish(copies(2))
    assert publisher.ready("feed") == 2


def test_a_deleted_delay_is_declared_again(publisher, vhost_url):
    publisher.publish(copies(1))
    with opened(vhost_url, "test") as connection:
        connection.channel().exchange_delete(lanes.delay(60))

    with pytest.raises(BrokerDown, match="NOT_FOUND"):
        publisher.publish(copies(1, delay_s=60.0))
    publisher.publish(copies(1, delay_s=60.0))
    assert depth.read(vhost_url, ["feed"]).delayed == 1


def test_a_queue_that_differs_fails_publishing_with_the_difference(vhost_url):
    with opened(vhost_url, "test") as connection:
        connection.channel().queue_declare("feed.dead", durable=True)

    with (
        RabbitPublisher(vhost_url, ["feed"], SystemClock()) as publisher,
        pytest.raises(Misconfigured, match=r"feed\.dead.*To migrate"),
    ):
        publisher.publish(copies(1))


def test_a_delayed_copy_rests_and_then_is_on_its_lane(publisher, vhost_url):
    started = time.monotonic()
    publisher.publish(copies(1, delay_s=1.0))
    properties, body = taken(vhost_url, "feed.image", within_s=10.0)

    assert decode(body)[1] == tasks(1)[0]
    assert [death["queue"] for death in properties.headers["x-death"]] == [lanes.delay(1)]
    assert time.monotonic() - started >= 0.95


def test_a_delayed_copy_is_counted_where_it_rests(publisher, vhost_url):
    publisher.publish(copies(1, delay_s=60.0))

    assert depth.read(vhost_url, ["feed"]).delayed == 1
    assert publisher.ready("feed") == 0


def test_a_copy_may_go_round_the_same_delay_again_and_again(publisher, vhost_url):
    """The received headers hold an `x-death`; copied, RabbitMQ would drop the second round."""
    for _ in range(3):
        publisher.publish(copies(1, delay_s=1.0))
        properties, body = taken(vhost_url, "feed.image", within_s=10.0)

        assert decode(body)[1] == tasks(1)[0]
        assert [death["count"] for death in properties.headers["x-death"]] == [1]


def test_a_dead_letter_is_in_its_sources_dead_queue_with_its_reason(publisher, vhost_url):
    publisher.bury(DeadLetter(an_image_task(source="press"), FAILURE))
    properties, body = taken(vhost_url, "press.dead")

    assert decode(body)[1] == an_image_task(source="press")
    assert (properties.headers["reason"], properties.headers["http_status"]) == ("gone", 404)


def test_an_unreadable_body_reaches_the_dead_queue_unchanged(publisher, vhost_url):
    publisher.bury_raw("feed.image", b"\x00not json", "bad_message", "what it said")
    properties, body = taken(vhost_url, "feed.dead")

    assert body == b"\x00not json"
    assert properties.headers["message"] == "what it said"


def test_a_newer_format_rests_and_comes_back_unchanged(publisher, vhost_url):
    publisher.delay_raw("feed.image", b'{"newer": true}', 1.0)

    assert taken(vhost_url, "feed.image", within_s=10.0)[1] == b'{"newer": true}'


def test_ready_counts_a_sources_lanes_and_no_other(publisher):
    publisher.publish([*copies(3), Copy(a_discover_task()), *copies(5, "press")])

    assert (publisher.ready("feed"), publisher.ready("press")) == (4, 5)


def test_ready_sees_what_another_process_has_just_published(publisher, vhost_url):
    publisher.publish(copies(1))
    assert publisher.ready("feed") == 1
    with RabbitPublisher(vhost_url, ["feed", "press"], SystemClock()) as another:
        another.publish(copies(2))

    assert publisher.ready("feed") == 3


def test_counting_survives_a_missing_lane(publisher, vhost_url):
    publisher.publish(copies(1))
    with opened(vhost_url, "test") as connection:
        connection.channel().queue_delete("feed.image")

    with pytest.raises(BrokerDown, match="NOT_FOUND"):
        publisher.ready("feed")
    assert publisher.ready("feed") == 0


def test_the_depth_of_queues_that_nobody_declared_is_nought(vhost_url):
    assert depth.read(vhost_url, ["feed"]).dead == {"feed": 0}


def test_a_closed_publisher_opens_again_when_it_is_used(publisher):
    publisher.publish(copies(1))
    publisher.close()
    publisher.publish(copies(1))

    assert publisher.ready("feed") == 2


def test_closing_twice_is_harmless(publisher):
    publisher.publish(copies(1))
    publisher.close()
    publisher.close()


def test_a_forked_child_publishes_over_a_connection_of_its_own(publisher, vhost):
    publisher.publish(copies(1))
    child = multiprocessing.get_context("fork").Process(target=publisher.publish, args=[copies(2)])
    child.start()
    child.join(30)
    publisher.publish(copies(3))

    assert child.exitcode == 0
    assert publisher.ready("feed") == 6


def test_a_window_waits_no_longer_than_it_was_told_to():
    clock = SystemClock()
    nobody = "amqp://127.0.0.1:1/"
    with (
        RabbitPublisher(nobody, ["feed"], clock, patience_s=60, confirm_s=0.3) as impatient,
        pytest.raises(BrokerDown, match="did not confirm within"),
    ):
        impatient.publish(copies(1))


def test_without_patience_the_first_failure_is_told():
    with (
        RabbitPublisher("amqp://127.0.0.1:1/", ["feed"], SystemClock(), patience_s=0) as alone,
        pytest.raises(BrokerDown, match="can't be reached"),
    ):
        alone.publish(copies(1))


def test_a_bad_address_is_told_at_the_first_use():
    with (
        RabbitPublisher("http://127.0.0.1/", ["feed"], SystemClock()) as wrong,
        pytest.raises(Misconfigured, match="not amqp"),
    ):
        wrong.publish(copies(1))


def test_every_call_after_close_during_a_window_is_answered(publisher):
    """Windows that race with a close end well or with BrokerDown, and never hang."""
    publisher.publish(copies(1))
    told = []

    def caller():
        try:
            publisher.publish(copies(200))
        except BrokerDown as error:
            told.append(error)

    callers = [threading.Thread(target=caller) for _ in range(6)]
    for number, one in zip(itertools.count(), callers, strict=False):
        one.start()
        if number == 2:
            publisher.close()
    for one in callers:
        one.join(20)

    assert not any(one.is_alive() for one in callers)
