"""Runs the ways to crawl in turn, run by run, and prints the medians as ratios."""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from scripts.bench.crawls import Load, Servers, bare, embedded, on_rabbitmq
from scripts.bench.measure import BenchTrouble, Cost, Origin, middle, running_origin
from scripts.servers.process import ServerTrouble, free_port
from scripts.servers.rabbitmq import Ports, RabbitNode
from scripts.servers.redis import RedisServer

ROOT = Path(__file__).resolve().parents[2]
Way = Callable[[Load, Origin, Path], Cost]
Table = dict[tuple[float, str], list[Cost]]


def main() -> None:
    options = _options()
    load = Load(options.images, options.slots, limit_s=120.0)
    # Outputs stay until the end: ext4 passes over inodes that were deleted within the last minute
    # one by one, and each new file then costs 0.8 ms instead of 0.015.
    (ROOT / "build").mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="bench-", dir=ROOT / "build"))
    try:
        with ExitStack() as stack:
            origins = [
                stack.enter_context(running_origin(options.bytes, latency))
                for latency in options.latency_ms
            ]
            ways = _ways(stack, work, with_rabbitmq=not options.no_rabbitmq)
            table = _measure(ways, origins, load, work, options.runs)
    except BenchTrouble as trouble:
        sys.exit(f"images: {trouble}")  # the outputs stay, to be looked at
    _print(table, options)
    if not options.keep:
        shutil.rmtree(work)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench/images", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each way (default 3)")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=30_000, help="of each image")
    parser.add_argument("--slots", type=int, default=16, help="for the bare loop and embedded")
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[0.0, 50.0])
    parser.add_argument("--no-rabbitmq", action="store_true", help="only what needs no service")
    parser.add_argument("--keep", action="store_true", help="keep the outputs under build/")
    return parser.parse_args()


def _ways(stack: ExitStack, work: Path, *, with_rabbitmq: bool) -> dict[str, Way]:
    ways: dict[str, Way] = {"bare loop": bare, "embedded": embedded}
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


def _measure(
    ways: dict[str, Way], origins: list[Origin], load: Load, work: Path, runs: int
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
                    f"run {run}, {origin.latency_ms:g} ms, {name}: "
                    f"{load.images / cost.seconds:,.0f} files/s",
                    flush=True,
                )
    return table


_LEGEND = """
files/s: whole runs, start-up included (on RabbitMQ: warm workers, from submit to the last record).
steady/s: the middle four fifths, as the server saw them. Possible: slots / latency.
CPU and memory: all processes of the crawler, without RabbitMQ's and Redis's own."""


def _print(table: Table, options: argparse.Namespace) -> None:
    print(
        f"\n{options.images:,} images of {options.bytes:,} bytes, {options.slots} slots, "
        f"median of {options.runs} (slowest to fastest)\n"
    )
    heads = ("latency", "way", "files/s", "of bare", "of possible", "steady/s", "CPU s", "peak MB")
    line = "{:>7}  {:<12} {:>20} {:>8} {:>12} {:>9} {:>7} {:>8}".format
    print(line(*heads))
    for (latency, way), costs in table.items():
        yardstick = middle(table[latency, "bare loop"]).seconds
        cost = middle(costs)
        speeds = [options.images / each.seconds for each in costs]
        possible = options.slots / latency * 1000 if latency else 0.0
        per_s = options.images / cost.seconds
        print(
            line(
                f"{latency:g} ms",
                way,
                f"{per_s:,.0f} ({min(speeds):,.0f}-{max(speeds):,.0f})",
                f"{yardstick / cost.seconds:.2f}",
                f"{per_s / possible:.0%}" if possible else "-",
                f"{cost.steady_per_s:,.0f}",
                f"{cost.cpu_s:.1f}",
                f"{cost.peak_bytes / 1e6:.0f}",
            )
        )
    print(_LEGEND)


if __name__ == "__main__":
    main()
