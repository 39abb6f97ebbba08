"""The one order, and that a crash between any two of its parts is repaired by a repetition."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from core import errors
from core.ledger.memory import MemoryLedger
from core.model.end import EndState
from core.model.request import Asked
from core.model.switch import Pause, Switch
from core.model.task import Kind, State, Task
from core.ports import Copy, Superseded
from core.steps.actions import Action, Publish, published_by
from core.steps.decide import failure_of
from core.steps.ends import dead_end, write_end
from core.steps.heartbeat import Heartbeat
from core.steps.perform import Performer
from core.steps.run import Run
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.queue import FakePublisher
from tests.support.store import got, open_store, sha256
from tests.support.tasks import a_verify_task, an_image_task

LEASE_S = 30.0
FOLLOWING = an_image_task("https://pictures.example/2.jpg")
PUBLISHED = published_by(an_image_task(), Copy(FOLLOWING))
Body = Callable[[Run], Iterator[Action]]


def ending(task: Task):
    return got(media=task.payload.media)


@dataclass
class Shop:
    """A performer, and everything around it where it can be looked at."""

    root: object
    clock: FakeClock = field(default_factory=FakeClock)
    publisher: FakePublisher = field(default_factory=FakePublisher)
    budget: OpenBudget = field(default_factory=OpenBudget)
    runs: list[Run] = field(default_factory=list)
    ends: list[object] = field(default_factory=list)
    prompts: list[bool] = field(default_factory=list)
    switch: Switch = field(default_factory=Switch)
    pauses: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self):
        self.store = open_store(self.root)
        self.ledger = MemoryLedger(self.clock)
        self.heartbeat = Heartbeat(self.ledger, self.clock, lease_s=LEASE_S)
        self.heartbeat.watch = lambda run: None  # beats are given, not waited for
        self.body: Body = self.publish_and_end

    def publish_and_end(self, run: Run) -> Iterator[Action]:
        yield Publish((Copy(FOLLOWING),))
        yield ending(run.task)

    def perform(self, task: Task) -> None:
        def step(run: Run) -> Iterator[Action]:
            self.runs.append(run)
            yield from self.body(run)

        performer = Performer(
            store=self.store,
            ledger=self.ledger,
            budget=self.budget,
            publisher=self.publisher,
            heartbeat=self.heartbeat,
            steps={Kind.IMAGE: step, Kind.VERIFY: step},
            clock=self.clock,
            lease_s=LEASE_S,
            deadline_s=600.0,
            on_end=self.ends.append,
            switch=lambda _source: self.switch,
            pause=lambda source, reason: self.pauses.append((source, reason)),
        )
        performer.perform(task, self.prompts.append)


@pytest.fixture
def shop(tmp_path):
    shop = Shop(tmp_path)
    yield shop
    shop.store.close()


def test_what_follows_is_published_before_the_end_is_written(shop):
    task = an_image_task()

    def body(run):
        yield Publish((Copy(FOLLOWING),))
        assert shop.publisher.copies == [PUBLISHED]
        assert shop.store.media.newest(task.payload.media) is None
        yield ending(task)

    shop.body = body
    shop.perform(task)

    assert shop.store.media.newest(task.payload.media).state is EndState.GOT


def test_a_finished_task_leaves_the_ledger(shop):
    shop.perform(an_image_task())

    assert shop.ledger.open_work("feed").leased == 0


def test_observers_hear_of_an_end_once_it_is_durable(shop):
    task = an_image_task()

    shop.perform(task)

    assert [end.media for end in shop.ends] == [task.payload.media]


def test_a_second_delivery_of_a_finished_task_does_nothing(shop):
    task = an_image_task()
    shop.perform(task)

    shop.perform(task)

    assert len(shop.runs) == 1


def test_a_task_that_ended_while_its_lease_was_asked_for_does_nothing(shop):
    task = an_image_task()
    begin = shop.ledger.begin

    def slow_begin(task, *, lease_s):
        write_end(shop.store, ending(task))
        return begin(task, lease_s=lease_s)

    shop.ledger.begin = slow_begin
    shop.perform(task)

    assert shop.runs == []


def test_a_second_delivery_of_a_running_task_is_postponed_to_the_leases_end(shop):
    task = an_image_task()
    shop.ledger.begin(task, lease_s=LEASE_S)
    shop.clock.advance(10.0)

    with pytest.raises(errors.LeaseHeld) as caught:
        shop.perform(task)

    assert caught.value.delay_s == pytest.approx(20.0)
    assert caught.value.token is None


def test_a_run_that_vanished_is_a_crash_of_the_merged_task(shop):
    task = an_image_task(attempts=1)
    shop.ledger.begin(task, lease_s=LEASE_S)
    shop.clock.advance(LEASE_S + 1)

    with pytest.raises(errors.Crashed) as caught:
        shop.perform(task)

    assert caught.value.task.attempts == 1
    assert shop.runs == []


def test_a_superseded_copy_is_dropped(shop):
    shop.ledger.begin = lambda task, *, lease_s: Superseded()

    with pytest.raises(errors.LeaseLost):
        shop.perform(an_image_task())


def test_a_failure_carries_the_task_and_its_lease(shop):
    def body(run):
        raise errors.ServerTrouble("502")
        yield

    shop.body = body
    with pytest.raises(errors.ServerTrouble) as caught:
        shop.perform(an_image_task())

    assert caught.value.task.state is State.LEASED
    assert caught.value.token == shop.runs[0].token


def test_an_error_nobody_foresaw_counts_as_an_attempt_and_names_itself(shop):
    def body(run):
        raise ZeroDivisionError("of all things")
        yield

    shop.body = body
    with pytest.raises(errors.Unexpected, match="ZeroDivisionError, a fault of Headrace"):
        shop.perform(an_image_task())


def test_an_end_is_not_written_without_the_lease(shop):
    task = an_image_task()

    def body(run):
        shop.clock.advance(LEASE_S + 1)
        shop.ledger.published(task.model_copy(update={"serial": 1}), delay_s=0.0, token=None)
        shop.ledger.begin(task.model_copy(update={"serial": 1}), lease_s=LEASE_S)
        yield ending(task)

    shop.body = body
    with pytest.raises(errors.LeaseLost):
        shop.perform(task)

    assert shop.store.media.newest(task.payload.media) is None


def failing(error: errors.HeadraceError) -> Body:
    def body(_run: Run) -> Iterator[Action]:
        raise error
        yield

    return body


def test_a_throttled_answer_blocks_the_whole_source_and_the_task_waits_as_long(shop):
    error = errors.Throttled("429", delay_s=8.0, http_status=429)
    error.asked = Asked("pictures.example", "feed", era=7)
    shop.body = failing(error)

    with pytest.raises(errors.Throttled) as caught:
        shop.perform(an_image_task())

    assert shop.budget.throttles == [("feed", 7, 8.0)]
    assert caught.value.delay_s == 8.0
    assert caught.value.token == shop.runs[0].token


def test_what_a_failure_turns_out_to_be_carries_the_task_and_its_lease_too(shop):
    error = errors.Throttled("429", http_status=429)
    error.asked = Asked("pictures.example", "feed/pictures.example", era=7)
    shop.body = failing(error)

    with pytest.raises(errors.HostBusy) as caught:
        shop.perform(an_image_task())

    assert caught.value.task.state is State.LEASED
    assert caught.value.token == shop.runs[0].token


def test_an_expired_login_pauses_the_source_and_costs_the_task_nothing(shop):
    shop.body = failing(errors.SignedOut("https://pictures.example/1.jpg: status 401"))

    with pytest.raises(errors.SignedOut):
        shop.perform(an_image_task())

    assert shop.pauses == [("feed", "https://pictures.example/1.jpg: status 401")]


# --- switches ---

PAUSED = Switch(pause=Pause(reason="the site asked us to", since=1_000_000.0))


def test_a_paused_sources_task_is_not_begun(shop):
    shop.switch = PAUSED

    with pytest.raises(errors.SourcePaused, match="the site asked us to") as caught:
        shop.perform(an_image_task())

    assert (caught.value.task, caught.value.token) == (an_image_task(), None)
    assert shop.ledger.open_work("feed").leased == 0


def test_a_join_asks_no_source_for_anything_and_goes_on_in_a_pause(shop):
    shop.switch = PAUSED
    shop.body = lambda _run: iter(())

    shop.perform(a_verify_task())

    assert len(shop.runs) == 1


@pytest.mark.parametrize(("serial", "runs"), [(4_999, 0), (5_000, 1)])
def test_what_waited_when_its_source_was_purged_is_dropped(shop, serial, runs, caplog):
    caplog.set_level(logging.INFO)
    shop.switch = Switch(purged_before=5_000)

    shop.perform(an_image_task(serial=serial))

    assert len(shop.runs) == runs
    assert ("feed was purged" in caplog.text) == (runs == 0)
    assert not shop.ledger.holds(an_image_task().id)


def test_what_was_purged_leaves_nothing_in_the_ledger(shop):
    """Its attempts neither: submitted again it begins anew."""
    shop.switch = Switch(purged_before=5_000)
    waiting = an_image_task(serial=4_999, attempts=3)
    shop.ledger.published(waiting, delay_s=60.0, token=None)

    shop.perform(waiting)

    assert not shop.ledger.holds(waiting.id)
    assert shop.ledger.open_work("feed").delayed == 0


def test_a_late_copy_of_what_was_purged_is_dropped_whatever_its_serial(shop):
    shop.switch = Switch(purged_before=5_000)

    shop.perform(an_image_task(serial=9_000, submitted_ms=4_999))

    assert shop.runs == []


def test_a_dead_tasks_letter_is_published_again_when_it_is_delivered_again(shop):
    task = an_image_task()
    failure = errors.Gone("404")
    write_end(shop.store, dead_end(task, failure_of(task, failure), shop.clock, ()))
    shop.perform(task)

    assert [letter.task.id for letter in shop.publisher.letters] == [task.id]
    assert shop.runs == []


@pytest.mark.parametrize("dies_at", range(6))
def test_whatever_dies_between_two_parts_a_repetition_converges(shop, dies_at):
    task = an_image_task()
    for call in range(2):
        steps = iter(range(100))

        def dying(action, steps=steps, alive=call == 1):
            def wrapped(*args, **kwargs):
                if next(steps) == dies_at and not alive:
                    raise errors.StorageDown("died here")
                return action(*args, **kwargs)

            return wrapped

        publish, end, finish = shop.publisher.publish, shop.store.media.end, shop.ledger.finish
        link, append = shop.store.library.link, shop.store.sums.append
        shop.publisher.publish = dying(publish)
        shop.store.media.end = dying(end)
        shop.store.sums.append = dying(append)
        shop.store.library.link = dying(link)
        shop.ledger.finish = dying(finish)
        try:
            shop.perform(task)
        except errors.StorageDown:
            shop.ledger.release(task, shop.runs[-1].token)
        finally:
            shop.publisher.publish, shop.store.media.end = publish, end
            shop.ledger.finish = finish
            shop.store.library.link, shop.store.sums.append = link, append

    assert shop.store.media.newest(task.payload.media).file.sha256 == sha256(b"wheel")
    assert PUBLISHED in shop.publisher.copies
    assert shop.ledger.open_work("feed").leased == 0


def lose_the_lease(shop, task):
    """The worker was suspended; another took the task over."""
    shop.clock.advance(LEASE_S + 1)
    copy = task.model_copy(update={"serial": 1})
    shop.ledger.published(copy, delay_s=0.0, token=None)
    shop.ledger.begin(copy, lease_s=LEASE_S)


@pytest.mark.parametrize("failure", [errors.Gone("404"), errors.ServerTrouble("502")])
def test_a_failure_of_a_run_that_lost_its_lease_is_not_told_since_the_holders_end_counts(
    shop, failure
):
    task = an_image_task()

    def body(run):
        lose_the_lease(shop, task)
        raise failure
        yield

    shop.body = body
    with pytest.raises(errors.LeaseLost):
        shop.perform(task)


def test_a_task_of_another_store_is_left_alone(shop):
    task = an_image_task(store="another")

    with pytest.raises(errors.StorageDown, match="belongs to store another") as caught:
        shop.perform(task)

    assert caught.value.reason == "another_store"
    assert shop.runs == []


def test_what_a_task_publishes_is_of_its_store_and_no_older_than_itself(shop):
    shop.perform(an_image_task(store=shop.store.id, serial=7))

    (copy,) = shop.publisher.copies
    assert (copy.task.store, copy.task.serial) == (shop.store.id, 7)
