"""One Redis, spoken to in scripts only. Connects when it is first asked, and again after a fault.

Everything that goes wrong with Redis leaves this file as `SharedStateDown`.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from core.errors import Misconfigured, SharedStateDown

CONNECT_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 5.0  # scripts take microseconds; a server that needs longer is not well
_TRIES = 2  # the first finds a connection that the server closed meanwhile; scripts may be repeated


class OfServer(Enum):
    """An argument that is known only once there is a connection."""

    RUN_ID = "run_id"  # names this start of the server: after another one its data may be old


Argument = str | int | float | OfServer


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, and the digest by which the server knows it."""

    text: str
    digest: str


class _Line:
    """One connection, and which start of the server it leads to."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - the library's connection classes share no public type
        self.connection = connection
        self._run_id: str | None = None
        connection.register_connect_callback(self._forget)

    def run_id(self) -> str:
        """Asked once a connection: it ends with the server that it leads to."""
        self.connection.connect()  # nothing while it is connected
        if self._run_id is None:
            self._run_id = _run_id(self.ask("INFO", "server"))
        return self._run_id

    def ask(self, *command: str | int | float) -> Any:  # noqa: ANN401 - what Redis answers
        """One command's answer."""
        answered = False
        try:
            self.connection.send_command(*command)
            answer = self.connection.read_response()
            answered = True
        except redis.ResponseError:
            answered = True
            raise
        finally:
            if not answered:  # an answer that comes late must not pass for the next one's
                self.connection.disconnect()
        return answer

    def _forget(self, _connection: object) -> None:
        self._run_id = None


class _Lines(threading.local):
    """A bare connection for each thread: four times as many calls a second as a shared pool."""

    def __init__(self, pool: redis.ConnectionPool, opened: dict[threading.Thread, Any]) -> None:
        self._pool = pool
        self._opened = opened  # the same for all threads
        self._line: _Line | None = None

    def get(self) -> _Line:
        """This thread's connection; a forked process must not speak on its parent's."""
        if self._line is None or self._line.connection.pid != os.getpid():
            self._close_those_of_dead_threads()
            connection = self._pool.connection_class(**self._pool.connection_kwargs)
            self._opened[threading.current_thread()] = connection
            self._line = _Line(connection)
        return self._line

    def _close_those_of_dead_threads(self) -> None:
        for thread in list(self._opened):
            if not thread.is_alive() and (left := self._opened.pop(thread, None)):
                left.disconnect()


def _close(pool: redis.ConnectionPool, opened: dict[threading.Thread, Any]) -> None:
    for connection in list(opened.values()):
        connection.disconnect()
    pool.disconnect()


class RedisServer:
    """Runs scripts. `clock` is the text of the Lua function `now()` that each begins with."""

    def __init__(self, url: str, *, clock: str | None = None) -> None:
        self.pool = _pool(url)
        self.address = _address(self.pool.connection_kwargs)
        opened: dict[threading.Thread, Any] = {}
        self._lines = _Lines(self.pool, opened)
        self._clock = read_lua("core.shared_state", "clock.lua") if clock is None else clock
        # Sockets are closed with their server, even when it ends in a cycle that is collected.
        self.close = weakref.finalize(self, _close, self.pool, opened)

    def script(self, *texts: str) -> Script:
        """The script made of `texts` in their order, after the clock."""
        text = "\n".join((self._clock, *texts))
        return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())

    def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:  # noqa: ANN401 - what a script answers
        """What the script answers. Raises `SharedStateDown`. It may run twice when the first answer
        was lost, so every script must bear that."""
        with translated(self.address):
            for _ in range(_TRIES - 1):
                try:
                    return self._run(script, keys, arguments)
                except redis.BusyLoadingError:
                    raise
                except redis.ConnectionError:
                    continue
            return self._run(script, keys, arguments)

    def _run(self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:  # noqa: ANN401 - as above
        line = self._lines.get()
        told = [line.run_id() if isinstance(one, OfServer) else one for one in arguments]
        operands = (len(keys), *keys, *told)
        try:
            return line.ask("EVALSHA", script.digest, *operands)
        except redis.exceptions.NoScriptError:
            return line.ask("EVAL", script.text, *operands)


def _run_id(info: bytes) -> str:
    for line in info.decode().splitlines():
        if line.startswith("run_id:"):
            return line.removeprefix("run_id:")
    raise redis.ResponseError("INFO server tells no run_id: expected Redis or Valkey")


def read_lua(package: str, name: str) -> str:
    """The text of a script that lies in one of our packages."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Whatever Redis or the way to it did wrong, as `SharedStateDown`."""
    try:
        yield
    except redis.RedisError as error:
        raise SharedStateDown(f"Redis at {address}: {_explain(error)}") from error


def _explain(error: redis.RedisError) -> str:
    match error:
        case redis.exceptions.OutOfMemoryError():
            return "its memory is full (maxmemory): give it more; work goes on when it has some"
        case redis.BusyLoadingError():
            return "it is loading its data: work goes on when it is done"
        case redis.AuthenticationError() | redis.exceptions.NoPermissionError():
            return f"it refuses our user or password ({error}): correct redis.url in the settings"
        case redis.TimeoutError():
            return "it does not answer in time: see whether it is overloaded or cut off"
        case redis.ConnectionError():
            return f"no connection ({error}): see whether it runs; work goes on when it does"
        case _:
            return f"it refused a command: {error}"


def _pool(url: str) -> redis.ConnectionPool:
    try:
        return redis.ConnectionPool.from_url(
            url,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=ANSWER_TIMEOUT_S,
            socket_keepalive=True,
            protocol=2,
            retry=Retry(NoBackoff(), 0),  # tried again here, where it is known what may be repeated
        )
    except ValueError as error:
        raise Misconfigured(
            f"redis.url: {error}; expected redis://[[user]:password@]host:port/database",
            reason="bad_settings",
        ) from error


def _address(options: dict[str, Any]) -> str:
    """Where the server is, without user and password."""
    place = options.get("path") or f"{options.get('host')}:{options.get('port', 6379)}"
    return f"{place}/{options.get('db', 0)}"
