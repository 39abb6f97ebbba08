"""One child process with a pid file: start it, know it again later, end it and nothing else.

A pid alone may have passed to a stranger, so the file keeps the process's start beside it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
# Above what scripts/services usually has, and below 32,768, from where the kernel gives ports to
# clients and to whoever asks for any: one of these is not taken between being found free and being
# listened on, nor while its server is down for a moment.
_PORTS = range(22_000, 32_000)
_next = itertools.count(os.getpid() * 7_919)  # processes that start together look far apart


class ServerTrouble(Exception):
    """A server can't be started or stopped; the message tells a person what to do."""


def find_binary(names: Sequence[str], package: str) -> str:
    """The first of `names` that this machine has. Raises `ServerTrouble` naming the package."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise ServerTrouble(
        f"{Path(names[0]).name} is not on this machine: install {package} "
        f"(on Debian: apt-get install {package}) and try again"
    )


def free_port() -> int:
    """A TCP port on loopback that nobody uses just now, and that this process was not given yet."""
    for _ in _PORTS:
        port = _PORTS[next(_next) % len(_PORTS)]
        with socket.socket() as probe:
            if not _is_taken(probe, port):
                return port
    raise ServerTrouble(f"no port between {_PORTS.start} and {_PORTS.stop} is free")


def _is_taken(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind((LOOPBACK, port))
    except OSError:
        return True
    return False


def is_listening(port: int) -> bool:
    """Whether somebody accepts connections on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) == 0


def check_free(name: str, ports: Iterable[int]) -> None:
    """Raises `ServerTrouble` when another process listens where `name` is about to."""
    for port in ports:
        if is_listening(port):
            raise ServerTrouble(
                f"port {port}, which {name} of this folder has, is taken by another process: end "
                "that one, or delete services.json there to have other ports chosen"
            )


class Process:
    """One process of ours, known by its pid file over any number of runs of the script."""

    def __init__(self, name: str, pid_file: Path) -> None:
        self.name = name
        self.pid_file = pid_file
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        """Start it in a session of its own, so that a Ctrl-C in the terminal does not reach it."""
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                start_new_session=True,
            )
        self.pid_file.write_text(f"{self._child.pid} {_started(self._child.pid)}\n")

    def pid(self) -> int | None:
        """Its pid while it runs; None when it ended or the pid is another process's now."""
        if self._child is not None:
            self._child.poll()  # takes the exit code, so that no zombie passes for a live server
        try:
            pid, _, started = self.pid_file.read_text().strip().partition(" ")
        except FileNotFoundError:
            return None
        return int(pid) if started and _started(int(pid)) == started else None

    def stop(self, *, grace_s: float = 30.0) -> bool:
        """End it: politely, then at once after `grace_s`. False when it did not run."""
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            if not wait_until(lambda: self.pid() is None, within_s=grace_s):
                self.kill()
        self._reap()
        self.pid_file.unlink(missing_ok=True)
        return pid is not None

    def kill(self) -> None:
        """End it without a word, as a power cut would."""
        pid = self.pid()
        if pid is None:
            return
        os.kill(pid, signal.SIGKILL)
        if not wait_until(lambda: self.pid() is None, within_s=10.0):
            raise ServerTrouble(f"{self.name} (pid {pid}) does not end, not even by SIGKILL")
        self._reap()

    def _reap(self) -> None:
        """Take the exit code, where it was this script that started the process."""
        if self._child is not None:
            self._child.wait(timeout=10.0)
            self._child = None


def wait_until(reached: Callable[[], bool], *, within_s: float) -> bool:
    """Ask again and again, for at most `within_s`."""
    deadline = time.monotonic() + within_s
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _started(pid: int) -> str:
    """When a process started, as the system tells it; empty when there is none (or a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return _started_by_ps(pid) if not Path("/proc/self").exists() else ""
    except ProcessLookupError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _started_by_ps(pid: int) -> str:
    """The same where there is no /proc."""
    told = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    return "" if not told or told[0].startswith("Z") else "-".join(told[1:])
