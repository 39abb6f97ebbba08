"""Renews the leases of this process's running tasks from one thread."""

from __future__ import annotations

import logging
import threading

from core.clock import Clock
from core.errors import SharedStateDown
from core.ports import Ledger
from core.steps.run import Run

logger = logging.getLogger(__name__)


class Heartbeat:
    """Renews each run's lease three times a lease, until the run's deadline. The thread starts with
    the first run and ends with `close`."""

    def __init__(self, ledger: Ledger, clock: Clock, *, lease_s: float) -> None:
        self._ledger = ledger
        self._clock = clock
        self._lease_s = lease_s
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, run: Run) -> None:
        """Renew this run's lease from now on."""
        with self._lock:
            self._runs[run.token] = run
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._beat_on, name="headrace-heartbeat", daemon=True
                )
                self._thread.start()

    def forget(self, run: Run) -> None:
        """The run is over: once this returns, its lease is renewed no more."""
        with self._lock:
            self._runs.pop(run.token, None)
        with self._renewing:
            pass  # a renewal under way has ended

    def running(self) -> list[Run]:
        """What this process performs at the moment."""
        with self._lock:
            return list(self._runs.values())

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def beat(self) -> None:
        """Renew every lease once."""
        now = self._clock.monotonic()
        for run in self.running():
            if now < run.renew_until:
                self._renew(run)

    def _renew(self, run: Run) -> None:
        """One renewal at a time, and none of a run that is over: a late one would take a lease
        that nobody ends, and that would count as a crash."""
        with self._renewing:
            if self._watches(run):
                self._prolong(run)

    def _watches(self, run: Run) -> bool:
        with self._lock:
            return run.token in self._runs

    def _prolong(self, run: Run) -> None:
        try:
            held = self._ledger.renew(
                run.task, run.token, lease_s=self._lease_s, progress=run.take_progress()
            )
        except SharedStateDown as error:
            # Nobody else can take the lease either; it is renewed when the ledger is back.
            logger.warning("lease of %s not renewed: %s", run.task.id, error)
            return
        if not held:
            run.lose()

    def _beat_on(self) -> None:
        while not self._clock.sleep(self._lease_s / 3, wake=self._closed):
            self.beat()
