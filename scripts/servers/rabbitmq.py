"""A private RabbitMQ node: own ports, own epmd, own folder, loopback only, management and
Prometheus plugins on.

Started by the library path and not by the packaged launcher, which would switch users and use the
machine's own folders.
"""

from __future__ import annotations

import base64
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from scripts.servers.process import (
    LOOPBACK,
    Process,
    ServerTrouble,
    check_free,
    find_binary,
    free_port,
    is_listening,
    wait_until,
)

SHARED = Path(__file__).resolve().parents[2] / "rabbitmq"  # what every node of ours is told
_PLACES = ("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server")
# Erlang's schedulers spin while idle unless told not to, which starves what is tested beside them;
# the distribution port (for the command-line tools) would listen on every address.
_ERLANG_FLAGS = (
    "+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}"
)


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a node listens."""

    amqp: int
    management: int
    prometheus: int
    distribution: int
    epmd: int

    @classmethod
    def free(cls) -> Ports:
        """Five that nobody uses."""
        return cls(*(free_port() for _ in range(5)))


class RabbitNode:
    """One node in one folder. Its data stay when it stops, and it finds them when it starts."""

    def __init__(
        self, folder: Path, ports: Ports, *, user: str, password: str, extra_conf: str = ""
    ) -> None:
        self.folder = folder.resolve()
        self.ports = ports
        self.user = user
        self._password = password
        self._extra_conf = extra_conf
        self.process = Process("RabbitMQ", self.folder / "rabbitmq.pid")
        self._epmd = Process("epmd", self.folder / "epmd.pid")

    @property
    def url(self) -> str:
        """The address for Headrace, with user and password."""
        return f"amqp://{self._login()}@{LOOPBACK}:{self.ports.amqp}/%2F"

    @property
    def api(self) -> str:
        """The management API's address, with user and password."""
        return f"http://{self._login()}@{LOOPBACK}:{self.ports.management}/api"

    def start(self, *, within_s: float = 90.0) -> None:
        """Start and wait until it takes connections; nothing when it runs already."""
        if self.process.pid() is None:
            server = find_binary(_PLACES, "rabbitmq-server")
            check_free("RabbitMQ", [self.ports.amqp, self.ports.management])
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write_configuration()
            self._start_epmd()
            self.process.start([server], self._environment(), self.folder / "rabbitmq.log")
        if not wait_until(lambda: self._answers() or not self._runs(), within_s=within_s):
            self.stop()
            raise ServerTrouble(f"RabbitMQ did not answer within {within_s:.0f} s: {self._logs()}")
        if not self._runs():
            self.stop()
            raise ServerTrouble(f"RabbitMQ ended while it started: {self._logs()}")

    def stop(self) -> bool:
        """End the node and the epmd that came with it; the data stay."""
        ended = self.process.stop()
        self._epmd.stop(grace_s=5.0)
        return ended

    def _runs(self) -> bool:
        return self.process.pid() is not None

    def _answers(self) -> bool:
        return is_listening(self.ports.amqp) and is_listening(self.ports.management)

    def _login(self) -> str:
        return f"{quote(self.user, safe='')}:{quote(self._password, safe='')}"

    def _logs(self) -> str:
        return f"see {self.folder / 'rabbitmq.log'} and {self.folder / 'log'}"

    def _start_epmd(self) -> None:
        """Ours, in the foreground, so that it has a pid to end it by (a node would leave a daemon
        behind)."""
        if self._epmd.pid() is None:
            epmd = find_binary(("epmd",), "rabbitmq-server")
            command = [epmd, "-address", LOOPBACK, "-port", str(self.ports.epmd)]
            self._epmd.start(command, os.environ, self.folder / "epmd.log")
            wait_until(lambda: is_listening(self.ports.epmd), within_s=5.0)

    def _write_configuration(self) -> None:
        text = (SHARED / "rabbitmq.conf").read_text() + self._own_conf() + self._extra_conf
        lines = [line.partition("=") for line in text.splitlines() if "=" in line]
        # A key that stands twice would count as it stands first.
        merged = {key.strip(): value.strip() for key, _, value in lines if key[:1] != "#"}
        path = self.folder / "rabbitmq.conf"
        path.touch(mode=0o600)  # before the password is in it
        path.write_text("".join(f"{key} = {value}\n" for key, value in merged.items()))
        plugins = (SHARED / "enabled_plugins").read_text()
        (self.folder / "enabled_plugins").write_text(plugins)

    def _own_conf(self) -> str:
        return f"""
listeners.tcp.1 = {LOOPBACK}:{self.ports.amqp}
management.tcp.ip = {LOOPBACK}
management.tcp.port = {self.ports.management}
prometheus.tcp.ip = {LOOPBACK}
prometheus.tcp.port = {self.ports.prometheus}
default_user = {self.user}
default_pass = {self._password}
"""

    def _environment(self) -> dict[str, str]:
        ours = {
            "HOME": self.folder,  # the Erlang cookie lies there
            "RABBITMQ_NODENAME": f"headrace-{self.ports.amqp}@localhost",
            "RABBITMQ_NODE_PORT": self.ports.amqp,
            "RABBITMQ_DIST_PORT": self.ports.distribution,
            "ERL_EPMD_PORT": self.ports.epmd,
            "RABBITMQ_MNESIA_BASE": self.folder / "data",
            "RABBITMQ_LOG_BASE": self.folder / "log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.folder / "enabled_plugins",
            "RABBITMQ_CONFIG_FILE": self.folder / "rabbitmq.conf",
            "RABBITMQ_CONF_ENV_FILE": self.folder / "none",  # not the machine's own
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ERLANG_FLAGS,
            "RUNNING_UNDER_SYSTEMD": "1",  # no shell between us and the node: one pid to end
        }
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return inherited | {name: str(value) for name, value in ours.items()}


def call_api(api: str, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
    """One call of a management API whose address holds user and password; the answer's JSON, or
    None. Raises `ServerTrouble` for an answer that is no success."""
    scheme, _, rest = api.partition("://")
    login, _, place = rest.rpartition("@")
    request = urllib.request.Request(
        f"{scheme}://{place}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "content-type": "application/json",
            "authorization": "Basic " + base64.b64encode(unquote(login).encode()).decode(),
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        raise ServerTrouble(f"{method} {path}: {error.code} {error.read()[:300]!r}") from error
    return json.loads(text) if text else None
