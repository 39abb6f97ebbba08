"""The bench's side of the host: starts it, tells it how to behave, reads its log, takes it away."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from scripts.bench.budget_proofs.host_server import Arrival
from scripts.bench.measure import BenchTrouble

_SERVER = Path(__file__).with_name("host_server.py")


class Host:
    """A running host of any number of sources; each is its name in the path."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start; after `stop` on the same port, with an empty log."""
        command = [sys.executable, str(_SERVER), "--port", str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        address = self._process.stdout.readline().strip()
        if not address:
            raise BenchTrouble("the host of the sources did not start")
        self._port = urlsplit(address).port or 0

    def stop(self) -> None:
        """Gone: its port refuses connections."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=20)
            self._process = None

    def feed(self, source: str, name: str, *, pages: int, items: int, what: str = "image") -> str:
        """The address of a feed's first page."""
        return f"{self.address}/{source}/feed/{name}/{pages}/{items}/{what}/1.json"

    def behave(self, source: str, **behaviour: object) -> None:
        """From now on; without anything it is well and quick."""
        self._ask(f"behave/{source}/{quote(json.dumps(behaviour), safe='')}")

    def arrived(self, source: str) -> int:
        """Requests so far."""
        return self.counts(source).arrived

    def counts(self, source: str) -> Counts:
        found = self._ask("count").get(source)
        return Counts(**found) if found else Counts(0, 0, 0)

    def log(self, source: str) -> list[Arrival]:
        """Every request that arrived, in order."""
        return [Arrival(**told) for told in self._ask(f"log/{source}")]

    def media_log(self, source: str) -> list[Arrival]:
        """The same without the feed's pages."""
        return [a for a in self.log(source) if not a.path.startswith(f"/{source}/feed/")]

    def count_anew(self) -> None:
        """Empty every log."""
        self._ask("anew")

    def _ask(self, what: str) -> Any:  # noqa: ANN401 - JSON
        with urllib.request.urlopen(f"{self.address}/-/{what}", timeout=60) as answer:
            return json.load(answer)


@dataclass(frozen=True, slots=True)
class Counts:
    """What a source has seen."""

    arrived: int
    open: int
    most_open: int


@contextmanager
def running_host() -> Iterator[Host]:
    """For as long as the block runs."""
    host = Host()
    host.start()
    try:
        yield host
    finally:
        host.stop()
