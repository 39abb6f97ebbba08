"""The `headrace` command as a person starts it: a process of its own, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEADRACE = Path(sys.executable).with_name("headrace")
LOOPBACK = ("--allow-network", "127.0.0.0/8")
FAST = ("--rate", "500", "--burst", "50")
QUICK_TO_GIVE_UP = "[retries]\nmax_attempts = 1\n"  # a headrace.toml


def environment(**changes: str) -> dict[str, str]:
    """This process's, without settings of the person who runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    return kept | changes


def headrace(*arguments: object, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    return subprocess.run(
        [HEADRACE, *map(str, arguments)],
        cwd=cwd,
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


class Started:
    """A command that runs beside the test; killed at the end of its context if it still runs."""

    def __init__(self, *arguments: object, cwd: Path, **env: str) -> None:
        self.process = subprocess.Popen(
            [HEADRACE, *map(str, arguments)],
            cwd=cwd,
            env=environment(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=20)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def kill(self) -> None:
        """-9, and wait until it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=20)

    def end(self, timeout_s: float = 60.0) -> tuple[int, str, str]:
        """Exit status, stdout and stderr."""
        out, err = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, out, err


def until(holds: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(0.01)


def told(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The object that --json ends with."""
    return json.loads(run.stdout.splitlines()[-1])


def checked(store: Path) -> subprocess.CompletedProcess[str]:
    """`sha256sum -c` over a store."""
    return subprocess.run(
        ["sha256sum", "-c", "--quiet", "SHA256SUMS"],
        cwd=store,
        capture_output=True,
        text=True,
        check=False,
    )


def objects(store: Path) -> dict[str, bytes]:
    """Every object by its name."""
    files = (path for path in (store / "objects").rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in files}


def staged_bytes(store: Path) -> int:
    """How much is half got. Other processes move these files while we look."""
    sizes = 0
    for path in (store / "staging").rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            sizes += path.stat().st_size if path.is_file() else 0
    return sizes
