"""What tests of fetching start from: a fetcher that may ask loopback, terms, a partial."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.clock import Clock, SystemClock
from core.fetch.fetcher import Download, Fetcher, Surroundings
from core.model.partial import Validators
from core.model.request import Request, Span
from core.model.source import SourceTerms
from core.settings import FetchSettings
from tests.support.budget import OpenBudget

LOOPBACK = ("127.0.0.0/8", "::1/128")


class HeldPartial:
    """A partial in a folder of the test's own."""

    def __init__(
        self, path: Path, body: bytes | None = None, validators: Validators | None = None
    ) -> None:
        self.path = path
        self.validators = validators
        self.restarts = 0
        if body is not None:
            path.write_bytes(body)

    def keep(self, validators: Validators) -> None:
        self.validators = validators

    def restart(self) -> None:
        self.path.unlink(missing_ok=True)
        self.validators = None
        self.restarts += 1


class Net:
    """A fetcher and all it was given."""

    def __init__(self, fetcher: Fetcher, budget: OpenBudget, stop: threading.Event) -> None:
        self.fetcher, self.budget, self.stop = fetcher, budget, stop

    def download(
        self,
        url: str,
        partial: HeldPartial,
        terms: SourceTerms | None = None,
        *,
        span: Span | None = None,
        **request: Any,
    ) -> Download:
        """One download in a visit of its own."""
        with self.fetcher.visit(terms or terms_of()) as visit:
            return visit.download(Request(url, **request), partial, lambda _: None, span=span)

    def page(self, url: str, terms: SourceTerms | None = None, **request: Any) -> bytes:
        """One page in a visit of its own."""
        with self.fetcher.visit(terms or terms_of()) as visit:
            return visit.page(Request(url, **request)).stream.read()


@contextmanager
def net(
    *,
    budget: OpenBudget | None = None,
    clock: Clock | None = None,
    free_bytes: int = 10**12,
    around: Surroundings | None = None,
    **settings: Any,
) -> Iterator[Net]:
    """A fetcher with these settings, closed at the end."""
    budget, stop = budget or OpenBudget(), threading.Event()
    given = {"allow_networks": LOOPBACK} | settings
    fetcher = Fetcher(
        FetchSettings(**given),
        budget,
        clock or SystemClock(),
        stop,
        lambda: free_bytes,
        around or Surroundings(),
    )
    try:
        yield Net(fetcher, budget, stop)
    finally:
        fetcher.close()


def terms_of(name: str = "site", **more: Any) -> SourceTerms:
    """A source's terms."""
    return SourceTerms(name, rate=10.0, burst=20, **more)
