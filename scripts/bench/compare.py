"""Runs the ways to crawl in turn, run by run, and prints the medians as ratios."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from scripts.bench.crawls import Load, bare
from scripts.bench.measure import BenchTrouble, middle, running_origin
from scripts.bench.rounds import Table, measured, our_ways, work_folder


def main() -> None:
    options = _options()
    load = Load(options.images, options.slots, limit_s=120.0)
    try:
        with work_folder(keep=options.keep) as work, ExitStack() as stack:
            origins = [
                stack.enter_context(running_origin(options.bytes, latency))
                for latency in options.latency_ms
            ]
            ways = {"bare loop": bare, **our_ways(stack, work, with_rabbitmq=options.rabbitmq)}
            _print(measured(ways, origins, load, work, options.runs), options)
    except BenchTrouble as trouble:
        sys.exit(f"images: {trouble}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench/images", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each way (default 3)")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=30_000, help="of each image")
    parser.add_argument("--slots", type=int, default=16, help="for the bare loop and embedded")
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[0.0, 50.0])
    parser.add_argument(
        "--no-rabbitmq",
        dest="rabbitmq",
        action="store_false",
        help="only what needs no service",
    )
    parser.add_argument("--keep", action="store_true", help="keep the outputs under build/")
    return parser.parse_args()


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
