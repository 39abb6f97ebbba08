"""How what the ledger knows enters the task record. Times in whole microseconds inside the ledger,
in seconds outside."""

from __future__ import annotations

from collections.abc import Sequence

from core.model.states import Event, move
from core.model.task import Kind, Task
from core.ports import OpenWork

SECOND_US = 1_000_000
_APART = (Kind.DISCOVER, Kind.FRAGMENT)
KEPT_US = 7 * 86_400 * SECOND_US  # how long an entry that nobody finished outlives its time


def not_before_us(task: Task) -> int:
    """The message's own; 0: at once."""
    return round((task.not_before or 0.0) * SECOND_US)


def merged(task: Task, attempts: int, crashes: int) -> Task:
    """The task with the counts of message and ledger merged."""
    return task.model_copy(update={"attempts": attempts, "crashes": crashes})


def leased(task: Task, attempts: int, crashes: int, lease_until_us: int) -> Task:
    """The same, and leased."""
    until = lease_until_us / SECOND_US
    if (task.attempts, task.crashes) != (attempts, crashes):  # hardly ever, and each copy costs
        task = merged(task, attempts, crashes)
    task = move(task, Event.LEASED, now=until)
    return task.model_copy(update={"lease_until": until})


def counted_under(task: Task) -> str:
    """Where a task counts as open work: its source's tasks, or apart from them its pages of feeds
    and the pieces of its videos. Either bounds others, which must not wait for themselves."""
    return apart(task.source, task.kind) if task.kind in _APART else task.source


def apart(source: str, kind: Kind) -> str:
    """Where a source's tasks of such a kind count. No source's name has a dot."""
    return f"{source}.{kind}"


def places(source: str) -> tuple[str, ...]:
    """Everywhere that its tasks count: the pages are second, the pieces third."""
    return source, *(apart(source, kind) for kind in _APART)


def open_work(leased: Sequence[int], delayed: Sequence[int]) -> OpenWork:
    """The counts of a source's `places`, put together."""
    both = [sum(counts) for counts in zip(leased, delayed, strict=True)]
    return OpenWork(sum(leased), sum(delayed), pages=both[1], fragments=both[2])
