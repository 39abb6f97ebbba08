"""What a run cost: seconds, files a second, CPU, peak memory. Reads /proc, so Linux only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
_TICKS = os.sysconf("SC_CLK_TCK")


class BenchTrouble(Exception):
    """A run did not do what it measures; the message names the log to read."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One run."""

    seconds: float
    steady_per_s: float  # over the middle four fifths, as the server saw it
    cpu_s: float  # user and system, all processes of the crawler
    peak_bytes: int  # resident, summed over its processes


def middle(costs: Sequence[Cost]) -> Cost:
    """The median of each measure."""
    return Cost(
        median(cost.seconds for cost in costs),
        median(cost.steady_per_s for cost in costs),
        median(cost.cpu_s for cost in costs),
        round(median(cost.peak_bytes for cost in costs)),
    )


@dataclass(frozen=True, slots=True)
class Origin:
    """A running server of images, or of a video."""

    address: str
    latency_ms: float

    def list_url(self, run: str, count: int) -> str:
        """A text list that belongs to one run: `count` images, or a video of so many fragments."""
        return f"{self.address}/list/{run}/{count}"

    def count_anew(self) -> None:
        self._ask("count/anew")

    def served(self) -> int:
        """Images or fragments since the count began."""
        return int(json.loads(self._ask("count"))["served"])

    def steady_per_s(self) -> float:
        return float(json.loads(self._ask("count"))["steady"])

    def _ask(self, path: str) -> bytes:
        with urllib.request.urlopen(f"{self.address}/{path}", timeout=20) as answer:
            body: bytes = answer.read()
            return body


@contextmanager
def running_origin(
    size_bytes: int, latency_ms: float, film: Path | None = None
) -> Iterator[Origin]:
    """A server in a process of its own: its CPU is not the crawler's."""
    command = [sys.executable, str(HERE / "origin.py"), "--bytes", str(size_bytes)]
    command += ["--latency-ms", str(latency_ms)]
    command += ["--film", str(film)] if film else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            address = server.stdout.readline().strip()
            if not address:
                raise BenchTrouble("the benchmark's server did not start")
            yield Origin(address, latency_ms)
        finally:
            server.terminate()


def run_command(
    command: Sequence[str],
    environment: dict[str, str],
    log: Path,
    origin: Origin,
    *,
    limit_s: float,
) -> Cost:
    """Run a command from start to end, start-up included. Raises `BenchTrouble` unless it ends well
    in time."""
    origin.count_anew()
    begun = time.monotonic()
    with log.open("wb") as output:
        child = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        usage = _wait(child, limit_s)
    seconds = time.monotonic() - begun
    if child.returncode:
        raise BenchTrouble(f"{' '.join(command[:3])} ended with {child.returncode}: see {log}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(seconds, origin.steady_per_s(), cpu_s, usage.ru_maxrss * 1024)


def _wait(child: subprocess.Popen[bytes], limit_s: float) -> os.struct_rusage:  # type: ignore[name-defined]
    """Wait for a child and what it used; kill it after `limit_s`."""
    alarm = signal.signal(signal.SIGALRM, lambda *_: child.kill())
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        _, status, usage = os.wait4(child.pid, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    return [pid, *(member for child in children for member in family(child))]


def cpu_s(pids: Sequence[int]) -> float:
    """User and system seconds of processes so far, with those of their children that ended."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(ticks) for field in fields for ticks in field[11:15]) / _TICKS


def peak_bytes(pids: Sequence[int]) -> int:
    """The most that each held, summed."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                total += int(line.split()[1]) * 1024
    return total
