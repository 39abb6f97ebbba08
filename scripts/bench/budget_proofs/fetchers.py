"""One process that fetches and does nothing else: visits through the recorded budget, as many
threads as it is told, for so long. `fetchers.py SOURCE URL THREADS SECONDS`"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time

from core.clock import SystemClock
from core.errors import BudgetSpent, SourceBlocked
from core.fetch.fetcher import Fetcher
from core.model.request import Request
from core.settings import load
from core.steps.terms import source_terms
from scripts.bench.budget_proofs.recording import recorded_budget


class Crew:
    """The threads and what they share."""

    def __init__(self, source: str, url: str, seconds: float) -> None:
        settings = load()
        clock = SystemClock()
        self._terms = source_terms(source, settings.source(source))
        self._url = url
        self._ends_at = time.monotonic() + seconds
        self._numbers = itertools.count()
        self._stop = threading.Event()
        budget = recorded_budget(settings.redis.url.get_secret_value(), clock)
        self._fetcher = Fetcher(settings.fetch, budget, clock, self._stop, lambda: sys.maxsize)

    def run(self, threads: int) -> None:
        crew = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        self._visit()  # opens the bucket, which then fills up
        self._stop.wait(self._terms.burst / self._terms.rate)
        for thread in crew:
            thread.start()
        time.sleep(max(0.0, self._ends_at - time.monotonic()))
        self._stop.set()
        for thread in crew:
            thread.join(30)

    def _work(self) -> None:
        while time.monotonic() < self._ends_at:
            try:
                self._visit()
            except (BudgetSpent, SourceBlocked) as error:
                self._stop.wait(min(error.delay_s or 1.0, 1.0))

    def _visit(self) -> None:
        address = f"{self._url}/{os.getpid()}-{next(self._numbers)}.jpg"
        with self._fetcher.visit(self._terms) as visit:
            visit.page(Request(address)).stream.read()


def main() -> None:
    source, url, threads, seconds = sys.argv[1:]
    Crew(source, url, float(seconds)).run(int(threads))


if __name__ == "__main__":
    main()
