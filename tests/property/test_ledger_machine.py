"""Any order of workers' calls, crashes, delays and requeues: the two ledgers answer alike, and the
promises hold that the rest of Headrace is built on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from core.ledger.memory import MemoryLedger
from core.ledger.redis import RedisLedger
from core.model.states import Event, move
from core.model.task import State, Task
from core.ports import Early, Held, Lease, Ledger, OpenWork, Superseded, Vanished
from tests.support.clock import FakeClock
from tests.support.redis import GivenTimeServer, flush
from tests.support.tasks import an_image_task

LEASE_S = 30.0
URLS = ("https://pictures.example/1.jpg", "https://pictures.example/2.jpg")
TASKS = {task.id: task for task in (an_image_task(url, source="weibo") for url in URLS)}
SOON = st.sampled_from([0.0, 5.0, 29.0, 31.0, 90.0])


@dataclass
class Worker:
    """One run: its lease in each ledger, by the ledger's own token."""

    task: Task
    tokens: list[str]
    lease_until: float
    lost: bool = False


class LedgerMachine(RuleBasedStateMachine):
    """Deliveries are messages that the broker may deliver at any time, any number of times."""

    def make_ledgers(self) -> list[Ledger]:
        return [MemoryLedger(self.clock)]

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.ledgers = self.make_ledgers()
        self.messages: dict[str, list[Task]] = {ident: [task] for ident, task in TASKS.items()}
        self.workers: list[Worker] = []
        self.told: dict[str, tuple[int, int]] = {}  # highest (generation, serial) published

    def all(self, name: str, *arguments: Any, **options: Any) -> Any:
        answers = [getattr(ledger, name)(*arguments, **options) for ledger in self.ledgers]
        assert all(answer == answers[0] for answer in answers), answers
        return answers[0]

    # --- what happens ---

    @rule(ident=st.sampled_from(sorted(TASKS)))
    def found_again(self, ident: str) -> None:
        """A walk that is read again publishes first copies again."""
        self.messages.setdefault(ident, []).append(TASKS[ident])
        self.all("published", TASKS[ident], delay_s=0.0, token=None)

    @rule(seconds=SOON)
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: self.messages)
    @rule(data=st.data())
    def delivery_of_any_copy(self, data: st.DataObject) -> None:
        ident = data.draw(st.sampled_from(sorted(self.messages)))
        self._deliver(data.draw(st.sampled_from(self.messages[ident])))

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), seconds=SOON)
    def delivery_of_the_newest_copy(self, data: st.DataObject, seconds: float) -> None:
        self.clock.advance(seconds)
        ident = data.draw(st.sampled_from(sorted(self.messages)))
        self._deliver(self._newest(ident))

    def _newest(self, ident: str) -> Task:
        return max(self.messages[ident], key=lambda task: (task.generation, task.serial))

    def _deliver(self, task: Task) -> None:
        answers = [ledger.begin(task, lease_s=LEASE_S) for ledger in self.ledgers]
        plain = [replace(a, token="") if isinstance(a, Lease) else a for a in answers]
        assert all(answer == plain[0] for answer in plain), plain
        self._judge(task, plain[0])
        match answers[0]:
            case Lease(task=leased):
                tokens = [answer.token for answer in answers if isinstance(answer, Lease)]
                self.workers.append(Worker(leased, tokens, self.clock.now() + LEASE_S))
            case Vanished(task=merged):
                crashed = move(merged, Event.CRASHED, now=self.clock.now())
                self._publish(crashed, 10.0, [None] * len(self.ledgers))
            case _:
                pass

    def _judge(self, task: Task, answer: Any) -> None:
        newest = self.told.get(task.id, (1, 0))
        if (task.generation, task.serial) < newest:
            assert isinstance(answer, Superseded)
        match answer:
            case Lease(task=leased):
                assert not self._live(task.id), "two leases at once"
                assert leased.attempts >= task.attempts
            case Held(delay_s=delay_s):
                assert 0 < delay_s <= LEASE_S
                assert self._live(task.id)
            case Early(delay_s=delay_s):
                assert 0 < delay_s <= 90.0
            case Vanished():
                assert not self._live(task.id)
            case _:
                pass

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), progress=st.booleans())
    def heartbeat(self, data: st.DataObject, progress: bool) -> None:
        worker = data.draw(st.sampled_from(self.workers))
        held = [
            ledger.renew(worker.task, token, lease_s=LEASE_S, progress=progress)
            for ledger, token in zip(self.ledgers, worker.tokens, strict=True)
        ]
        assert len(set(held)) == 1
        if held[0]:
            worker.lease_until = self.clock.now() + LEASE_S
        else:
            self.workers.remove(worker)

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), delay_s=SOON)
    def attempt_fails(self, data: st.DataObject, delay_s: float) -> None:
        worker = self._end(data)
        failed = move(worker.task, Event.ATTEMPT_FAILED, now=self.clock.now())
        self._publish(failed, delay_s, list(worker.tokens))

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        worker = self._end(data)
        for ledger, token in zip(self.ledgers, worker.tokens, strict=True):
            ledger.release(worker.task, token)

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        self._end(data)
        self.clock.advance(LEASE_S)

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        """The end is durable: the store settles every later delivery before the ledger is asked."""
        worker = self._end(data)
        self.all("finish", worker.task)
        if (worker.task.generation, 0) >= (self.told.get(worker.task.id, (1, 0))[0], 0):
            self.messages.pop(worker.task.id, None)
            self.told.pop(worker.task.id, None)
            self.workers = [w for w in self.workers if w.task.id != worker.task.id]

    @precondition(lambda self: self.messages)
    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        ident = data.draw(st.sampled_from(sorted(self.messages)))
        dead = self._newest(ident).model_copy(update={"state": State.DEAD})
        again = move(dead, Event.REQUEUED, now=self.clock.now())
        self.messages[ident].append(again)
        self.all("published", again, delay_s=0.0, token=None)
        self.told[ident] = (again.generation, 0)
        for worker in self.workers:
            worker.lost = worker.lost or worker.task.id == ident

    def teardown(self) -> None:
        for ledger in self.ledgers:
            if isinstance(ledger, RedisLedger):
                ledger.close()

    # --- what must hold ---

    @invariant()
    def depths_agree_and_count_what_lives(self) -> None:
        work = self.all("open_work", "weibo")
        assert isinstance(work, OpenWork)
        assert work.leased == len({w.task.id for w in self.workers if self._live(w.task.id)})

    # --- bookkeeping ---

    def _live(self, ident: str) -> bool:
        now = self.clock.now()
        return any(w.task.id == ident and not w.lost and w.lease_until > now for w in self.workers)

    def _end(self, data: st.DataObject) -> Worker:
        worker = data.draw(st.sampled_from(self.workers))
        self.workers.remove(worker)
        return worker

    def _publish(self, task: Task, delay_s: float, tokens: list[str | None]) -> None:
        due = self.clock.now() + delay_s if delay_s else None
        copy = task.model_copy(update={"serial": task.serial + 1, "not_before": due})
        self.messages.setdefault(copy.id, []).append(copy)
        for ledger, token in zip(self.ledgers, tokens, strict=True):
            ledger.published(copy, delay_s=delay_s, token=token)
        newest = self.told.get(copy.id, (1, 0))
        self.told[copy.id] = max(newest, (copy.generation, copy.serial))


TestMemoryLedger = LedgerMachine.TestCase
TestMemoryLedger.settings = settings(stateful_step_count=40)


@pytest.mark.redis
def test_memory_and_redis_answer_alike(redis_url: str) -> None:
    class BothLedgers(LedgerMachine):
        def make_ledgers(self) -> list[Ledger]:
            flush(redis_url)
            server = GivenTimeServer(redis_url, self.clock)
            return [MemoryLedger(self.clock), RedisLedger(redis_url, server)]

    run_state_machine_as_test(
        BothLedgers, settings=settings(max_examples=40, stateful_step_count=40)
    )
