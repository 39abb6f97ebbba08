"""SIGHUP, noted from the command's first moment and acted on once it runs: a reload that comes
early must not end a producer that is still starting."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class HangUps:
    """Counts as one however many came since the last `take`."""

    def __init__(self) -> None:
        self._came = False
        self._wake: threading.Event | None = None

    def listen(self) -> None:
        """From now on SIGHUP ends nothing. Twice is harmless."""
        if threading.current_thread() is threading.main_thread():  # others may set no handler
            signal.signal(signal.SIGHUP, self._note)

    def take(self) -> bool:
        """Whether one came."""
        came, self._came = self._came, False
        return came

    @contextmanager
    def waking(self, wake: threading.Event) -> Iterator[None]:
        """Meanwhile each sets `wake` too."""
        self.listen()
        self._wake = wake
        try:
            yield
        finally:
            self._wake = None

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
        if self._wake is not None:
            self._wake.set()


HANG_UPS = HangUps()  # a process has one SIGHUP
