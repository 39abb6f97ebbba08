"""The shared state is away: the process hands on nothing until it is back, and asks for it itself,
so that no delivery is taken from its lane only to find out."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable

from core.clock import Clock
from core.errors import HeadraceError
from core.queue.turns import Turns

logger = logging.getLogger(__name__)

ASKED_EVERY_S = 2.0  # it costs one refused connection; work goes on that soon


class Outage:
    """Closes every source while `ask` raises. From any thread.

    `ask` also makes up for what could not be told meanwhile, before anything is handed on again."""

    def __init__(
        self,
        turns: Turns,
        ask: Callable[[], object],
        wake: Callable[[], None],
        stop: threading.Event,
        clock: Clock,
    ) -> None:
        self._turns = turns
        self._ask = ask
        self._wake = wake
        self._stop = stop
        self._clock = clock
        self._lock = threading.Lock()
        self._lasts = False

    @property
    def lasts(self) -> bool:
        """Whether it is away, for all that is known here."""
        return self._lasts

    def begin(self) -> None:
        """A run found that it is away. Told again while that lasts, nothing changes."""
        with self._lock:
            if self._lasts:
                return
            self._lasts = True
            self._turns.close_all(math.inf)
        logger.warning("nothing is handed on while the shared state is away")
        threading.Thread(target=self._wait, name="headrace-outage", daemon=True).start()

    def _wait(self) -> None:
        while not self._clock.sleep(ASKED_EVERY_S, wake=self._stop):
            if self._is_over():
                break
        with self._lock:
            self._lasts = False
            self._turns.open_all()
        self._wake()

    def _is_over(self) -> bool:
        try:
            self._ask()
        except HeadraceError as error:
            logger.debug("%s", error)
            return False
        logger.info("the shared state is back: work goes on")
        return True
