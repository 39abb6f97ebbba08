import logging
from urllib.parse import urlsplit

import pytest
from pika.adapters.utils.connection_workflow import (
    AMQPConnectionWorkflowFailed,
    AMQPConnectorSocketConnectError,
)
from pika.exceptions import (
    AMQPConnectionError,
    ChannelClosedByBroker,
    ConnectionBlockedTimeout,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
    StreamLostError,
)

from core.errors import BrokerDown, Misconfigured
from core.queue.connection import address, opened, parameters, quiet_pika, translate

URL = "amqp://person:topsecret@broker.example:5999/press"


def test_the_connection_says_in_the_console_who_it_is():
    name = parameters(URL, "publisher").client_properties["connection_name"]

    assert name.startswith("headrace publisher ")
    assert ":" in name


def test_what_the_address_sets_wins():
    given = parameters(URL + "?heartbeat=7&blocked_connection_timeout=2", "publisher")

    assert (given.heartbeat, given.blocked_connection_timeout) == (7, 2.0)


def test_a_blocked_connection_is_given_up_some_time():
    assert parameters(URL, "publisher").blocked_connection_timeout == 30.0


@pytest.mark.parametrize(
    "url",
    [
        "http://person:topsecret@broker.example/",
        "broker.example:5672",
        "amqp://person:topsecret@broker.example:port/",
        "amqp://person:topsecret@broker.example/?no_such_option=topsecret",
        "amqp://topsecret@broker.example/",
        "amqp://[topsecret",
    ],
)
def test_an_address_that_can_not_be_right_is_refused_without_its_password(url):
    with pytest.raises(Misconfigured) as caught:
        parameters(url, "publisher")

    assert "HEADRACE_RABBITMQ_URL" in str(caught.value)
    assert "topsecret" not in str(caught.value).replace("no_such_option=topsecret", "")


def test_people_see_the_address_without_user_and_password():
    assert address(URL) == "amqp://broker.example:5999/press"


def test_pika_is_silenced_but_a_level_that_somebody_set_stands(monkeypatch):
    logger = logging.getLogger("pika")
    monkeypatch.setattr(logger, "level", logging.DEBUG)
    quiet_pika()
    assert logger.level == logging.DEBUG

    monkeypatch.setattr(logger, "level", logging.NOTSET)
    quiet_pika()
    assert logger.level == logging.CRITICAL


def test_a_refused_connection_names_the_address_and_what_to_check():
    refused = ConnectionRefusedError(111, "Connection refused")
    wrapped = AMQPConnectionError(
        AMQPConnectionWorkflowFailed([AMQPConnectorSocketConnectError(refused)])
    )
    error = translate(wrapped, URL)

    assert type(error) is BrokerDown
    assert "amqp://broker.example:5999/press can't be reached: Connection refused" in str(error)


@pytest.mark.parametrize("refusal", [ProbableAuthenticationError, ProbableAccessDeniedError])
def test_a_refused_login_or_virtual_host_is_for_a_person(refusal):
    error = translate(refusal("ACCESS_REFUSED"), URL)

    assert type(error) is Misconfigured
    assert "topsecret" not in str(error)


def test_a_memory_or_disk_alarm_is_named():
    error = translate(ConnectionBlockedTimeout("..."), URL)

    assert (type(error), error.reason) == (BrokerDown, "broker_blocked")


def test_what_the_broker_says_when_it_closes_is_passed_on():
    assert "404 NOT_FOUND - no queue" in str(
        translate(ChannelClosedByBroker(404, "NOT_FOUND - no queue"), URL)
    )


def test_a_lost_stream_is_broker_down():
    assert type(translate(StreamLostError("eof"), URL)) is BrokerDown


def test_an_error_of_the_disk_within_an_errand_is_not_taken_for_rabbitmqs(vhost_url):
    with pytest.raises(PermissionError), opened(vhost_url, "test"):
        raise PermissionError("the store's")


def test_a_wrong_password_is_misconfigured(vhost_url):
    parts = urlsplit(vhost_url)
    wrong = vhost_url.replace(f":{parts.password}@", ":wrong@")

    with pytest.raises(Misconfigured, match="refuses us"), opened(wrong, "test"):
        pass


def test_a_virtual_host_that_does_not_exist_is_misconfigured(vhost_url):
    with pytest.raises(Misconfigured, match="virtual host"), opened(vhost_url + "x", "test"):
        pass
