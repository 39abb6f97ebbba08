import threading

import pytest

from core.clock import SystemClock
from core.errors import BrokerDown
from core.ports import Copy
from core.queue import depth
from core.queue.publisher import RabbitPublisher
from scripts.servers.process import wait_until
from tests.support.rabbitmq import fresh_vhost, running_server
from tests.support.tasks import an_image_task

pytestmark = pytest.mark.rabbitmq

SHORT_WINDOW = [Copy(an_image_task(f"https://a.example/{n}.jpg")) for n in range(10)]
LONG_WINDOW = SHORT_WINDOW * 3_000  # takes a while: the broker goes in the middle of it


class Caller(threading.Thread):
    """Publishes one window and keeps what came of it."""

    def __init__(self, publisher, window):
        super().__init__()
        self._publish = lambda: publisher.publish(window)
        self.error = None
        self.start()

    def run(self):
        try:
            self._publish()
        except BrokerDown as error:
            self.error = error


def under_way(url):
    """Whether a part of a window has arrived."""
    return depth.read(url, ["feed"]).lanes["feed.image"] > 0


def test_a_connection_cut_in_mid_window_fails_it_and_the_next_window_goes_out(vhost):
    with RabbitPublisher(vhost.url, ["feed", "press"], SystemClock()) as publisher:
        publisher.publish([Copy(an_image_task(source="press"))])
        (connection,) = vhost.wait_for_connections(1)
        caller = Caller(publisher, LONG_WINDOW)
        assert wait_until(lambda: under_way(vhost.url), within_s=60)
        vhost.drop(connection)
        caller.join(60)
        publisher.publish(SHORT_WINDOW)

    assert isinstance(caller.error, BrokerDown)


def test_a_killed_broker_fails_the_window_and_is_used_again_when_it_is_back(own_rabbitmq):
    url, node = own_rabbitmq.url, own_rabbitmq.node
    with RabbitPublisher(url, ["feed", "press"], SystemClock(), patience_s=60) as publisher:
        task = an_image_task(source="press")
        publisher.publish([Copy(task), Copy(task, delay_s=5.0)])
        caller = Caller(publisher, LONG_WINDOW)
        assert wait_until(lambda: under_way(url), within_s=60)
        node.process.kill()
        caller.join(60)
        patient = Caller(publisher, SHORT_WINDOW)
        node.start()
        patient.join(60)

        assert isinstance(caller.error, BrokerDown)
        assert patient.error is None
        # What was confirmed outlives it, ready or delayed. (A queue that has no leader yet counts
        # as empty.)
        assert wait_until(lambda: publisher.ready("press") == 2, within_s=30)
        assert wait_until(lambda: publisher.ready("feed") >= len(SHORT_WINDOW), within_s=20)


def test_a_disk_alarm_is_told_and_publishing_does_not_hang(rabbitmq_server):
    if rabbitmq_server.node is None:
        pytest.skip("needs a node of its own")
    with (
        running_server("disk_free_limit.absolute = 900000GB") as server,
        fresh_vhost(server) as vhost,
        RabbitPublisher(
            vhost.url + "?blocked_connection_timeout=1", ["feed"], SystemClock(), patience_s=0
        ) as publisher,
        pytest.raises(BrokerDown, match="memory or disk alarm"),
    ):
        publisher.publish(SHORT_WINDOW)
