import json
from pathlib import Path

import pytest
from pika.exceptions import ChannelClosedByBroker

from core.errors import BrokerDown, Misconfigured
from core.queue import lanes, topology
from core.queue.connection import opened
from core.settings import Settings

FILE = Path(__file__).resolve().parents[3] / "rabbitmq" / "definitions.json"


def declare(url, *sources):
    with opened(url, "test") as connection:
        topology.declare(connection.channel(), sources, url=url)


def refusal(text):
    return str(topology.explain(ChannelClosedByBroker(406, "PRECONDITION_FAILED - " + text), ""))


def test_every_source_has_its_lanes_and_a_dead_queue():
    names = {queue.name for queue in topology.queues(["feed", "press"])}

    assert {"feed.discover", "feed.image", "feed.dead", "press.image", "press.dead"} <= names


def test_what_all_sources_share_is_declared_once_and_is_no_source():
    names = [queue.name for queue in topology.queues(["feed", lanes.HEADRACE, "press"])]

    assert names.count("headrace.verify") == 1
    assert "headrace.dead" not in names
    assert "feed.verify" not in names


def test_where_things_lead_is_declared_before_what_leads_there():
    names = [queue.name for queue in topology.queues(["feed"])]

    assert names[0] == lanes.DROPPED
    assert names.index("feed.image") < names.index(lanes.delay(1))


def test_every_queue_is_quorum():
    assert {q.arguments["x-queue-type"] for q in topology.queues(["feed"])} == {"quorum"}


def test_a_difference_is_told_with_both_values_and_the_way_out():
    told = refusal(
        "inequivalent arg 'x-message-ttl' for queue 'headrace.delay.1s' in vhost 'press': "
        "received '1000' but current is '2000'"
    )

    assert "queue 'headrace.delay.1s' in virtual host 'press'" in told
    assert "x-message-ttl: there 2000, wanted 1000" in told
    assert "delete it" in told


def test_a_missing_argument_is_told_as_none():
    told = refusal(
        "inequivalent arg 'x-queue-type' for queue 'a' in vhost '/': received the value 'quorum' "
        "of type 'longstr' but current is none"
    )

    assert "x-queue-type: there none, wanted quorum" in told


def test_a_refusal_in_words_that_we_do_not_know_is_passed_on_whole():
    assert "invalid arg 'x-novelty'" in refusal("invalid arg 'x-novelty' for queue 'a'")


def test_another_end_of_the_channel_is_no_difference():
    error = topology.explain(ChannelClosedByBroker(541, "INTERNAL_ERROR"), "amqp://h/")

    assert type(error) is BrokerDown


def test_the_definitions_file_agrees_with_the_lanes():
    assert topology.main(["--check", str(FILE)]) == 0


def test_the_definitions_hold_no_user():
    assert not {"users", "permissions"} & set(json.loads(FILE.read_text()))


def test_a_changed_definitions_file_is_noticed(tmp_path, capsys):
    path = tmp_path / "definitions.json"
    path.write_text(FILE.read_text().replace("1000", "2000", 1))

    assert topology.main(["--check", str(path)]) == 1
    assert "--write" in capsys.readouterr().err


def test_a_missing_definitions_file_is_noticed(tmp_path):
    assert topology.main(["--check", str(tmp_path / "none.json")]) == 1


def test_a_written_definitions_file_agrees(tmp_path):
    path = tmp_path / "definitions.json"

    assert topology.main(["--write", str(path)]) == 0
    assert topology.main(["--check", str(path)]) == 0


@pytest.mark.rabbitmq
def test_declaring_twice_changes_nothing(vhost):
    declare(vhost.url, "feed")
    before = vhost.call("GET", "queues/{vhost}?columns=name,arguments")
    declare(vhost.url, "feed")

    assert vhost.call("GET", "queues/{vhost}?columns=name,arguments") == before


@pytest.mark.rabbitmq
def test_every_delay_is_bound_to_its_queue(vhost):
    declare(vhost.url, "feed")
    bound = {
        (b["source"], b["destination"])
        for b in vhost.call("GET", "bindings/{vhost}")
        if b["source"]
    }

    assert bound == {(name, name) for name in topology.exchanges()}


@pytest.mark.rabbitmq
def test_a_queue_that_exists_with_other_arguments_is_named_with_the_difference(vhost):
    with opened(vhost.url, "test") as connection:
        other = lanes.delay_queue(5).arguments | {"x-message-ttl": 7000}
        connection.channel().queue_declare(lanes.delay(5), durable=True, arguments=other)

    with pytest.raises(Misconfigured, match=r"headrace.delay.5s.*there 7000, wanted 5000"):
        declare(vhost.url, "feed")


@pytest.mark.rabbitmq
def test_a_classic_queue_in_our_place_is_named(vhost):
    with opened(vhost.url, "test") as connection:
        connection.channel().queue_declare("feed.image", durable=True)

    with pytest.raises(Misconfigured, match=r"feed.image.*altogether: x-queue-type='quorum'"):
        declare(vhost.url, "feed")


@pytest.mark.rabbitmq
def test_the_definitions_can_be_imported_and_agree_with_what_is_declared(vhost):
    sources = Settings().all_sources()
    vhost.call("POST", "definitions", topology.definitions(sources, vhost=vhost.name))
    declare(vhost.url, *sources)

    assert len(vhost.call("GET", "queues/{vhost}")) == len(topology.queues(sources))
