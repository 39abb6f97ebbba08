"""One run of a task: its lease's token, its progress, and whether it still may go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import LeaseLost
from core.model.task import Task


@dataclass(slots=True)
class Run:
    """Shared by the step, which reports progress, and the heartbeat, which learns of a lost
    lease."""

    task: Task
    token: str
    renew_until: float  # monotonic seconds: the task's deadline, past which no lease is renewed
    granted: Callable[[bool], None]  # told when its first token came, and whether at once
    fetched: Callable[[], None] = lambda: None  # told when it needs the source no more
    token_wait_s: float = 0.0
    bytes_read: int = 0
    # Plain flags: each has one writer at a time, and a late reader only looks once more.
    _lost: bool = False
    _progress: bool = False

    def progress(self, size_bytes: int) -> None:
        """More bytes are safe in the partial (0: some were read that nobody needs). Raises
        `LeaseLost` once another worker holds the task: two writers would do the same work twice."""
        self.check()
        self.bytes_read += size_bytes
        self._progress |= size_bytes > 0

    def check(self) -> None:
        """Raise `LeaseLost` if the lease is another's."""
        if self._lost:
            raise LeaseLost(f"task {self.task.id}: another worker holds its lease now")

    def lose(self) -> None:
        """The ledger names another token."""
        self._lost = True

    def take_progress(self) -> bool:
        """Whether there was progress since the last time this was asked."""
        seen = self._progress
        self._progress = False
        return seen
