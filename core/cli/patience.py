"""Ends a run that can't go on: one whose store can't be written would else try for ever, and nobody
may be there to free its disk."""

from __future__ import annotations

from dramatiq import Broker, Middleware
from dramatiq.broker import MessageProxy

from core.clock import Clock
from core.errors import StorageDown

PATIENCE_S = 60.0  # each task was tried again at least twice by then


class Patience(Middleware):
    """Listens to how tasks end. Wears out while all that happens is that the store is down."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._trouble: StorageDown | None = None
        self._since = 0.0  # monotonic seconds

    def after_process_message(
        self,
        _broker: Broker,
        _message: MessageProxy,
        *,
        result: object | None = None,  # noqa: ARG002 - Dramatiq's signature
        exception: BaseException | None = None,
    ) -> None:
        """Note how a task ended."""
        if not isinstance(exception, StorageDown):
            self._trouble = None
        elif self._trouble is None:
            self._trouble, self._since = exception, self._clock.monotonic()

    def check(self) -> None:
        """Raise the trouble once it has lasted too long."""
        trouble = self._trouble
        if trouble is not None and self._clock.monotonic() - self._since >= PATIENCE_S:
            raise StorageDown(
                f"{trouble} (for {PATIENCE_S:.0f} s now: the run ends here, and the same command "
                "goes on with it)"
            )
