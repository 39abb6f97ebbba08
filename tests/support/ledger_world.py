"""A ledger under a time that is given, in memory or in Redis, for its contract suites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from core.ledger.memory import MemoryLedger
from core.ledger.redis import RedisLedger
from core.model.post import MediaKind
from core.model.task import ImagePayload, State, Task, media_task
from core.ports import Early, Held, Lease, OpenWork, Superseded, Vanished
from tests.support.clock import FakeClock
from tests.support.redis import GivenTimeServer, flush

LEDGERS = ["memory", pytest.param("redis", marks=pytest.mark.redis)]
LEASE_S = 30.0
PAYLOAD = ImagePayload(
    media="m1", media_kind=MediaKind.IMAGE, url="http://a.test/1.jpg", post="p1", feed="f1"
)
FIRST = media_task("weibo", PAYLOAD)


@dataclass
class World:
    """One ledger that several workers share."""

    clock: FakeClock
    ledger: MemoryLedger | RedisLedger
    flush: Callable[[], object]

    def begin(self, task: Task = FIRST) -> Lease | Held | Early | Superseded | Vanished:
        return self.ledger.begin(task, lease_s=LEASE_S)

    def lease(self, task: Task = FIRST) -> Lease:
        answer = self.begin(task)
        assert isinstance(answer, Lease), answer
        return answer

    def renew(self, lease: Lease, *, progress: bool = False) -> bool:
        return self.ledger.renew(lease.task, lease.token, lease_s=LEASE_S, progress=progress)

    def publish(self, copy: Task, *, delay_s: float = 0.0, token: str | None = None) -> Task:
        self.ledger.published(copy, delay_s=delay_s, token=token)
        return copy

    def open_work(self) -> OpenWork:
        return self.ledger.open_work("weibo")


def ledger_world(request: pytest.FixtureRequest) -> World:
    """The world of the ledger that the fixture's parameter names."""
    clock = FakeClock()
    if request.param == "memory":
        ledger = MemoryLedger(clock)
        return World(clock, ledger, ledger.clear)
    url = request.getfixturevalue("redis_url")
    return World(clock, RedisLedger(url, GivenTimeServer(url, clock)), lambda: flush(url))


def copy_of(task: Task, **changes: Any) -> Task:
    """The next copy of a task, as the retry middleware publishes it."""
    state = State.PENDING if task.state is State.LEASED else task.state
    return task.model_copy(
        update={"serial": task.serial + 1, "state": state, "lease_until": None} | changes
    )


def crash(world: World, task: Task = FIRST) -> None:
    """A worker takes the lease and is never heard of again."""
    world.lease(task)
    world.clock.advance(LEASE_S)
