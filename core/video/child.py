"""One child process, bounded in time, memory and output: no shell, nothing to read from us, nothing
of our environment. Its whole group is killed as soon as we stop waiting for it."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from core.clock import Clock
from core.errors import Misconfigured, Timeout

_LOOK_S = 0.2  # how often we see whether to go on
_LAST_S = 5  # between the soft and the hard limit of CPU time
_OUT_BYTES = 1024 * 1024
_WORDS_BYTES = 64 * 1024
_HEAD_BYTES = 16 * 1024
_READ_BYTES = 64 * 1024
_ENVIRONMENT = {"LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use."""

    wall_s: float
    cpu_s: int
    memory_bytes: int  # of address space
    file_bytes: int  # of any file that it writes


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: `status` is negative for a signal. Of what it said the last part is kept."""

    status: int
    out: str
    words: str  # on stderr
    first_words: str = ""  # the beginning of the same


def run(
    command: Sequence[str],
    folder: Path,
    limits: Limits,
    clock: Clock,
    check: Callable[[], None],
) -> Ended:
    """Run to the end, or until `check` raises. Raises `Timeout` past the wall-clock limit and
    `Misconfigured` when it can't be started."""
    process = _start(command, folder)
    try:
        _bound(process.pid, limits)
        return _wait(process, Path(command[0]).name, limits.wall_s, clock, check)
    finally:
        _kill(process)


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - a list of our own making, no shell
            command,
            cwd=folder,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a group of its own: killed whole, spared our Ctrl-C
        )
    except OSError as error:
        raise Misconfigured(
            f"{command[0]} can't be started: {error.strerror or error}: install it again",
            reason="ffmpeg_missing",
        ) from error


def _bound(pid: int, limits: Limits) -> None:
    """From outside and at once: code between fork and exec is not safe beside our threads."""
    if sys.platform != "linux":
        return
    bounds = (
        (resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + _LAST_S),  # SIGXCPU, then SIGKILL
        (resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes),
        (resource.RLIMIT_CORE, 0, 0),
    )
    try:
        for what, soft, hard in bounds:
            present = resource.prlimit(pid, what)[1]
            most = hard if present == resource.RLIM_INFINITY else min(hard, present)
            resource.prlimit(pid, what, (min(soft, most), most))
    except ProcessLookupError:  # it has ended already
        return
    except OSError as error:
        raise Misconfigured(
            f"this machine does not let us limit a child process: {error.strerror or error}: "
            "allow prlimit, or run elsewhere",
            reason="no_limits",
        ) from error


class _Told:
    """The first and the last bytes of a stream."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._head = b""
        self._tail = b""

    def add(self, data: bytes) -> None:
        self._head += data[: _HEAD_BYTES - len(self._head)]
        self._tail = (self._tail + data)[-self._most_bytes :]

    def first(self) -> str:
        return self._head.decode("utf-8", "replace")

    def last(self) -> str:
        return self._tail.decode("utf-8", "replace")


def _wait(
    process: subprocess.Popen[bytes],
    name: str,
    wall_s: float,
    clock: Clock,
    check: Callable[[], None],
) -> Ended:
    deadline = clock.monotonic() + wall_s

    def look() -> None:
        check()
        if clock.monotonic() >= deadline:
            raise Timeout(
                f"{name} was not done after {wall_s:,.0f} s and was ended; will try again",
                reason="ffmpeg_timeout",
            )

    out, words = _Told(_OUT_BYTES), _Told(_WORDS_BYTES)
    assert process.stdout is not None  # noqa: S101 - we asked for pipes
    assert process.stderr is not None  # noqa: S101
    _listen({process.stdout: out, process.stderr: words}, look)
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(_LOOK_S)
            return Ended(status, out.last(), words.last(), words.first())
        look()


def _listen(streams: dict[IO[bytes], _Told], look: Callable[[], None]) -> None:
    """Read until the child closes them all."""
    with selectors.DefaultSelector() as selector:
        for stream, tail in streams.items():
            selector.register(stream, selectors.EVENT_READ, tail)
        while selector.get_map():
            for key, _ in selector.select(_LOOK_S):
                data = os.read(key.fd, _READ_BYTES)
                key.data.add(data)
                if not data:
                    selector.unregister(key.fileobj)
            look()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Its group, whatever is left of it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
