"""How what the ledger knows enters the task record. Times in whole microseconds inside the ledger,
in seconds outside."""

from __future__ import annotations

from core.model.states import Event, move
from core.model.task import Kind, Task

SECOND_US = 1_000_000
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
    task = move(merged(task, attempts, crashes), Event.LEASED, now=until)
    return task.model_copy(update={"lease_until": until})


def counted_under(task: Task) -> str:
    """Where a task counts as open work: its source's tasks, or apart from them its pages of feeds,
    which wait for the others and must not wait for each other."""
    return pages_of(task.source) if task.kind is Kind.DISCOVER else task.source


def pages_of(source: str) -> str:
    """Where a source's pages count. No source's name has a dot."""
    return f"{source}.{Kind.DISCOVER}"
