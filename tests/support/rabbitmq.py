"""The suite's RabbitMQ: one private node a session, one fresh virtual host a test.

HEADRACE_TEST_RABBITMQ_URL and HEADRACE_TEST_RABBITMQ_API (both with user and password) name a
server to use instead. Without either a laptop skips these tests; with CI set they fail.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from scripts.servers.process import ServerTrouble, wait_until
from scripts.servers.rabbitmq import Ports, RabbitNode, call_api

QUICK = "collect_statistics_interval = 1000\n"  # ms: what the management API knows is younger


@dataclass(frozen=True)
class Server:
    """A RabbitMQ to test against; `node` when it is the suite's own."""

    url: str  # of the default virtual host
    api: str
    node: RabbitNode | None = None


@dataclass(frozen=True)
class VirtualHost:
    """A world of its own for one test."""

    server: Server
    name: str

    @property
    def node(self) -> RabbitNode:
        """The node, where it is the suite's own."""
        assert self.server.node is not None
        return self.server.node

    @property
    def url(self) -> str:
        return f"{self.server.url.rpartition('/')[0]}/{quote(self.name, safe='')}"

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The management API; `{vhost}` in the path is this one's name."""
        return call_api(self.server.api, method, path.format(vhost=quote(self.name, safe="")), body)

    def set_policy(self, name: str, pattern: str, definition: dict[str, object]) -> None:
        policy = {"pattern": pattern, "definition": definition, "apply-to": "queues"}
        self.call("PUT", f"policies/{{vhost}}/{name}", policy)

    def connections(self) -> list[dict[str, Any]]:
        """Who is connected to this virtual host, as the management API knows it just now."""
        return [c for c in self.call("GET", "connections") if c.get("vhost") == self.name]

    def consumers(self) -> list[dict[str, Any]]:
        """Those of them that consume."""
        return [c for c in self.connections() if _name(c).startswith("headrace consumer ")]

    def wait_for_connections(self, count: int) -> list[dict[str, Any]]:
        """The connections, once the API knows of `count` (it lags by a second or two)."""
        found: list[dict[str, Any]] = []

        def are_known() -> bool:
            found[:] = self.connections()
            return len(found) == count

        assert wait_until(are_known, within_s=60.0)
        return found

    def drop(self, connection: dict[str, Any]) -> None:
        """Close a connection from the server's side."""
        self.call("DELETE", f"connections/{quote(connection['name'], safe='')}")

    def drop_consumers(self) -> int:
        """Close every connection that consumes, and that the API knows of, from the server's side;
        how many."""
        ours = self.consumers()
        for connection in ours:
            self.drop(connection)
        return len(ours)


def _name(connection: dict[str, Any]) -> str:
    """What its client calls it."""
    return str(connection.get("client_properties", {}).get("connection_name", ""))


@contextmanager
def running_server(extra_conf: str = "") -> Iterator[Server]:
    """A private node for as long as the block runs; `extra_conf` wins over rabbitmq/rabbitmq.conf.
    Raises `ServerTrouble` when there is none."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-rabbitmq-"))
    node = RabbitNode(
        folder, Ports.free(), user="test", password=uuid.uuid4().hex, extra_conf=QUICK + extra_conf
    )
    try:
        node.start()
        yield Server(node.url, node.api, node)
    finally:
        node.process.kill()  # the folder goes too: an orderly end would only cost time
        node.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Impatient(RabbitNode):
    """Closes a channel over a delivery of six seconds; looks every second, not every minute."""

    def _environment(self) -> dict[str, str]:
        given = super()._environment()
        given["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"] += " -rabbit channel_tick_interval 1000"
        return given


@contextmanager
def impatient_server(folder: Path) -> Iterator[Server]:
    """A node of its own whose `consumer_timeout` is six seconds, for as long as the block runs."""
    conf = QUICK + "consumer_timeout = 6000\n"
    node = Impatient(folder, Ports.free(), user="test", password="impatient", extra_conf=conf)
    try:
        node.start()
        yield Server(node.url, node.api, node)
    finally:
        node.process.kill()
        node.stop()


@contextmanager
def fresh_vhost(server: Server) -> Iterator[VirtualHost]:
    """A virtual host that goes with the block."""
    vhost = VirtualHost(server, f"test-{uuid.uuid4().hex[:12]}")
    vhost.call("PUT", "vhosts/{vhost}")
    user = quote(server.url.partition("://")[2].partition(":")[0], safe="%")
    rights = {"configure": ".*", "write": ".*", "read": ".*"}
    vhost.call("PUT", f"permissions/{{vhost}}/{user}", rights)
    try:
        yield vhost
    finally:
        vhost.call("DELETE", "vhosts/{vhost}")


def _given() -> Server | None:
    url, api = (os.environ.get(f"HEADRACE_TEST_RABBITMQ_{part}") for part in ("URL", "API"))
    return Server(url, api) if url and api else None


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[Server]:
    """The session's RabbitMQ."""
    if given := _given():
        yield given
        return
    with ExitStack() as stack:
        try:
            server = stack.enter_context(running_server())
        except ServerTrouble as error:
            give_up = pytest.fail if os.environ.get("CI") else pytest.skip
            give_up(f"no RabbitMQ to test against: {error}")
        yield server


@pytest.fixture(scope="session")
def rabbitmq_url(rabbitmq_server: Server) -> str:
    """Its address, default virtual host."""
    return rabbitmq_server.url


@pytest.fixture
def own_rabbitmq(rabbitmq_server: Server) -> Iterator[VirtualHost]:
    """A node for one test that kills it. Not the session's: on 3.10 a virtual host deleted while
    its queues elect their leaders takes the whole node's dead-lettering down (541 ever after)."""
    if rabbitmq_server.node is None:
        pytest.skip("needs a node of its own")
    with running_server() as server:
        yield VirtualHost(server, "/")


@pytest.fixture
def vhost(rabbitmq_server: Server) -> Iterator[VirtualHost]:
    """A fresh virtual host with its management API."""
    with fresh_vhost(rabbitmq_server) as fresh:
        yield fresh


@pytest.fixture
def vhost_url(vhost: VirtualHost) -> str:
    """The address of a fresh virtual host."""
    return vhost.url
