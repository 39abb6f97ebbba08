"""A process's whole path from a task to what becomes of it (performer, decision, ledger, budget and
fetcher, all real), on given time and with one task after the other. The site is on loopback; the
lane is a heap."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core import errors
from core.budget.budget import TokenBudget
from core.fetch.connection import Door
from core.fetch.fetcher import Fetcher, Surroundings
from core.ledger.memory import MemoryLedger
from core.model.request import Request
from core.model.source import SourceTerms
from core.model.switch import Pause, Switch
from core.model.task import Kind, Task
from core.settings import FetchSettings
from core.steps.actions import Action
from core.steps.decide import Again, BackToHead, Bury, Decision, RetryPolicy, decide
from core.steps.heartbeat import Heartbeat
from core.steps.perform import Performer
from core.steps.reachability import Reachability
from core.steps.run import Run
from tests.support.clock import FakeClock
from tests.support.fetching import LOOPBACK
from tests.support.queue import FakePublisher
from tests.support.store import got, open_store
from tests.support.tasks import an_image_task

LEASE_S = 30.0
POLICY = RetryPolicy()


@dataclass
class Troubled:
    """Tasks of the source `feed`, one for each number and each path of the site."""

    folder: Path
    address: Callable[[str], str]  # of a path
    terms: SourceTerms
    clock: FakeClock = field(default_factory=FakeClock)
    is_online: bool = True
    buried: list[errors.HeadraceError] = field(default_factory=list)
    done: set[str] = field(default_factory=set)  # ids of tasks that ended well
    attempts: dict[str, int] = field(default_factory=dict)
    connects: list[float] = field(default_factory=list)  # when a connection was tried
    switch: Switch = field(default_factory=Switch)
    told: list[errors.HeadraceError] = field(default_factory=list)  # every run that failed

    def __post_init__(self) -> None:
        self.store = open_store(self.folder)
        self.ledger = MemoryLedger(self.clock)
        self.budget = TokenBudget.memory(self.clock)
        self.reachability = Reachability()
        self.fetcher = Fetcher(
            FetchSettings(allow_networks=LOOPBACK),
            self.budget,
            self.clock,
            threading.Event(),
            lambda: 10**12,
            Surroundings(lambda _: self.switch.pause is not None, self.reachability.answered),
        )
        heartbeat = Heartbeat(self.ledger, self.clock, lease_s=LEASE_S)
        heartbeat.watch = lambda run: None  # type: ignore[method-assign] # beats are given
        self.performer = Performer(
            store=self.store,
            ledger=self.ledger,
            budget=self.budget,
            publisher=FakePublisher(),
            heartbeat=heartbeat,
            steps={Kind.IMAGE: self._step},
            clock=self.clock,
            lease_s=LEASE_S,
            deadline_s=600.0,
            on_end=lambda _end: None,
            reachability=self.reachability,
            switch=lambda _source: self.switch,
            pause=self._pause,
        )
        self._rng = random.Random(1)
        self._order = itertools.count()
        self._lane: list[tuple[float, int, Task]] = []
        self._shut_until = 0.0

    def close(self) -> None:
        self.fetcher.close()
        self.store.close()

    def cut_off(self, monkeypatch: Any) -> None:
        """While not `is_online`, every connection is refused."""
        connect = Door._connect

        def refused(door: Door, family: int, address: Any, timeout_s: float) -> Any:
            self.connects.append(self.clock.monotonic())
            if not self.is_online:
                raise ConnectionRefusedError(111, "Connection refused")
            return connect(door, family, address, timeout_s)

        monkeypatch.setattr(Door, "_connect", refused)

    def hang_up(self) -> None:
        """Kept connections break, as they do with the network."""
        for session in self.fetcher._all:
            session.close()

    def task(self, path: str) -> Task:
        return an_image_task(self.address(path))

    def add(self, *paths: str) -> None:
        for path in paths:
            self._put(self.task(path), self.clock.now())

    # --- running ---

    @property
    def waiting(self) -> int:
        """How many tasks are not done with."""
        return len(self._lane)

    def run(self, *, until: float = float("inf"), most: int = 5_000) -> int:
        """Perform what is due, in order, until nothing is left or time is over. How many runs."""
        for runs in range(most):
            if not self._lane:
                return runs
            due = max(self._lane[0][0], self._shut_until)
            if due > until:
                self.clock.advance(max(0.0, until - self.clock.now()))
                return runs
            self.clock.advance(max(0.0, due - self.clock.now()))
            self._turn(heapq.heappop(self._lane)[2])
        raise AssertionError(f"not done after {most} runs: something circulates")

    def _turn(self, task: Task) -> None:
        try:
            self.performer.perform(task, lambda _prompt: None)
        except errors.HeadraceError as error:
            self.told.append(error)
            self._follow(task, error)
        else:
            self.done.add(task.id)

    def _follow(self, task: Task, error: errors.HeadraceError) -> None:
        """As the retry middleware and the turns do."""
        ended = error.task or task
        decision: Decision = decide(ended, error, POLICY, now=self.clock.now(), rng=self._rng)
        now = self.clock.now()
        match decision:
            case Again(task=again, delay_s=delay_s, shut_s=shut_s):
                self._shut(shut_s)
                self.attempts[task.id] = again.attempts
                copy = again.model_copy(
                    update={"serial": again.serial + 1, "not_before": now + delay_s}
                )
                self.ledger.published(copy, delay_s=delay_s, token=error.token)
                self._put(copy, now + delay_s)
            case BackToHead(rest_s=rest_s, shut_s=shut_s):
                self._shut(max(rest_s, shut_s))
                if error.token is not None:
                    self.ledger.release(ended, error.token)
                self._put(task, now, at_head=True)
            case Bury():
                self.buried.append(error)
                self.ledger.finish(task)
            case _:
                raise AssertionError(f"unforeseen: {decision} after {error!r}")

    def _shut(self, seconds: float) -> None:
        self._shut_until = max(self._shut_until, self.clock.now() + seconds)

    def resume(self) -> None:
        """As a person does, and the switchboard tells."""
        self.switch = Switch()
        self._shut_until = 0.0

    def _pause(self, _source: str, reason: str) -> None:
        self.switch = Switch(pause=Pause(reason=reason, since=self.clock.now()))

    def _put(self, task: Task, due: float, *, at_head: bool = False) -> None:
        number = next(self._order)
        heapq.heappush(self._lane, (due, -number if at_head else number, task))

    def _step(self, run: Run) -> Iterator[Action]:
        with self.fetcher.visit(self.terms, on_first_token=run.granted) as visit:
            visit.page(Request(run.task.payload.url))  # type: ignore[union-attr]
        yield got(media=run.task.payload.media)  # type: ignore[union-attr]
