"""The only place that reads the time. Everything else is given a `Clock`."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds, as floats."""

    def now(self) -> float:
        """Unix time: for records and for times that other machines read."""

    def monotonic(self) -> float:
        """For durations within this process."""

    def sleep(self, seconds: float, wake: threading.Event | None = None) -> bool:
        """Wait; True at once when `wake` is set meanwhile."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float, wake: threading.Event | None = None) -> bool:
        if wake is not None:
            return wake.wait(max(0.0, seconds))
        time.sleep(max(0.0, seconds))
        return False
