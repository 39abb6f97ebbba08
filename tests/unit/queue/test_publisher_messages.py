from core.model.end import Failure
from core.model.task import Kind
from core.ports import Copy, DeadLetter
from core.queue import envelope, lanes
from core.queue.message import decode
from tests.support.tasks import a_verify_task, an_image_task

NOW = 1_700_000_000.5
FAILURE = Failure(
    reason="gone",
    message="404",
    passing=False,
    http_status=404,
    exception="Gone",
    attempts=2,
    first_failure=NOW - 60,
    last_failure=NOW,
    worker="host:7",
)


def test_a_copy_that_is_due_goes_straight_to_its_lane():
    message = envelope.for_copy(Copy(an_image_task(source="press")), NOW)

    assert (message.exchange, message.routing_key) == ("", "press.image")


def test_a_delayed_copy_takes_the_longest_delay_that_fits_and_names_its_lane():
    message = envelope.for_copy(Copy(an_image_task(), delay_s=59.0), NOW)

    assert (message.exchange, message.routing_key) == ("headrace.delay.15s", "feed.image")


def test_the_body_is_the_task():
    task = an_image_task(attempts=3, serial=7)

    assert decode(envelope.for_copy(Copy(task), NOW).body)[1] == task


def test_a_message_outlives_the_broker_and_says_what_it_is():
    properties = envelope.for_copy(Copy(an_image_task()), NOW).properties

    assert properties.delivery_mode == 2
    assert properties.content_type == "application/json"
    assert properties.message_id == an_image_task().id
    assert (properties.type, properties.app_id) == ("image", "headrace")
    assert properties.timestamp == int(NOW)


def test_the_headers_are_for_people():
    task = an_image_task("https://a.example/1.jpg?signature=x", attempts=2, not_before=NOW)
    headers = envelope.for_copy(Copy(task, 5.0), NOW).properties.headers

    assert headers == {
        "source": "feed",
        "kind": "image",
        "subject": "https://a.example/1.jpg",
        "generation": 1,
        "attempts": 2,
        "crashes": 0,
        "serial": 0,
        "not_before": "2023-11-14T22:13:20Z",
    }


def test_a_letter_says_why():
    message = envelope.for_letter(DeadLetter(an_image_task(), FAILURE), NOW)
    headers = message.properties.headers

    assert (message.exchange, message.routing_key) == ("", "feed.dead")
    assert (headers["reason"], headers["http_status"], headers["attempts"]) == ("gone", 404, 2)
    assert (headers["exception"], headers["worker"]) == ("Gone", "host:7")
    assert headers["first_failure"] == "2023-11-14T22:12:20Z"
    assert headers["passing"] is False


def test_an_unreadable_body_is_kept_as_it_came():
    message = envelope.for_unreadable("feed.image", b"\xff{", "bad_message", "not JSON", NOW)

    assert (message.routing_key, message.body) == ("feed.dead", b"\xff{")
    assert message.properties.headers["reason"] == "bad_message"


def test_a_join_goes_to_the_lane_that_all_sources_share():
    message = envelope.for_copy(Copy(a_verify_task(source="press")), NOW)

    assert message.routing_key == "headrace.verify"
    assert message.properties.headers["source"] == "press"


def test_a_joins_letter_goes_to_its_sources_dead_queue():
    message = envelope.for_letter(DeadLetter(a_verify_task(source="press"), FAILURE), NOW)

    assert message.routing_key == "press.dead"


def test_an_unreadable_body_of_the_shared_lane_goes_where_status_alarms():
    message = envelope.for_unreadable("headrace.verify", b"\xff{", "bad_message", "?", NOW)

    assert message.routing_key == lanes.DROPPED


def test_a_body_that_rests_comes_back_to_its_own_lane():
    message = envelope.for_rest("press.discover", b"{}", 60.0, NOW)

    assert (message.exchange, message.routing_key) == ("headrace.delay.60s", "press.discover")
    assert message.properties.type == Kind.DISCOVER


def test_a_long_or_damaged_text_does_not_break_the_frame():
    failure = FAILURE.model_copy(update={"message": "\ud800" + "x" * 10_000})
    told = envelope.for_letter(DeadLetter(an_image_task(), failure), NOW).properties.headers

    assert told["message"].startswith("\\ud800xxx")
    assert len(told["message"]) < 2100
    assert told["message"].encode()
