"""Gets one video of many fragments in several ways, run by run, and prints the medians beside those
of yt-dlp; then joins a long and a large one, and prints what that takes."""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from shutil import which

from scripts.bench import long_video
from scripts.bench.crawls import Load, environment
from scripts.bench.film import NoFfmpeg, render
from scripts.bench.measure import BenchTrouble, Cost, Origin, middle, run_command, running_origin
from scripts.bench.rounds import Table, Way, measured, our_ways, work_folder

PEER = "yt-dlp"


def main() -> None:
    options = _options()
    try:
        with work_folder(keep=options.keep) as work:
            if options.runs:
                _compare(options, work)
            long_video.measure(work, options.long_fragments, options.large_gb)
    except (BenchTrouble, NoFfmpeg) as trouble:
        sys.exit(f"video: {trouble}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench/video", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each way (default 3); 0: none")
    parser.add_argument("--fragments", type=int, default=200)
    parser.add_argument("--bytes", type=int, default=250_000, help="of each fragment")
    parser.add_argument("--slots", type=int, default=16, help="for embedded, and for yt-dlp's -N")
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[0.0, 50.0])
    parser.add_argument("--limit-s", type=float, default=120.0, help="for each run")
    parser.add_argument(
        "--no-rabbitmq",
        dest="rabbitmq",
        action="store_false",
        help="only what needs no service",
    )
    parser.add_argument(
        "--install-peer",
        action="store_true",
        help="install yt-dlp into a throw-away environment under build/, if it is not on the path",
    )
    parser.add_argument(
        "--long-fragments", type=int, default=18_000, help="of the long video; 0: none"
    )
    parser.add_argument(
        "--large-gb", type=float, default=10.0, help="of the large video, twice on disk; 0: none"
    )
    parser.add_argument("--keep", action="store_true", help="keep the outputs under build/")
    return parser.parse_args()


def _compare(options: argparse.Namespace, work: Path) -> None:
    load = Load(options.fragments, options.slots, options.limit_s, one_video=True)
    film = work / "film"
    render(film, options.fragments)
    with ExitStack() as stack:
        origins = [
            stack.enter_context(running_origin(options.bytes, latency, film))
            for latency in options.latency_ms
        ]
        ours = our_ways(stack, work, with_rabbitmq=options.rabbitmq)
        ways = {**_peer(work, install=options.install_peer), **ours}
        _print(measured(ways, origins, load, work, options.runs), options)


def _peer(work: Path, *, install: bool) -> dict[str, Way]:
    found = which(PEER)
    if found is None and install:
        found = _installed(work / "peer")
    if found is None:
        print("without yt-dlp: it is not installed (--install-peer does that, for this run)")
        return {}
    return {PEER: partial(_yt_dlp, found)}


def _installed(folder: Path) -> str | None:
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "pip"), "install", "--quiet", PEER]
    if subprocess.run(command, check=False).returncode:
        return None
    return str(folder / "bin" / PEER)


def _yt_dlp(program: str, load: Load, origin: Origin, folder: Path) -> Cost:
    """The usual tool, at its best: as many fragments at a time as we have slots."""
    video = f"{origin.address}/film/{folder.name}/{load.count}/index.m3u8"
    command = [program, "--ignore-config", "--no-progress", "--no-cache-dir", "-N", str(load.slots)]
    command += ["-o", str(folder / "film.mp4"), video]
    cost = run_command(command, environment(), folder / "log", origin, limit_s=load.limit_s)
    if not (folder / "film.mp4").stat().st_size:
        raise BenchTrouble(f"yt-dlp left no file: see {folder}")
    return cost


_LEGEND = """
s: a whole run, start-up included (on RabbitMQ: warm workers, from submit to the video's record).
CPU: all processes of the crawler with those of ffmpeg that ended; memory: the crawler's, without
RabbitMQ's and Redis's own."""


def _print(table: Table, options: argparse.Namespace) -> None:
    print(
        f"\n{options.fragments:,} fragments of {options.bytes:,} bytes, {options.slots} slots, "
        f"median of {options.runs} (fastest to slowest)\n"
    )
    line = "{:>7}  {:<12} {:>22} {:>10} {:>12} {:>7} {:>8}".format
    print(line("latency", "way", "s", "of yt-dlp", "fragments/s", "CPU s", "peak MB"))
    for (latency, way), costs in table.items():
        cost, seconds = middle(costs), [each.seconds for each in costs]
        peer = table.get((latency, PEER))
        print(
            line(
                f"{latency:g} ms",
                way,
                f"{cost.seconds:.2f} ({min(seconds):.2f}-{max(seconds):.2f})",
                f"{cost.seconds / middle(peer).seconds:.2f}" if peer else "-",
                f"{options.fragments / cost.seconds:,.0f}",
                f"{cost.cpu_s:.1f}",
                f"{cost.peak_bytes / 1e6:.0f}",
            )
        )
    print(_LEGEND)


if __name__ == "__main__":
    main()
