"""The two ways to run Headrace, as a person starts them: one process without a service, and
`dramatiq actors` on a RabbitMQ and a Redis that are private to the benchmark."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.bench.measure import (
    BenchTrouble,
    Cost,
    Origin,
    cpu_s,
    family,
    peak_bytes,
    run_command,
)

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
NO_LIMIT = 1_000_000  # requests a second and at once: the budget is asked, but never binds
WARM_UP = 64  # images or fragments before the clock starts, so that every thread has its session
PROCESSES, THREADS, SLOTS = 2, 9, 8


@dataclass(frozen=True, slots=True)
class Load:
    """What every run has to get."""

    count: int  # of images, or of a video's fragments
    slots: int
    limit_s: float
    one_video: bool = False

    def files(self, count: int) -> int:
        """How many files so many images or fragments make."""
        return 1 if self.one_video else count


@dataclass(frozen=True, slots=True)
class Servers:
    """Where RabbitMQ and Redis are."""

    rabbitmq_url: str
    redis_url: str


def environment(**more: str) -> dict[str, str]:
    """The person's own settings stay out, and so does what keeps Python from keeping byte-code: an
    installed program has it, and compiling ours anew took 0.35 s of each start."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    plain.pop("PYTHONDONTWRITEBYTECODE", None)
    return plain | {"PYTHONPATH": str(ROOT)} | more


def compile_ours() -> None:
    """As an installation does, so that the first run is like the others."""
    for package in ("core", "actors"):
        compileall.compile_dir(ROOT / package, quiet=2)


def bare(load: Load, origin: Origin, folder: Path) -> Cost:
    """The yardstick."""
    listed = origin.list_url(folder.name, load.count)
    script = str(ROOT / "scripts" / "bench" / "bare_loop.py")
    command = [sys.executable, script, listed, str(folder / "files"), str(load.slots)]
    return run_command(command, environment(), folder / "log", origin, limit_s=load.limit_s)


def embedded(load: Load, origin: Origin, folder: Path) -> Cost:
    """`headrace crawl` of the list."""
    store = folder / "store"
    command = [str(BIN / "headrace"), "crawl", origin.list_url(folder.name, load.count)]
    command += ["--to", str(store), "--allow-network", "127.0.0.0/8", "--json"]
    command += ["--rate", str(NO_LIMIT), "--burst", str(NO_LIMIT), "--concurrency", str(load.slots)]
    cost = run_command(command, environment(), folder / "log", origin, limit_s=load.limit_s)
    _hold_to(load.files(load.count), store, folder)
    return cost


def on_rabbitmq(load: Load, origin: Origin, folder: Path, servers: Servers) -> Cost:
    """Warm workers; the clock runs from `headrace submit` to the last record in the store."""
    store = folder / "store"
    settings = _configured(folder, store, servers)
    with _workers(settings, folder) as pid:
        _submit(origin.list_url(f"{folder.name}-warm-up", WARM_UP), settings, folder)
        warm = load.files(WARM_UP)
        _wait_for(lambda: _records(store) >= warm, load.limit_s, folder, "the warm-up")
        origin.count_anew()
        pids = family(pid)
        cpu_before, begun = cpu_s(pids), time.monotonic()
        _submit(origin.list_url(folder.name, load.count), settings, folder)
        # Counting records costs: it begins when the server has given the last file away.
        _wait_for(lambda: origin.served() >= load.count, load.limit_s, folder, "the downloads")
        files = load.files(load.count) + warm
        _wait_for(lambda: _records(store) >= files, 60, folder, "the records")
        seconds = time.monotonic() - begun
        cost = Cost(seconds, origin.steady_per_s(), cpu_s(pids) - cpu_before, peak_bytes(pids))
    _hold_to(files, store, folder)
    return cost


def _configured(folder: Path, store: Path, servers: Servers) -> dict[str, str]:
    """The environment that makes every command read the run's own settings."""
    settings = folder / "headrace.toml"
    settings.write_text(
        f"""store = "{store}"
        [sources.feed]
        rate = {NO_LIMIT}.0
        burst = {NO_LIMIT}
        concurrency = {SLOTS}
        [fetch]
        allow_networks = ["127.0.0.0/8"]
        """
    )
    return environment(
        HEADRACE_CONFIG=str(settings),
        HEADRACE_RABBITMQ_URL=servers.rabbitmq_url,
        HEADRACE_REDIS_URL=servers.redis_url,
    )


@contextmanager
def _workers(settings: Mapping[str, str], folder: Path) -> Iterator[int]:
    """`dramatiq actors`, ready; the pid of its parent process."""
    command = [str(BIN / "dramatiq"), "actors", "-p", str(PROCESSES), "-t", str(THREADS)]
    log = folder / "workers.log"
    with log.open("wb") as output:
        parent = subprocess.Popen(command, env=settings, stdout=output, stderr=output, cwd=ROOT)
    try:
        ready = "Worker process is ready for action"
        _wait_for(lambda: log.read_text().count(ready) == PROCESSES, 60, folder, "the workers")
        yield parent.pid
    finally:
        parent.terminate()
        try:
            parent.wait(60)
        except subprocess.TimeoutExpired:
            parent.kill()
            parent.wait()


def _submit(feed: str, settings: Mapping[str, str], folder: Path) -> None:
    command = [str(BIN / "headrace"), "submit", feed]
    with (folder / "submit.log").open("ab") as output:
        subprocess.run(command, env=settings, stdout=output, stderr=output, check=True)


def _wait_for(reached: Callable[[], bool], limit_s: float, folder: Path, what: str) -> None:
    deadline = time.monotonic() + limit_s
    while not reached():
        if time.monotonic() > deadline:
            raise BenchTrouble(f"{what} did not end within {limit_s:.0f} s: see {folder}")
        time.sleep(0.05)


def _records(store: Path) -> int:
    return sum(1 for _ in (store / "media").glob("*/*.1.json"))


def _hold_to(files: int, store: Path, folder: Path) -> None:
    """A fast run that lost a file is no run."""
    found = sum(1 for file in (store / "objects").rglob("*") if file.is_file())
    if found != files:
        raise BenchTrouble(f"{found} of {files} files are in the store: see {folder}")
