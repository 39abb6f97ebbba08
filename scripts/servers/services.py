"""RabbitMQ and Redis for one working copy: started and ended together, known again by the file that
keeps their ports and passwords."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.servers.process import LOOPBACK, ServerTrouble, free_port, is_listening
from scripts.servers.rabbitmq import Ports, RabbitNode
from scripts.servers.redis import RedisServer

USER = "headrace"
# Below the range from which the system takes ports for outgoing connections.
_USUAL = {
    "amqp": 21672,
    "management": 21673,
    "prometheus": 21674,
    "distribution": 21675,
    "epmd": 21676,
    "redis": 21679,
}


@dataclass(frozen=True, slots=True)
class Terms:
    """What is chosen once and kept, so that data and addresses outlive a stop."""

    ports: dict[str, int]
    rabbitmq_password: str
    redis_password: str

    @classmethod
    def choose(cls) -> Terms:
        """The usual ports where they are free, else any; new passwords."""
        ports = {name: free_port() if is_listening(port) else port for name, port in _USUAL.items()}
        return cls(ports, secrets.token_hex(16), secrets.token_hex(16))


class Services:
    """The two servers of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.env_file = self.folder / "env"
        self._terms_file = self.folder / "services.json"
        terms = self._terms()
        ports = {name: port for name, port in terms.ports.items() if name != "redis"}
        self.rabbitmq = RabbitNode(
            self.folder / "rabbitmq", Ports(**ports), user=USER, password=terms.rabbitmq_password
        )
        self.redis = RedisServer(
            self.folder / "redis", terms.ports["redis"], password=terms.redis_password
        )

    def up(self) -> None:
        """Start what does not run yet. When one can't, what this call started is ended."""
        with self._alone():
            was_running = self.redis.process.pid() is not None
            self._keep_terms()
            self.redis.start()
            try:
                self.rabbitmq.start()
            except ServerTrouble:
                if not was_running:
                    self.redis.stop()
                raise

    def down(self) -> list[str]:
        """End what runs; the data stay. Names what was ended."""
        if not self.is_set_up:
            return []
        with self._alone():
            stopped = {"RabbitMQ": self.rabbitmq.stop(), "Redis": self.redis.stop()}
        return [name for name, ended in stopped.items() if ended]

    def pids(self) -> dict[str, int | None]:
        """By server: its pid, or None when it does not run."""
        return {"RabbitMQ": self.rabbitmq.process.pid(), "Redis": self.redis.process.pid()}

    @property
    def is_set_up(self) -> bool:
        """Whether `up` has chosen ports and passwords here."""
        return self._terms_file.exists()

    @property
    def console(self) -> str:
        """The management console's address."""
        return f"http://{LOOPBACK}:{self.rabbitmq.ports.management}/"

    @property
    def metrics(self) -> str:
        """Where Prometheus may read."""
        return f"http://{LOOPBACK}:{self.rabbitmq.ports.prometheus}/metrics"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One `up` or `down` at a time in a folder."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _terms(self) -> Terms:
        self._current = self._kept_terms() or Terms.choose()
        return self._current

    def _kept_terms(self) -> Terms | None:
        try:
            return Terms(**json.loads(self._terms_file.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise ServerTrouble(
                f"{self._terms_file} can't be read ({error}): delete {self.folder} and start anew"
            ) from error

    def _keep_terms(self) -> None:
        _write_private(self._terms_file, json.dumps(asdict(self._current), indent=2) + "\n")
        lines = [
            f"# Console: {self.console} user {USER}, password {self._current.rabbitmq_password}",
            f"HEADRACE_RABBITMQ_URL='{self.rabbitmq.url}'",
            f"HEADRACE_REDIS_URL='{self.redis.url}'",
            # A line of its own: systemd's EnvironmentFile passes over it, a shell needs it.
            "export HEADRACE_RABBITMQ_URL HEADRACE_REDIS_URL",
        ]
        _write_private(self.env_file, "\n".join(lines) + "\n")


def _write_private(path: Path, text: str) -> None:
    """Readable by its owner alone from the first byte on."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    beside.replace(path)
