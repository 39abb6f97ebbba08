from __future__ import annotations

import pytest

from core.errors import LeaseLost, SharedStateDown
from core.ledger.memory import MemoryLedger
from core.ports import Held, Lease, Vanished
from core.steps.heartbeat import Heartbeat
from core.steps.run import Run
from tests.support.clock import FakeClock
from tests.support.tasks import an_image_task

LEASE_S = 30.0


class Beating:
    """A ledger, a task that runs, and beats that are given."""

    def __init__(self, deadline_s=1000.0):
        self.clock = FakeClock()
        self.ledger = MemoryLedger(self.clock)
        self.task = an_image_task()
        lease = self.ledger.begin(self.task, lease_s=LEASE_S)
        assert isinstance(lease, Lease)
        ends = self.clock.monotonic() + deadline_s
        self.run = Run(lease.task, lease.token, ends, lambda _prompt: None)
        self.heartbeat = Heartbeat(self.ledger, self.clock, lease_s=LEASE_S)
        self.heartbeat._runs[self.run.token] = self.run

    def beat(self, times=1):
        for _ in range(times):
            self.clock.advance(LEASE_S / 3)
            self.heartbeat.beat()

    def asked_by_another(self):
        return self.ledger.begin(self.task, lease_s=LEASE_S)


def test_a_lease_is_kept_while_its_run_goes_on():
    beating = Beating()

    beating.beat(times=12)

    assert isinstance(beating.asked_by_another(), Held)


def test_a_run_past_its_deadline_loses_its_lease():
    beating = Beating(deadline_s=60.0)

    beating.beat(times=12)

    assert isinstance(beating.asked_by_another(), Vanished)


def test_a_run_that_is_over_is_renewed_no_more():
    beating = Beating()
    beating.heartbeat.forget(beating.run)

    beating.beat(times=4)

    assert isinstance(beating.asked_by_another(), Vanished)


def test_a_run_whose_lease_is_anothers_stops_at_its_next_bytes():
    beating = Beating()
    beating.ledger.renew = lambda *_args, **_kwargs: False

    beating.beat()

    with pytest.raises(LeaseLost, match="another worker"):
        beating.run.progress(1)


def test_a_ledger_that_is_down_costs_no_lease():
    beating = Beating()
    renew = beating.ledger.renew

    def down(*_args, **_kwargs):
        raise SharedStateDown("gone")

    beating.ledger.renew = down
    beating.beat(times=6)
    beating.ledger.renew = renew
    beating.beat()
    beating.run.progress(1)

    assert isinstance(beating.asked_by_another(), Held)


def test_progress_is_told_once():
    beating = Beating()
    beating.run.progress(10)

    assert beating.run.take_progress()
    assert not beating.run.take_progress()
    assert beating.run.bytes_read == 10


def test_the_thread_ends_when_it_is_closed():
    beating = Beating()
    beating.heartbeat.watch(beating.run)

    beating.heartbeat.close()

    assert not beating.heartbeat._thread.is_alive()


def test_bytes_that_nobody_needs_are_no_progress():
    beating = Beating()
    beating.run.progress(0)

    assert not beating.run.take_progress()


def test_a_renewal_that_comes_late_takes_no_lease_anew():
    beating = Beating()
    runs = beating.heartbeat.running()
    beating.heartbeat.forget(beating.run)
    beating.ledger.finish(beating.task)

    for run in runs:  # what a beat had in hand
        beating.heartbeat._renew(run)

    assert isinstance(beating.asked_by_another(), Lease)
