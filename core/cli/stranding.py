"""Ends a run that nothing is left of but what can't go on: sources that are paused, where nobody
answers, or whose every answer is «slower». Their tasks would wait for ever, and perhaps nobody
looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dramatiq import Broker, Middleware
from dramatiq.broker import MessageProxy

from core import errors
from core.clock import Clock
from core.model.request import Asked
from core.model.task import Kind
from core.queue.delivery import Delivery
from core.steps.run import Run

GIVE_UP_S = 120.0
REFUSED_S = 480.0  # before that: nothing but «slower», beyond the longest wait that was named
NO_ANSWER = "nobody answers there"
REFUSES = "it only tells us to come back later"


@dataclass(slots=True)
class _Refusals:
    """What a source said since its last good answer."""

    since: float  # monotonic
    longest_s: float = 0.0  # of the waits that it named, or that the budget put in their place
    again: bool = False  # also when that wait was over

    def add(self, now: float, wait_s: float) -> None:
        """One more. Those that come at the same time are one and the same."""
        self.again |= now > self.since + self.longest_s
        self.longest_s = max(self.longest_s, wait_s)

    def are_enough(self, now: float) -> bool:
        """Whether there is no use in asking a third time."""
        return self.again and now >= self.since + self.longest_s + REFUSED_S


class Stranding(Middleware):
    """Listens to how tasks end. `why_paused` and `blocked_for` tell of a source why it is paused,
    and for how long it is blocked; `resume` is what a person types to let it go on."""

    def __init__(
        self,
        clock: Clock,
        why_paused: Callable[[str], str | None],
        blocked_for: Callable[[str], float],
        resume: Callable[[str], str],
    ) -> None:
        self._clock = clock
        self._why_paused = why_paused
        self._blocked_for = blocked_for
        self._resume = resume
        self._silent: set[str] = set()  # sources whose last request had no good answer
        self._out: set[str] = set()  # of those, the ones that were shut for it
        self._refusals: dict[str, _Refusals] = {}  # by source
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
        stuck = {
            source: self._why_stuck(source, [r for r in running if r.task.source == source])
            for source in open_tasks
        }
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
            case (
                errors.Throttled(delay_s=wait_s)
                | errors.HostBusy(delay_s=wait_s, reason=errors.Throttled.reason)
            ):
                self._refused(source, wait_s or 0.0)
            case errors.HostBusy():
                self._out |= {source} & self._silent
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
        self._refusals.pop(source, None)

    def _refused(self, source: str, wait_s: float) -> None:
        self._silent.discard(source)
        self._out.discard(source)
        now = self._clock.monotonic()
        self._refusals.setdefault(source, _Refusals(now)).add(now, wait_s)

    def _why_stuck(self, source: str, in_hand: Sequence[Run]) -> str | None:
        paused = self._why_paused(source)
        if paused is not None:
            return None if in_hand else f"it is paused ({paused}) until `{self._resume(source)}`"
        if source in self._silent and self._blocked_for(source) > 0:
            self._out.add(source)
        if any(map(_is_under_way, in_hand)):
            return None
        refusals = self._refusals.get(source)
        if refusals is not None and refusals.are_enough(self._clock.monotonic()):
            return REFUSES
        return NO_ANSWER if source in self._out else None


def _is_under_way(run: Run) -> bool:
    """A file that comes, or a join. What has no byte yet only tries whether somebody answers."""
    return run.bytes_read > 0 or run.task.kind is Kind.VERIFY
