"""Has what this process knows of slowdowns told to the shared storage about once a second, by a
thread that runs only while anything is known: whoever closed a source's lanes makes no claims that
would tell it, and after a flush the others would be let off."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from core.clock import Clock
from core.errors import SharedStateDown

logger = logging.getLogger(__name__)

TOLD_EVERY_S = 1.0  # a flush lets a source off for so long; one call a process


class Retelling:
    """Calls `tell` until nothing is known, and again from the next `begin`."""

    def __init__(
        self, tell: Callable[[], object], is_anything_known: Callable[[], bool], clock: Clock
    ) -> None:
        self._tell = tell
        self._is_anything_known = is_anything_known
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Something is known. Told again while that lasts, nothing changes."""
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(
                    target=self._go_on, name="headrace-retelling", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """End the thread for good."""
        self._closed.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _go_on(self) -> None:
        while not self._clock.sleep(TOLD_EVERY_S, wake=self._closed):
            try:
                self._tell()
            except SharedStateDown as error:
                logger.debug("%s", error)  # whoever needs an answer says so; it is told when back
            with self._lock:  # so that what is learned just now is told: by this thread or the next
                if not self._is_anything_known():
                    self._thread = None
                    return
