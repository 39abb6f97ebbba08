"""A private Redis: own port, own folder, loopback only, with a password; it keeps what it is told
and evicts nothing."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from scripts.servers.process import (
    LOOPBACK,
    Process,
    ServerTrouble,
    check_free,
    find_binary,
    wait_until,
)

_PLACES = ("/usr/bin/redis-server", "redis-server", "valkey-server")
# Evicting a lease or a bucket would overrun a source's budget: better an error when memory is full.
_CONFIGURATION = """\
bind {host}
port {port}
requirepass {password}
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
save ""
dir "{folder}"
daemonize no
"""


class RedisServer:
    """One server in one folder. Its data stay when it stops, and it finds them when it starts."""

    def __init__(self, folder: Path, port: int, *, password: str) -> None:
        self.folder = folder.resolve()
        self.port = port
        self._password = password
        self.process = Process("Redis", self.folder / "redis.pid")

    @property
    def url(self) -> str:
        """The address for Headrace, with the password."""
        return f"redis://:{self._password}@{LOOPBACK}:{self.port}/0"

    def start(self, *, within_s: float = 30.0) -> None:
        """Start and wait until it answers; nothing when it runs already."""
        log = self.folder / "redis.log"
        if self.process.pid() is None:
            server = find_binary(_PLACES, "redis-server")
            check_free("Redis", [self.port])
            self.folder.mkdir(parents=True, exist_ok=True)
            self.process.start([server, str(self._write_configuration())], os.environ, log)
        wait_until(lambda: self._answers() or self.process.pid() is None, within_s=within_s)
        if self.process.pid() is None or not self._answers():
            self.stop()
            raise ServerTrouble(f"Redis does not answer on port {self.port}: see {log}")

    def stop(self) -> bool:
        """End it; what it was told is on disk. False when it did not run."""
        return self.process.stop()

    def _write_configuration(self) -> Path:
        path = self.folder / "redis.conf"
        path.touch(mode=0o600)  # before the password is in it
        path.write_text(
            _CONFIGURATION.format(
                host=LOOPBACK, port=self.port, password=self._password, folder=self.folder
            )
        )
        return path

    def _answers(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1.0) as probe:
                probe.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                answers = probe.makefile("rb")
                return (answers.readline(), answers.readline()) == (b"+OK\r\n", b"+PONG\r\n")
        except OSError:
            return False
