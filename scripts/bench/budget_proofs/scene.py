"""One promise's stage: settings, a store, workers as a person starts them, and the commands beside
them. Its processes end by their pids."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.budget.budget import TokenBudget
from core.clock import SystemClock
from core.ports import Standing
from scripts.bench.budget_proofs import recording
from scripts.bench.budget_proofs.counters import Counters
from scripts.bench.crawls import BIN, environment
from scripts.bench.measure import BenchTrouble, family

_ACTORS = "scripts.bench.budget_proofs.actors"
_READY = "Worker process is ready for action"
_GRACE_S = 30.0


class Scene:
    """A folder with settings; everything that runs by them."""

    def __init__(self, folder: Path, rabbitmq_url: str, redis_url: str, counters: Counters) -> None:
        self.folder = folder
        self.rabbitmq_url = rabbitmq_url
        self.redis_url = redis_url
        self.counters = counters
        self._settings = folder / "headrace.toml"
        self._env: dict[str, str] = {}
        self._running: list[subprocess.Popen[bytes]] = []

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def log(self) -> Path:
        """What the workers say."""
        return self.folder / "workers.log"

    @property
    def settings(self) -> Path:
        return self._settings

    def configure(self, text: str, **env: str) -> None:
        """The settings from now on; `env` for what the recording needs."""
        self._settings.write_text(f'store = "{self.store}"\n{text}')
        self._env = environment(
            HEADRACE_CONFIG=str(self._settings),
            HEADRACE_RABBITMQ_URL=self.rabbitmq_url,
            HEADRACE_REDIS_URL=self.redis_url,
            **{recording.FOLDER: str(self.folder)},
            **env,
        )

    # --- processes ---

    def start(self, *command: str | Path, log: str) -> subprocess.Popen[bytes]:
        """A process beside us, ended with the scene."""
        with (self.folder / log).open("ab") as output:
            process = subprocess.Popen(
                [str(part) for part in command],
                env=self._env,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._running.append(process)
        return process

    def start_workers(self, processes: int, threads: int) -> list[int]:
        """`dramatiq`, ready; the pids of its worker processes."""
        before = self._ready()
        crew = ("-p", str(processes), "-t", str(threads))
        parent = self.start(BIN / "dramatiq", _ACTORS, *crew, log=self.log.name)
        self.wait_for(lambda: self._ready() >= before + processes, 60, "the workers' start")
        return worker_pids(parent.pid)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """End one politely, and its family with it if it does not go."""
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # of the session that we made for it
                process.wait(10)
        if process in self._running:
            self._running.remove(process)

    def end(self) -> None:
        """End everything that still runs."""
        for process in list(reversed(self._running)):
            self.stop(process)

    @contextmanager
    def workers(self, processes: int, threads: int) -> Iterator[list[int]]:
        """Workers for as long as the block runs."""
        pids = self.start_workers(processes, threads)
        parent = self._running[-1]
        try:
            yield pids
        finally:
            self.stop(parent)

    def _ready(self) -> int:
        return self.log.read_text().count(_READY) if self.log.exists() else 0

    # --- commands ---

    def headrace(self, *arguments: str) -> str:
        """Run a command to its end. Raises `BenchTrouble` when it fails."""
        run = subprocess.run(
            [str(BIN / "headrace"), *arguments],
            env=self._env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if run.returncode:
            raise BenchTrouble(f"headrace {' '.join(arguments)}: {run.stderr.strip()[-400:]}")
        return run.stdout

    def fetchers(
        self, source: str, url: str, *, processes: int, threads: int, seconds: float
    ) -> None:
        """Processes that make visits and nothing else, until they have ended."""
        module = "scripts.bench.budget_proofs.fetchers"
        told = [source, url, str(threads), str(seconds)]
        crew = [
            self.start(sys.executable, "-m", module, *told, log="fetchers.log")
            for _ in range(processes)
        ]
        for process in crew:
            status = process.wait(seconds + 60)
            self._running.remove(process)
            if status:
                raise BenchTrouble(f"a fetcher ended with {status}: see {self.folder}")

    def status(self, source: str) -> dict[str, Any]:
        """What `headrace status` says of a source."""
        told = json.loads(self.headrace("status", "--json"))
        found: dict[str, Any] = next(s for s in told["sources"] if s["source"] == source)
        return found

    def submit(self, *feeds: str) -> None:
        self.headrace("submit", *feeds)

    # --- what came of it ---

    def grants(self, bucket: str) -> list[int]:
        """When a bucket's tokens were granted: microseconds on the storage's clock."""
        return recording.grants(self.folder, bucket)

    def answers(self, bucket: str) -> list[recording.Said]:
        """Everything that the storage answered of a bucket."""
        return recording.said(self.folder, bucket)

    def standing(self, bucket: str) -> Standing:
        """How a bucket stands."""
        found = TokenBudget.redis(self.redis_url, SystemClock()).standing(bucket)
        if found is None:
            raise BenchTrouble(f"Redis knows no bucket {bucket}")
        return found

    def got(self) -> int:
        """Media that ended well or badly."""
        return sum(1 for _ in (self.store / "media").glob("*/*.1.json"))

    def said(self, words: str) -> int:
        """How many lines of the workers' log have these words."""
        return sum(words in line for line in self.log.read_text(errors="replace").splitlines())

    def wait_for(self, reached: Callable[[], bool], within_s: float, what: str) -> None:
        """Raises `BenchTrouble` when it does not come to that."""
        if not came(reached, within_s):
            raise BenchTrouble(f"{what}: not within {within_s:.0f} s: see {self.folder}")


def came(reached: Callable[[], bool], within_s: float, every_s: float = 0.05) -> bool:
    """Whether it came to that in time."""
    deadline = time.monotonic() + within_s
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True


def worker_pids(parent: int) -> list[int]:
    """The processes that perform tasks: those of the family with many threads."""
    return [pid for pid in family(parent)[1:] if threads_of(pid) > 2]


def threads_of(pid: int) -> int:
    return _status(pid, "Threads:")


def rss_bytes(pid: int) -> int:
    return _status(pid, "VmRSS:") * 1024


def sockets_of(pid: int) -> int:
    """Open sockets of a process."""
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += descriptor.readlink().name.startswith("socket:")
    return count


def idle_cpu_s() -> float:
    """Seconds that the machine's processors, together, had nothing to do since it started."""
    fields = Path("/proc/stat").read_text().split(maxsplit=6)
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def _status(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    return 0
