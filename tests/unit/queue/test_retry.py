"""What follows a run: publish, then the store, then the ledger, then the outcome."""

from __future__ import annotations

import logging
import math
import random
import signal
import threading

import pytest

from core import errors
from core.model.end import Failure
from core.model.task import State, Task
from core.queue import retry as retry_module
from core.queue.delivery import Delivery
from core.queue.outcome import Settled, ToHead
from core.queue.retry import Retry, Shutdown, hear_once, worker_name
from core.steps.decide import Again, BackToHead, RetryPolicy
from tests.support.clock import FakeClock
from tests.support.queue import FakeLedger, FakePublisher, a_delivery
from tests.support.tasks import an_image_task


class Desk:
    """A retry middleware among fakes."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.publisher = FakePublisher()
        self.ledger = FakeLedger()
        self.ends: list[Failure] = []
        self.store_down: errors.StorageDown | None = None
        self.retry = Retry(
            self.publisher,
            self.ledger,
            RetryPolicy(base_s=4.0),
            self._end_dead,
            self.clock,
            random.Random(1),
        )

    def after(self, error: BaseException | None, *, token: str | None = "t1", **task) -> Delivery:
        delivery = a_delivery(an_image_task(serial=3))
        if isinstance(error, errors.HeadraceError):
            error.task = delivery.task.model_copy(update={"state": State.LEASED, **task})
            error.token = token
        self.retry.after_process_message(None, delivery, exception=error)
        return delivery

    def _end_dead(self, _task: Task, failure: Failure) -> None:
        if self.store_down is not None:
            raise self.store_down
        self.ends.append(failure)


def test_a_good_end_is_settled() -> None:
    assert Desk().after(None).outcome == Settled(prompt=True, done=True)


def test_a_good_end_says_whether_its_token_came_at_once() -> None:
    desk, delivery = Desk(), a_delivery()
    delivery.prompt = False
    desk.retry.after_process_message(None, delivery)

    assert delivery.outcome == Settled(prompt=False, done=True)


def test_a_transient_error_is_published_again_and_then_settled() -> None:
    desk = Desk()
    delivery = desk.after(errors.Timeout("too slow"))
    (copy,) = desk.publisher.copies

    assert delivery.outcome == Settled()
    assert (copy.task.attempts, copy.task.state) == (1, State.FAILED)


def test_a_copy_has_the_next_serial_and_the_time_before_which_it_must_not_run() -> None:
    desk = Desk()
    desk.after(errors.Timeout("too slow"))
    (copy,) = desk.publisher.copies

    assert copy.task.serial == 4
    assert copy.delay_s > 0
    assert copy.task.not_before == desk.clock.now() + copy.delay_s


def test_a_copy_without_delay_may_run_at_once() -> None:
    desk = Desk()
    desk.after(errors.TooEarly("not yet", delay_s=0.0))
    (copy,) = desk.publisher.copies

    assert copy.task.not_before is None


def test_the_ledger_learns_of_a_copy_under_the_lease_it_came_from() -> None:
    desk = Desk()
    desk.after(errors.Timeout("too slow"))

    assert desk.ledger.calls == ["published 4 t1"]


def test_the_ledger_reckons_the_delay_from_before_the_confirm() -> None:
    desk, told = Desk(), []
    desk.publisher.publish = lambda _window: desk.clock.advance(0.5)
    desk.ledger.published = lambda _copy, *, delay_s, token: told.append(delay_s)
    desk.after(errors.TooEarly("not yet", delay_s=5.0))

    assert told == [4.5]


def test_an_error_before_the_lease_counts_on_the_deliverys_own_record() -> None:
    desk, delivery = Desk(), a_delivery(an_image_task(serial=7))
    desk.retry.after_process_message(
        None, delivery, exception=errors.LeaseHeld("runs elsewhere", delay_s=9.0)
    )
    (copy,) = desk.publisher.copies

    assert (copy.task.serial, copy.delay_s, copy.task.attempts) == (8, 9.0, 0)


def test_a_permanent_error_is_buried_ended_and_settled() -> None:
    desk = Desk()
    delivery = desk.after(errors.Gone("404", http_status=404))
    (letter,) = desk.publisher.letters

    assert delivery.outcome == Settled()
    assert (letter.failure.reason, letter.failure.http_status) == ("gone", 404)
    assert desk.ends == [letter.failure]
    assert desk.ledger.calls == ["finish"]


def test_the_last_attempt_is_buried() -> None:
    desk = Desk()
    desk.after(errors.Timeout("too slow"), attempts=4)

    assert desk.publisher.copies == []
    assert desk.publisher.letters[0].failure.attempts == 5


def test_a_letter_names_its_worker() -> None:
    desk = Desk()
    desk.after(errors.Gone("404"))

    assert desk.publisher.letters[0].failure.worker == worker_name()


def test_a_spent_budget_sends_the_delivery_to_the_head_and_ends_its_lease() -> None:
    desk = Desk()
    delivery = desk.after(errors.BudgetSpent("later", delay_s=7.0))

    assert delivery.outcome == ToHead(rest_s=2.0)
    assert desk.ledger.calls == ["release t1"]
    assert desk.publisher.copies == []


def test_a_decision_that_shuts_the_source_has_an_outcome_that_does(monkeypatch) -> None:
    decisions = iter([BackToHead(shut_s=math.inf), Again(an_image_task(), 9.0, shut_s=8.0)])
    monkeypatch.setattr(retry_module, "decide", lambda *_, **__: next(decisions))
    desk = Desk()
    paused, blocked = (desk.after(errors.Postponed("wait")) for _ in range(2))

    assert paused.outcome == ToHead(shut_s=math.inf)
    assert blocked.outcome == Settled(shut_s=8.0)


def test_the_shared_state_is_back_once_all_is_told_that_could_not_be() -> None:
    desk = Desk()
    desk.ledger.broken = errors.SharedStateDown("no Redis")
    with pytest.raises(errors.SharedStateDown):
        desk.retry.ask_shared_state()
    desk.ledger.broken = None
    desk.retry.ask_shared_state()

    assert desk.ledger.calls == ["catch up"]


def test_going_to_the_head_without_a_lease_asks_nothing_of_the_ledger() -> None:
    desk = Desk()
    desk.after(errors.Released("shutting down"), token=None)

    assert desk.ledger.calls == []


def test_a_superseded_copy_is_settled_and_nothing_more() -> None:
    desk = Desk()

    assert desk.after(errors.LeaseLost("a newer copy runs")).outcome == Settled()
    assert (desk.publisher.copies, desk.ledger.calls) == ([], [])


def test_trouble_of_ours_leaves_no_outcome() -> None:
    desk = Desk()

    assert desk.after(errors.StorageDown("disk full")).outcome is None
    assert desk.publisher.copies == []


def test_trouble_of_ours_ends_the_lease_so_that_it_is_no_crash() -> None:
    desk = Desk()
    desk.after(errors.StorageDown("disk full"))

    assert desk.ledger.calls == ["release t1"]


def test_shared_state_that_is_down_is_told_to_the_consumer() -> None:
    assert Desk().after(errors.SharedStateDown("no Redis")).shared_state_down


def test_a_lease_that_cannot_be_released_now_is_released_later_so_that_it_is_no_crash() -> None:
    desk = Desk()
    desk.after(errors.SharedStateDown("no Redis"))

    assert desk.ledger.calls == ["release later t1"]


@pytest.mark.parametrize(
    "error", [errors.BudgetSpent("later", delay_s=7.0), errors.Timeout("too slow")]
)
def test_a_ledger_that_goes_away_while_a_run_is_concluded_is_told_later(
    error: errors.HeadraceError,
) -> None:
    desk = Desk()
    desk.ledger.broken = errors.SharedStateDown("no Redis")
    desk.after(error)

    assert desk.ledger.calls == ["release later t1"]


def test_a_run_without_a_lease_has_none_to_release() -> None:
    desk = Desk()
    desk.after(errors.SharedStateDown("no Redis"), token=None)

    assert desk.ledger.calls == []


def test_a_ledger_found_away_by_the_release_alone_is_told_to_the_consumer() -> None:
    desk = Desk()
    desk.ledger.broken = errors.SharedStateDown("no Redis")

    assert desk.after(errors.StorageDown("disk full")).shared_state_down


def test_trouble_of_another_kind_is_not() -> None:
    assert not Desk().after(errors.StorageDown("disk full")).shared_state_down


def test_fact_1_a_retry_that_was_not_confirmed_leaves_no_outcome() -> None:
    desk = Desk()
    desk.publisher.broken = errors.BrokerDown("no confirm")

    assert desk.after(errors.Timeout("too slow")).outcome is None
    assert desk.ledger.calls == ["release t1"]


def test_fact_1_a_dead_letter_that_was_not_confirmed_leaves_no_outcome() -> None:
    desk = Desk()
    desk.publisher.broken = errors.BrokerDown("no confirm")

    assert desk.after(errors.Gone("404")).outcome is None
    assert desk.ends == []


def test_an_end_that_is_not_durable_leaves_no_outcome() -> None:
    desk = Desk()
    desk.store_down = errors.StorageDown("disk full")

    assert desk.after(errors.Gone("404")).outcome is None
    assert "finish" not in desk.ledger.calls


def test_a_ledger_that_is_down_after_the_confirm_leaves_no_outcome() -> None:
    desk = Desk()
    desk.ledger.broken = errors.SharedStateDown("no Redis")
    delivery = desk.after(errors.Timeout("too slow"))

    assert (delivery.outcome, delivery.shared_state_down) == (None, True)


def test_what_goes_wrong_in_here_is_one_warning_and_no_crash(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk()
    desk.publisher.broken = errors.BrokerDown("no confirm")
    desk.after(errors.Timeout("too slow"))

    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("bug", [ValueError("?"), SystemExit(1), KeyboardInterrupt()])
def test_an_exception_that_no_step_may_raise_leaves_no_outcome(bug: BaseException) -> None:
    assert Desk().after(bug).outcome is None


def test_fact_9_a_crash_is_counted_apart_and_comes_back_with_jitter() -> None:
    desk = Desk()
    desk.after(errors.Crashed("vanished"), token=None)
    desk.after(errors.Crashed("vanished"), token=None)
    first, second = desk.publisher.copies

    assert (first.task.crashes, first.task.attempts) == (1, 0)
    assert first.delay_s != second.delay_s


def test_fact_9_a_task_that_kills_its_worker_ends_dead() -> None:
    desk = Desk()
    desk.after(errors.Crashed("vanished"), token=None, crashes=7)

    assert desk.publisher.letters[0].failure.reason == "kills_its_worker"


def test_an_actor_may_say_which_errors_are_no_crashes() -> None:
    assert Desk().retry.actor_options == {"throws"}


def test_a_shutdown_sets_stop() -> None:
    stop = threading.Event()
    Shutdown(stop).before_worker_shutdown(None, None)

    assert stop.is_set()


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= level]


def test_what_is_tried_again_is_one_line_with_its_reason_and_address(caplog) -> None:
    caplog.set_level(logging.DEBUG, "core.queue.retry")
    Desk().after(errors.ServerTrouble("status 502"))

    (line,) = lines(caplog, logging.INFO)
    assert line.startswith("image again in ")
    assert "server_trouble: status 502 (https://pictures.example/1.jpg)" in line


def test_what_is_dead_is_one_line(caplog) -> None:
    caplog.set_level(logging.DEBUG, "core.queue.retry")
    Desk().after(errors.Gone("status 404"))

    assert lines(caplog, logging.INFO) == [
        "image dead: gone: status 404 (https://pictures.example/1.jpg)"
    ]


def test_waiting_is_no_news(caplog) -> None:
    caplog.set_level(logging.DEBUG, "core.queue.retry")
    Desk().after(errors.LeaseHeld("another", delay_s=3.0))

    assert lines(caplog, logging.INFO) == []


def test_a_group_that_is_signalled_twice_ends_in_good_order_all_the_same() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _frame: heard.append(number))
    try:
        hear_once(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert heard == [signal.SIGUSR1]
