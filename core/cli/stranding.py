"""Ends a run that nothing is left of but what can't go on: sources that are paused, or where nobody
answers. Their tasks would wait for ever, and perhaps nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dramatiq import Broker, Middleware
from dramatiq.broker import MessageProxy

from core import errors
from core.clock import Clock
from core.model.request import Asked
from core.queue.delivery import Delivery
from core.steps.run import Run

GIVE_UP_S = 120.0
NO_ANSWER = "nobody answers there"


class Stranding(Middleware):
    """Listens to how tasks end. `why_paused` and `blocked_for` tell of a source why it is paused,
    and for how long it is blocked."""

    def __init__(
        self,
        clock: Clock,
        why_paused: Callable[[str], str | None],
        blocked_for: Callable[[str], float],
    ) -> None:
        self._clock = clock
        self._why_paused = why_paused
        self._blocked_for = blocked_for
        self._silent: set[str] = set()  # sources whose last request had no good answer
        self._out: set[str] = set()  # of those, the ones that were shut for it
        self._read: dict[str, int] = {}  # bytes, by run: what the last look saw
        self._since: float | None = None  # monotonic seconds

    def after_process_message(
        self,
        _broker: Broker,
        message: MessageProxy,
        *,
        result: object | None = None,  # noqa: ARG002 - Dramatiq's signature
        exception: BaseException | None = None,
    ) -> None:
        """Note how a task ended."""
        assert isinstance(message, Delivery)  # noqa: S101 - our consumers make no other
        self._learn(message.task.source, exception)

    def left(self, open_tasks: Mapping[str, int], running: Sequence[Run]) -> dict[str, str]:
        """Why each source that has anything open can't go on, once that has been so for a while;
        empty as long as any of them can."""
        self._hear(running)
        stuck = {source: self._why_stuck(source) for source in open_tasks}
        reasons = {source: why for source, why in stuck.items() if why is not None}
        if not reasons or len(reasons) < len(open_tasks):
            self._since = None
            return {}
        now = self._clock.monotonic()
        self._since = now if self._since is None else self._since
        return reasons if now - self._since >= GIVE_UP_S else {}

    def _learn(self, source: str, exception: BaseException | None) -> None:
        match exception:
            case errors.Offline():
                self._silent.add(source)
                self._out.add(source)
            case errors.HeadraceError(asked=Asked(answered=True)):
                self._answered(source)
            case errors.Unreachable() | errors.Timeout() | errors.ServerTrouble():
                # Counted: a single task ends by itself. Only with its source shut it would not.
                self._silent.add(source)
            case errors.HostBusy():
                self._out |= {source} & self._silent
            case errors.Throttled():
                self._answered(source)  # it said when to come back
            case errors.Postponed() | errors.Trouble():
                pass  # no request went out
            case _:
                self._answered(source)

    def _hear(self, running: Sequence[Run]) -> None:
        """Whoever sends bytes answers."""
        for run in running:
            if run.bytes_read > self._read.get(run.token, 0):
                self._answered(run.task.source)
        self._read = {run.token: run.bytes_read for run in running}

    def _answered(self, source: str) -> None:
        self._silent.discard(source)
        self._out.discard(source)

    def _why_stuck(self, source: str) -> str | None:
        paused = self._why_paused(source)
        if paused is not None:
            return f"it is paused ({paused})"
        if source in self._silent and self._blocked_for(source) > 0:
            self._out.add(source)
        return NO_ANSWER if source in self._out else None
