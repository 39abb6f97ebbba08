"""The suite's Redis: one private server a session, emptied before each test.

HEADRACE_TEST_REDIS_URL names a server to use instead (its database is emptied!). Without either a
laptop skips these tests; with CI set they fail.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from core.clock import Clock
from core.shared_state.server import Argument, OfServer, RedisServer, Script
from scripts.servers.process import (
    LOOPBACK,
    Process,
    ServerTrouble,
    find_binary,
    free_port,
    is_listening,
    wait_until,
)

GIVEN = "HEADRACE_TEST_REDIS_URL"


class RedisProcess:
    """A private server that keeps nothing on disk unless `start` says so. It may be stopped, killed
    and started again: the address stays, the data do not."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process = Process("Redis", folder / "redis.pid")

    @property
    def url(self) -> str:
        return f"redis://{LOOPBACK}:{self.port}/0"

    def start(self, *options: str) -> None:
        """Start and wait until it answers; `options` as on the command line (`--maxmemory 1mb`)."""
        binary = find_binary(("redis-server",), "redis-server")
        command = [binary, "--port", str(self.port), "--bind", LOOPBACK, "--dir", str(self._folder)]
        command += ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"]
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        self._process.start([*command, *options], environment, self._folder / "redis.log")
        if not wait_until(lambda: is_listening(self.port), within_s=20.0):
            self.kill()
            raise ServerTrouble(f"Redis did not answer within 20 s: see {self._folder}/redis.log")

    def stop(self) -> None:
        """End it in good order."""
        self._process.stop(grace_s=10.0)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()

    def freeze(self) -> None:
        """It does nothing until `thaw`; the kernel goes on taking what is sent to it."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on, with all that was sent to it meanwhile."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        pid = self._process.pid()
        assert pid is not None, "it runs"
        os.kill(pid, number)


class GivenTimeServer(RedisServer):
    """Runs the production scripts on a time that is given: their one `now()` is another text, which
    reads what is appended to each call. `run_id` may be given, too, for a server that is started
    again."""

    _CLOCK = "local function now() return tonumber(ARGV[#ARGV]) end"

    def __init__(self, url: str, clock: Clock) -> None:
        super().__init__(url, clock=self._CLOCK)
        self._given = clock
        self.run_id = "first"

    def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        told = [self.run_id if one is OfServer.RUN_ID else one for one in arguments]
        return super().run(script, keys, [*told, round(self._given.now() * 1_000_000)])


@contextmanager
def running_redis(*options: str) -> Iterator[RedisProcess]:
    """A private server for as long as the block runs. Raises `ServerTrouble` when there is none."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-redis-"))
    server = RedisProcess(folder)
    try:
        server.start(*options)
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Disk:
    """What a server under a given time finds when it is started again."""

    def __init__(self, url: str, server: GivenTimeServer) -> None:
        self._url = url
        self._server = server
        self._starts = itertools.count()
        self._saved: dict[bytes, bytes] = {}

    def save(self) -> None:
        """As SAVE, or as a replica that lags from now on."""
        with redis.Redis.from_url(self._url) as client:
            self._saved = {key: client.dump(key) for key in client.scan_iter()}

    def restart(self) -> None:
        """As after a `kill -9`, or when that replica takes over."""
        with redis.Redis.from_url(self._url) as client:
            client.flushdb()
            for key, value in self._saved.items():
                client.restore(key, 60_000, value)
        self._server.run_id = f"start-{next(self._starts)}"


def flush(url: str) -> None:
    """Empty the server's database, as an operator's FLUSHALL would."""
    with redis.Redis.from_url(url) as client:
        client.flushdb()


def give_up(error: ServerTrouble) -> None:
    """Skip on a laptop, fail in CI."""
    end = pytest.fail if os.environ.get("CI") else pytest.skip
    end(f"no Redis to test against: {error}")


@pytest.fixture(scope="session")
def redis_server_url() -> Iterator[str]:
    """The session's Redis, as the tests before left it."""
    if given := os.environ.get(GIVEN):
        yield given
        return
    try:
        with running_redis() as server:
            yield server.url
    except ServerTrouble as error:
        give_up(error)


@pytest.fixture
def redis_url(redis_server_url: str) -> str:
    """The session's Redis, empty."""
    flush(redis_server_url)
    return redis_server_url


@pytest.fixture
def own_redis() -> Iterator[RedisProcess]:
    """A server for this test alone, which it may kill and start again."""
    try:
        with running_redis() as server:
            yield server
    except ServerTrouble as error:
        give_up(error)
