"""`dramatiq actors` as a person starts it, on the suite's RabbitMQ and Redis, and the commands
beside it, in a folder of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import environment, headrace, until

DRAMATIQ = Path(sys.executable).with_name("dramatiq")
SETTINGS = """
store = "store"
[sources.feed]
rate = 200
burst = 50
concurrency = 3
[lease]
seconds = 2
[fetch]
allow_networks = ["127.0.0.0/8"]
"""


@dataclass
class Workers:
    """`dramatiq actors` in a folder, and the commands beside it."""

    folder: Path
    env: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def start(self, processes: int = 2) -> subprocess.Popen[bytes]:
        """One group of processes with four threads each."""
        log = (self.folder / "workers.log").open("ab")
        with log:
            group = subprocess.Popen(
                [DRAMATIQ, "actors", "-p", str(processes), "-t", "4"],
                cwd=self.folder,
                env=environment(**self.env),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running.append(group)
        return group

    def kill(self) -> None:
        """-9 for the whole group at once."""
        group = self.running.pop()
        os.killpg(group.pid, signal.SIGKILL)
        group.wait(timeout=20)

    def end(self) -> None:
        for group in self.running:
            if group.poll() is None:
                os.killpg(group.pid, signal.SIGKILL)
            group.wait(timeout=20)

    def headrace(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return headrace(*arguments, cwd=self.folder, **self.env)

    def status(self) -> dict[str, Any]:
        """What `headrace status` says of the one source."""
        told = json.loads(self.headrace("status", "--json").stdout)
        return next(source for source in told["sources"] if source["source"] == "feed")

    def letters(self) -> list[dict[str, Any]]:
        return json.loads(self.headrace("dead", "list", "--json").stdout)["letters"]

    def wait_for(self, done: int, dead: int = 0, within_s: float = 60.0) -> None:
        """Until so many media are done and dead. A killed worker's count needs `headrace sums`."""

        def reached() -> bool:
            self.headrace("sums")
            status = self.status()
            return (status["done"], status["dead"]) == (done, dead)

        until(reached, within_s)


@pytest.fixture
def workers(tmp_path: Path, vhost_url: str, redis_url: str) -> Iterator[Workers]:
    folder = tmp_path / "rabbitmq"
    folder.mkdir()
    (folder / "headrace.toml").write_text(SETTINGS)
    workers = Workers(folder, {"HEADRACE_RABBITMQ_URL": vhost_url, "HEADRACE_REDIS_URL": redis_url})
    yield workers
    workers.end()
