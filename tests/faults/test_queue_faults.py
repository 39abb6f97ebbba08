"""Faults of the queue on a real RabbitMQ: lost connections, refusals, unreadable bodies, deaths.

`test_fact_N_...`: what it shows was seen to go wrong in stock parts."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pika
import pytest

from core import errors
from core.clock import SystemClock
from core.model.task import Task
from core.ports import Copy
from core.queue import broker as broker_module
from core.queue import depth, lanes, slots
from core.queue.broker import RabbitBroker
from core.queue.message import to_message
from core.queue.publisher import RabbitPublisher
from tests.support.queue import Gate, Shortest, Steps, a_retry, eventually, working
from tests.support.rabbitmq import VirtualHost, fresh_vhost, impatient_server
from tests.support.tasks import an_image_task

pytestmark = pytest.mark.rabbitmq

SOURCES: dict[str, int | None] = {"a": 1, "b": 3}
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dramatiq waits 3 s before it starts a consumer again."""
    monkeypatch.setattr("dramatiq.worker.CONSUMER_RESTART_DELAY_SECS", 0.1)
    monkeypatch.setattr(broker_module, "MISCONFIGURED_REST_S", 0.1)


class Site:
    """A worker's parts on one virtual host."""

    def __init__(self, vhost: VirtualHost, publisher: RabbitPublisher) -> None:
        self.url = vhost.url
        self.vhost = vhost
        self.publisher = publisher
        self.steps = Steps()
        self.broker = RabbitBroker(
            vhost.url,
            SOURCES,
            publisher=publisher,
            retry=a_retry(publisher),
            stop=threading.Event(),
            clock=SystemClock(),
        )
        self.broker.rng = Shortest()
        self.steps.declare(self.broker)

    def put(self, *tasks: Task) -> None:
        self.publisher.publish([Copy(task) for task in tasks])

    def look(self) -> depth.Depth:
        return depth.read(self.url, SOURCES)

    def left(self) -> int:
        seen = self.look()
        return sum(seen.lanes.values()) + seen.delayed

    @contextmanager
    def channel(self) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
        with pika.BlockingConnection(pika.URLParameters(self.url)) as connection:
            yield connection.channel()


@contextmanager
def a_site(vhost: VirtualHost) -> Iterator[Site]:
    with RabbitPublisher(vhost.url, SOURCES, SystemClock()) as publisher:
        yield Site(vhost, publisher)


@pytest.fixture
def site(vhost: VirtualHost) -> Iterator[Site]:
    with a_site(vhost) as made:
        yield made


def image(name: str, *, source: str = "a", **fields: object) -> Task:
    return an_image_task(f"https://{source}.example/{name}", source=source, **fields)


def test_facts_2_and_5_a_lost_connection_settles_nothing_wrong_and_doubles_no_run(
    site: Site,
) -> None:
    # given: one task runs, others wait
    gate = Gate()
    running, *others = tasks = [image(str(n)) for n in range(4)]
    site.steps.plan(running, gate, gate)
    site.put(*tasks)
    with working(site.broker):
        eventually(lambda: gate.inside, "the first runs")
        # when: its connection goes, and comes back with the same message under another tag
        before = site.broker._consumer
        eventually(site.vhost.drop_consumers, "the console shows the connection")
        eventually(lambda: site.broker._consumer is not before, "a new consumer")
        eventually(lambda: site.broker.turns.buffered("a"), "it receives")
        once = site.steps.count(running)
        gate.opened.set()
        # then: the old end settled nothing, and every task ended
        eventually(lambda: len(site.steps.ended) == 5, "all ran, the first twice")

    assert (once, gate.most) == (1, 1)
    assert sorted(site.steps.ended) == sorted([running.id, running.id, *(t.id for t in others)])
    assert site.left() == 0


def test_fact_4_a_dead_letter_tells_the_last_error(site: Site) -> None:
    task = image("1")
    site.steps.plan(task, errors.Gone("no such picture", http_status=404))
    site.put(task)
    with working(site.broker):
        eventually(lambda: site.look().dead["a"], "dead")
    with site.channel() as channel:
        _, properties, _ = channel.basic_get("a.dead")

    assert properties.headers["reason"] == "gone"
    assert properties.headers["http_status"] == 404
    assert str(os.getpid()) in properties.headers["worker"]


def test_fact_6_a_dead_letter_has_no_end_of_its_own() -> None:
    arguments = lanes.dead_queue("a").arguments

    assert not {"x-message-ttl", "x-expires", "x-max-length"} & set(arguments)


def test_fact_7_a_delayed_task_waits_in_rabbitmq_and_not_in_the_worker(site: Site) -> None:
    task = image("1")
    site.steps.plan(task, errors.TooEarly("not yet", delay_s=5.0))
    site.put(task)
    with working(site.broker):
        eventually(lambda: site.look().delayed, "it lies in a delay queue")
        in_hand, buffered = site.broker.turns.in_hand("a"), site.broker.turns.buffered("a")
        eventually(lambda: site.steps.ended, "it runs after the delay")

    assert (in_hand, buffered) == (0, 0)


def test_fact_8_a_retry_that_rabbitmq_refuses_is_not_lost(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """A full delay queue: the confirm is a refusal, so the delivery goes back."""
    mended = threading.Event()
    tasks = [image(str(n), source="b", max_attempts=1000) for n in range(8)]

    def fail_until_mended(_task: Task) -> None:
        if not mended.is_set():
            raise errors.Timeout("slow")

    for task in tasks:
        site.steps.always(task, fail_until_mended)
    site.put(*tasks)
    # RabbitMQ refuses only what finds a message there already: hence several tasks at once.
    site.vhost.set_policy("full", r"^headrace\.delay\.", {"max-length": 0})
    with working(site.broker):
        eventually(lambda: "refused a message" in caplog.text, "a retry is refused")
        before = {task.id: site.steps.count(task) for task in tasks}
        eventually(
            lambda: all(site.steps.count(task) > before[task.id] for task in tasks),
            "each runs again all the same",
        )
        site.vhost.call("DELETE", "policies/{vhost}/full")
        mended.set()
        eventually(lambda: all(task.id in site.steps.ended for task in tasks), "they end well")

    assert site.left() == 0


def test_fact_9_a_process_that_is_killed_gives_everything_back(site: Site) -> None:
    tasks = [image(str(n), source="b") for n in range(6)]
    site.put(*tasks)
    killed = subprocess.run(
        [sys.executable, "-c", _WORKER, site.url],
        cwd=PROJECT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    eventually(lambda: site.left() == 6, "everything is ready again")
    with working(site.broker):
        eventually(lambda: len(site.steps.ended) == 6, "all run here")

    assert killed.returncode == -signal.SIGKILL
    assert site.look().dropped == 0


_WORKER = """
import os, signal, sys, threading, time
from core.clock import SystemClock
from core.queue.broker import RabbitBroker
from core.queue.publisher import RabbitPublisher
from tests.support.queue import Steps, a_retry, working

publisher = RabbitPublisher(sys.argv[1], ["a", "b"], SystemClock())
broker = RabbitBroker(
    sys.argv[1], {"a": 1, "b": 3}, publisher=publisher, retry=a_retry(publisher),
    stop=threading.Event(), clock=SystemClock(),
)
steps = Steps()
steps.plan = None
steps.ended = type("Kills", (), {"append": lambda self, _: os.kill(os.getpid(), signal.SIGKILL)})()
steps.declare(broker)
with working(broker):
    time.sleep(50)
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\x00 no JSON", "bad_message"),
        (to_message(image("1")).copy(actor_name="mow_the_lawn").encode(), "unknown_actor"),
    ],
)
def test_a_body_that_cannot_run_lies_raw_in_the_dead_queue(
    site: Site, body: bytes, reason: str
) -> None:
    site.put(image("1"))
    with site.channel() as channel:
        channel.basic_publish("", "a.image", body)
    with working(site.broker):
        eventually(lambda: site.look().dead["a"], "dead")
        eventually(lambda: site.steps.ended, "the good task runs")
    with site.channel() as channel:
        _, properties, found = channel.basic_get("a.dead")

    assert (found, properties.headers["reason"]) == (body, reason)
    assert site.left() == 0


def test_a_newer_format_goes_round_instead_of_being_guessed_at(site: Site) -> None:
    record = image("1").to_message() | {"format": 999}
    body = json.loads(to_message(image("1")).encode()) | {"args": [record]}
    site.put(image("2"))
    with site.channel() as channel:
        channel.basic_publish("", "a.image", json.dumps(body).encode())
    with working(site.broker):
        eventually(lambda: site.look().delayed == 1, "it rests")

    assert site.look().dead["a"] == 0


def test_a_lane_that_somebody_deletes_is_declared_and_consumed_again(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    with working(site.broker):
        site.put(image("1"))
        eventually(lambda: len(site.steps.ended) == 1, "it consumes")
        with site.channel() as channel:
            channel.queue_delete("a.image")
        # A queue that is being deleted still confirms what it takes along: publish after that.
        eventually(lambda: "a.image: RabbitMQ cancelled it" in caplog.text, "it is told")
        eventually(lambda: _publishes(site, image("2")), "the lane is back")
        eventually(lambda: len(site.steps.ended) == 2, "it consumes again")


def _publishes(site: Site, task: Task) -> bool:
    try:
        site.put(task)
    except errors.HeadraceError:
        return False
    return True


def test_a_lane_with_other_arguments_is_named_and_the_worker_goes_on_once_it_is_mended(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    with site.channel() as channel:
        channel.queue_declare("a.image", durable=True, arguments={"x-queue-type": "classic"})
    with working(site.broker), caplog.at_level(logging.ERROR, "core"):
        eventually(lambda: "a.image" in caplog.text, "told")
        with site.channel() as channel:
            channel.queue_delete("a.image")
        eventually(lambda: _publishes(site, image("1")), "publishing works")
        eventually(lambda: site.steps.ended, "it runs")

    assert "To migrate" in caplog.text


def test_a_worker_without_rabbitmq_says_so_and_waits(caplog: pytest.LogCaptureFixture) -> None:
    url = "amqp://somebody:secret@127.0.0.1:1/%2F"
    publisher = RabbitPublisher(url, SOURCES, SystemClock())
    broker = RabbitBroker(
        url,
        SOURCES,
        publisher=publisher,
        retry=a_retry(publisher),
        stop=threading.Event(),
        clock=SystemClock(),
    )
    Steps().declare(broker)
    with working(broker):
        eventually(lambda: "can't be reached" in caplog.text, "told")

    assert "secret" not in caplog.text


@pytest.mark.skipif(bool(os.environ.get("HEADRACE_TEST_RABBITMQ_URL")), reason="needs its own node")
def test_row_23_a_run_longer_than_the_consumer_timeout_is_repeated_once_and_delays_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """RabbitMQ closes the channel over one long run; what merely waits does not lie so long."""
    monkeypatch.setattr(slots, "STALE_S", 1.0)
    with (
        impatient_server(tmp_path) as server,
        fresh_vhost(server) as vhost,
        a_site(vhost) as site,
    ):
        # given: a run that outlasts the timeout, and neighbours that wait for its slot
        gate = Gate()
        running, *others = [image(str(n)) for n in range(3)]
        site.steps.plan(running, gate)
        site.put(running, *others)
        with working(site.broker):
            eventually(lambda: gate.inside, "it runs")
            eventually(lambda: site.look().lanes["a.image"] == 2, "its neighbours go back")
            # when: RabbitMQ closes the channel over it
            before = site.broker._consumer
            eventually(lambda: site.broker._consumer is not before, "a new consumer")
            gate.opened.set()
            # then
            eventually(lambda: len(site.steps.ended) == 4, "all ended, the long one twice")

        assert "PRECONDITION_FAILED" in caplog.text
        assert (gate.most, site.steps.count(running)) == (1, 2)
        assert site.left() == 0


@pytest.mark.skipif(bool(os.environ.get("HEADRACE_TEST_RABBITMQ_URL")), reason="needs its own node")
def test_a_lane_goes_on_after_a_run_longer_than_the_consumer_timeout(tmp_path: Path) -> None:
    """Of a lane that is consumed at that time 4.3 cancels only the consumer, and not for good."""
    with (
        impatient_server(tmp_path) as server,
        fresh_vhost(server) as vhost,
        a_site(vhost) as site,
    ):
        # given: a run that outlasts the timeout
        gate = Gate()
        running, *later = [image(str(n)) for n in range(4)]
        site.steps.plan(running, gate)
        site.put(running)
        with working(site.broker):
            eventually(lambda: gate.inside, "it runs")
            before = site.broker._consumer
            eventually(lambda: site.broker._consumer is not before, "a new consumer")
            # when: it ends, and more comes
            gate.opened.set()
            eventually(lambda: len(site.steps.ended) == 2, "it ended twice")
            site.put(*later)
            # then
            eventually(lambda: len(site.steps.ended) == 5, "all ended")

        assert site.left() == 0
