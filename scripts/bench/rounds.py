"""What every comparison is made of: ways to crawl that take turns, and servers for those that need
them."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from scripts.bench.crawls import Load, Servers, compile_ours, embedded, on_rabbitmq
from scripts.bench.measure import Cost, Origin
from scripts.servers.process import ServerTrouble, free_port
from scripts.servers.rabbitmq import Ports, RabbitNode
from scripts.servers.redis import RedisServer

ROOT = Path(__file__).resolve().parents[2]
Way = Callable[[Load, Origin, Path], Cost]
Table = dict[tuple[float, str], list[Cost]]


@contextmanager
def work_folder(*, keep: bool) -> Iterator[Path]:
    """A folder under build/ for all outputs. They stay until the end: ext4 passes over inodes that
    were deleted within the last minute one by one, and each new file then costs 0.8 ms instead of
    0.015. After an error they stay to be looked at."""
    (ROOT / "build").mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="bench-", dir=ROOT / "build"))
    yield work
    if not keep:
        shutil.rmtree(work)


def our_ways(stack: ExitStack, work: Path, *, with_rabbitmq: bool) -> dict[str, Way]:
    """Headrace in one process, and on servers that end with `stack`."""
    compile_ours()
    ways: dict[str, Way] = {"embedded": embedded}
    if not with_rabbitmq:
        return ways
    try:
        servers = stack.enter_context(_private_servers(work))
    except ServerTrouble as trouble:
        print(f"without RabbitMQ: {trouble}", flush=True)
        return ways
    return ways | {"on RabbitMQ": partial(on_rabbitmq, servers=servers)}


@contextmanager
def _private_servers(work: Path) -> Iterator[Servers]:
    """As `scripts/services` sets them up, but with nothing in them and gone afterwards."""
    redis = RedisServer(work / "redis", free_port(), password=secrets.token_hex(8))
    node = RabbitNode(work / "rabbitmq", Ports.free(), user="bench", password=secrets.token_hex(8))
    try:
        redis.start()
        node.start()
        yield Servers(node.url, redis.url)
    finally:
        node.stop()
        redis.stop()


def measured(
    ways: Mapping[str, Way], origins: Sequence[Origin], load: Load, work: Path, runs: int
) -> Table:
    """Interleaved, so that a noisy minute falls on every way alike."""
    table: Table = {}
    for run in range(1, runs + 1):
        for origin in origins:
            for name, way in ways.items():
                folder = work / f"{run}-{origin.latency_ms:g}ms-{name.replace(' ', '-')}"
                folder.mkdir()
                cost = way(load, origin, folder)
                table.setdefault((origin.latency_ms, name), []).append(cost)
                print(
                    f"run {run}, {origin.latency_ms:g} ms, {name}: {cost.seconds:.2f} s, "
                    f"{load.count / cost.seconds:,.0f}/s",
                    flush=True,
                )
    return table
