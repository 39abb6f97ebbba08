#!/usr/bin/env python3
"""Serves the sample site on loopback until SIGTERM or Ctrl-C; prints its address first."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.sample_site import settings
from scripts.sample_site.site import SampleSite


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    parser.add_argument("--latency-ms", type=float, default=0, help="wait before every answer")
    parser.add_argument("--log", type=Path, help="append a line a request to this file")
    parser.add_argument(
        "--settings", type=Path, metavar="DIR", help="write a headrace.toml for its named sources"
    )
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as stack:
        log = stack.enter_context(options.log.open("a")) if options.log else None
        latency_s = options.latency_ms / 1000
        site = stack.enter_context(SampleSite(options.port, latency_s=latency_s, log=log))
        if options.settings:
            settings.write(options.settings.absolute(), site.address)
        print(site.address, flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
