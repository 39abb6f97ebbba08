"""Runs the eight promises one after another and prints what each came to: promise, figure, held or
not. Everything is on loopback, bounded in count and time, and ended by its pid."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from scripts.bench.budget_proofs import (
    apart,
    depths,
    exact,
    fifty,
    halving,
    offline,
    redis_gone,
    shut,
)
from scripts.bench.budget_proofs.rows import Row, as_json, table
from scripts.bench.budget_proofs.world import World, running_world
from scripts.bench.measure import BenchTrouble
from scripts.bench.rounds import work_folder
from scripts.servers.process import ServerTrouble

PROMISES: dict[int, tuple[str, Callable[[World], list[Row]]]] = {
    1: ("never over, hardly ever under", exact.run),
    2: ("one halving an event", halving.run),
    3: ("no source pays for another", apart.run),
    4: ("a blocked source costs nothing", shut.run),
    5: ("the bound of depth holds", depths.run),
    6: ("Redis gone, Redis flushed", redis_gone.run),
    7: ("fifty sources", fifty.run),
    8: ("the machine offline", offline.run),
}
_IMPATIENT = frozenset({4})


def main() -> None:
    options = _options()
    try:
        with work_folder(keep=options.keep) as work:
            rows = _run(options.only or sorted(PROMISES), work, quick=options.quick)
    except (BenchTrouble, ServerTrouble) as trouble:
        sys.exit(f"budget: {trouble}")
    print(as_json(rows) if options.json else f"\n{table(rows)}")
    sys.exit(any(row.held is False for row in rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench/budget", description=__doc__)
    parser.add_argument(
        "--only", type=int, nargs="+", choices=sorted(PROMISES), help="these promises alone"
    )
    parser.add_argument("--quick", action="store_true", help="shorter runs: noisier figures")
    parser.add_argument("--json", action="store_true", help="print one JSON object a row")
    parser.add_argument("--keep", action="store_true", help="keep logs and stores under build/")
    return parser.parse_args()


def _run(promises: Sequence[int], work: Path, *, quick: bool) -> list[Row]:
    rows: list[Row] = []
    with ExitStack() as stack:
        world = None
        for number in promises:
            if number in _IMPATIENT:
                with running_world(_folder(work, "impatient"), quick=quick, impatient=True) as own:
                    rows += _one(number, own)
                continue
            if world is None:
                world = stack.enter_context(running_world(_folder(work, "usual"), quick=quick))
            rows += _one(number, world)
    return rows


def _one(number: int, world: World) -> list[Row]:
    words, promise = PROMISES[number]
    begun = time.monotonic()
    print(f"{number}. {words} ...", file=sys.stderr, flush=True)
    try:
        rows = promise(world)
    except BenchTrouble as trouble:
        rows = [Row(number, words, f"could not be measured: {trouble}", held=False)]
    for row in rows:
        print(f"   {row.what}: {row.figure}", file=sys.stderr)
    print(f"   {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return rows


def _folder(work: Path, name: str) -> Path:
    folder = work / name
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
