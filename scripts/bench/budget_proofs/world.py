"""What every promise is tried in: a RabbitMQ, a Redis and a host that are private to the bench, and
for each promise a scene of its own on them."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from scripts.bench.budget_proofs.counters import Counters
from scripts.bench.budget_proofs.host import Host, running_host
from scripts.bench.budget_proofs.scene import Scene
from scripts.servers.process import free_port
from scripts.servers.rabbitmq import Ports, RabbitNode, call_api
from scripts.servers.redis import RedisServer

_QUICK_COUNTERS = "collect_statistics_interval = 1000\n"  # ms
CONSUMER_TIMEOUT_S = 20.0  # of the impatient node


class _Node(RabbitNode):
    """With one more word to its Erlang machine."""

    more_erl = ""

    def _environment(self) -> dict[str, str]:
        given = super()._environment()
        given["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"] += self.more_erl
        return given


@dataclass(frozen=True, slots=True)
class World:
    """The servers, and how long a run may take."""

    node: RabbitNode
    redis: RedisServer
    host: Host
    folder: Path
    quick: bool = False

    def seconds(self, full: float, quick: float) -> float:
        """How long to look at something."""
        return quick if self.quick else full

    @contextmanager
    def scene(self, name: str, settings: str) -> Iterator[Scene]:
        """A virtual host, an empty Redis, a store and settings of its own; its workers end with the
        block."""
        vhost = f"{name}-{secrets.token_hex(4)}"
        call_api(self.node.api, "PUT", f"vhosts/{vhost}")
        rights = {"configure": ".*", "write": ".*", "read": ".*"}
        call_api(self.node.api, "PUT", f"permissions/{vhost}/{self.node.user}", rights)
        flush(self.redis.url)
        url = f"{self.node.url.rpartition('/')[0]}/{quote(vhost)}"
        folder = self.folder / vhost
        folder.mkdir()
        self.host.count_anew()
        scene = Scene(folder, url, self.redis.url, Counters(self.node.api, vhost))
        scene.configure(settings)
        try:
            yield scene
        finally:
            scene.end()
            call_api(self.node.api, "DELETE", f"vhosts/{vhost}")


def flush(redis_url: str) -> None:
    """Empty Redis, as an operator's FLUSHALL would."""
    parts = urlsplit(redis_url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5.0) as server:
        login = f"AUTH {parts.password}\r\n" if parts.password else ""
        server.sendall(f"{login}FLUSHALL\r\n".encode())
        answers = server.makefile("rb")
        told = [answers.readline() for _ in range(2 if login else 1)]
    if told[-1] != b"+OK\r\n":
        raise RuntimeError(f"Redis did not flush: {told!r}")


@contextmanager
def running_world(folder: Path, *, quick: bool, impatient: bool = False) -> Iterator[World]:
    """Servers for as long as the block runs. An `impatient` RabbitMQ closes channels over
    deliveries that are held for CONSUMER_TIMEOUT_S."""
    redis = RedisServer(folder / "redis", free_port(), password=secrets.token_hex(8))
    node = _Node(
        folder / "rabbitmq",
        Ports.free(),
        user="bench",
        password=secrets.token_hex(8),
        extra_conf=_QUICK_COUNTERS,
    )
    if impatient:
        timeout_ms = round(CONSUMER_TIMEOUT_S * 1000)
        node.more_erl = f" -rabbit consumer_timeout {timeout_ms} -rabbit channel_tick_interval 1000"
    with ExitStack() as stack:
        for server in (redis, node):
            stack.callback(server.stop)
            server.start()
        host = stack.enter_context(running_host())
        yield World(node, redis, host, folder, quick)
