"""The queue in one process."""

from __future__ import annotations

import gc
import weakref

import pytest

from core.errors import Misconfigured
from core.model.end import Failure
from core.model.task import Kind, State
from core.ports import Copy, DeadLetter
from core.queue.consumer import HOLD_S
from core.queue.delivery import Delivery
from core.queue.embedded import EmbeddedConsumer, EmbeddedQueue
from core.queue.outcome import Settled, ToHead
from tests.support.clock import FakeClock
from tests.support.tasks import a_discover_task, a_fragment_task, a_verify_task, an_image_task


class Bench:
    """A queue whose time moves only when nothing is to be done."""

    def __init__(self, **sources: int) -> None:
        self.clock = FakeClock()
        self.queue = EmbeddedQueue(sources or {"feed": 2}, self.clock)

    def put(self, *urls: str, delay_s: float = 0.0) -> None:
        self.queue.publish(
            [Copy(an_image_task(f"https://x.example/{url}"), delay_s) for url in urls]
        )

    def take(self, timeout_s: float = 0.0) -> Delivery:
        delivery = self.queue.take(timeout_s)
        assert delivery is not None
        return delivery

    def end(self, delivery: Delivery, outcome: Settled | ToHead | None) -> None:
        delivery.outcome = outcome
        self.queue.end(delivery)


def test_what_is_published_is_handed_on() -> None:
    bench = Bench()
    bench.put("1")

    assert bench.take().task == an_image_task("https://x.example/1")


def test_nothing_is_none_after_the_timeout() -> None:
    bench = Bench()
    before = bench.clock.monotonic()

    assert bench.queue.take(1.5) is None
    assert bench.clock.monotonic() == before + 1.5


def test_a_delayed_copy_comes_at_its_time_and_not_before() -> None:
    bench = Bench()
    bench.put("1", delay_s=60.0)
    early = bench.queue.take(59.0)
    start = bench.clock.monotonic()
    bench.take(timeout_s=100.0)

    assert early is None
    assert bench.clock.monotonic() == pytest.approx(start + 1.0)


def test_without_outcome_it_comes_back_after_a_while() -> None:
    bench = Bench()
    bench.put("1")
    first = bench.take()
    bench.end(first, None)
    start = bench.clock.monotonic()
    second = bench.take(timeout_s=100.0)

    assert second is not first
    assert HOLD_S[0] <= bench.clock.monotonic() - start <= HOLD_S[1]


def test_the_queue_is_idle_at_first() -> None:
    assert Bench().queue.idle.is_set()


@pytest.mark.parametrize("delay_s", [0.0, 3600.0])
def test_ready_and_delayed_tasks_are_open(delay_s: float) -> None:
    bench = Bench()
    bench.put("1", delay_s=delay_s)

    assert not bench.queue.idle.is_set()


@pytest.mark.parametrize("outcome", [None, ToHead()])
def test_a_task_that_comes_back_is_open(outcome: ToHead | None) -> None:
    bench = Bench()
    bench.put("1")
    bench.end(bench.take(), outcome)

    assert not bench.queue.idle.is_set()


def test_a_task_in_hand_is_open() -> None:
    bench = Bench()
    bench.put("1")
    bench.take()

    assert not bench.queue.join(0)


def test_the_queue_is_idle_when_the_last_task_is_settled() -> None:
    bench = Bench()
    bench.put("1", "2")
    for _ in range(2):
        bench.end(bench.take(), Settled())

    assert bench.queue.join(0)
    assert bench.queue.open_tasks() == 0


def test_an_end_told_twice_counts_once() -> None:
    bench = Bench()
    bench.put("1", "2")
    first = bench.take()
    bench.end(first, Settled())
    bench.end(first, Settled())

    assert bench.queue.open_tasks() == 1


def test_open_tasks_are_told_by_source_with_its_joins() -> None:
    bench = Bench(feed=1, other=1)
    bench.put("1", "2")
    bench.put("3", delay_s=9.0)
    bench.queue.publish([Copy(a_discover_task(source="other")), Copy(a_verify_task(source="feed"))])
    bench.take()

    assert bench.queue.open_by_source() == {"feed": 4, "other": 1}


def test_a_source_whose_tasks_are_all_at_their_end_is_not_named() -> None:
    bench = Bench(feed=1, other=1)
    bench.put("1")
    bench.end(bench.take(), Settled())

    assert bench.queue.open_by_source() == {}


def test_a_blocked_sources_tasks_wait_here_until_its_block_ends() -> None:
    bench = Bench(feed=1)
    bench.put("1", "2")
    bench.end(bench.take(), ToHead(shut_s=30.0))
    during = bench.queue.take(29.0)
    bench.take(timeout_s=2.0)

    assert during is None
    assert bench.queue.open_tasks() == 2


def test_depth_is_what_is_ready_of_a_source() -> None:
    bench = Bench(feed=1, other=1)
    bench.put("1", "2")
    bench.put("3", delay_s=9.0)
    bench.queue.publish([Copy(a_discover_task(source="other"))])
    bench.take()

    assert (bench.queue.ready("feed"), bench.queue.ready("other")) == (1, 1)


def test_dead_letters_are_counted_only() -> None:
    bench = Bench()
    failure = Failure(reason="gone", message="404", passing=False)
    bench.queue.bury(DeadLetter(an_image_task(), failure))

    assert bench.queue.dead == {"feed": 1}


def test_a_source_that_the_settings_lack_is_refused_before_anything_is_published() -> None:
    bench = Bench()

    with pytest.raises(Misconfigured, match="elsewhere"):
        bench.queue.publish([Copy(an_image_task()), Copy(an_image_task(source="elsewhere"))])
    assert bench.queue.open_tasks() == 0


def test_nothing_of_a_finished_task_stays_in_memory() -> None:
    bench = Bench()
    bench.put("1")
    delivery = bench.take()
    trace = weakref.ref(delivery.task)
    bench.end(delivery, Settled())
    del delivery
    gc.collect()

    assert trace() is None


def test_a_task_without_shared_state_rests_every_source() -> None:
    bench = Bench(feed=2, other=2)
    bench.put("1")
    delivery = bench.take()
    delivery.shared_state_down = True
    bench.queue.publish([Copy(a_discover_task(source="other"))])
    bench.end(delivery, None)

    assert bench.queue.take(4.9) is None
    assert bench.take(timeout_s=1.0).source == "other"


def test_after_stop_nothing_is_handed_on() -> None:
    bench = Bench()
    bench.put("1")
    bench.queue.turns.stop()

    assert bench.queue.take(0.5) is None
    assert bench.queue.ready("feed") == 1


def test_what_was_never_begun_goes_back_to_its_lane() -> None:
    bench = Bench()
    bench.put("1")
    EmbeddedConsumer(bench.queue, timeout_s=1).requeue([bench.take()])

    assert bench.queue.ready("feed") == 1


def test_the_depth_of_one_kind_can_be_asked_for() -> None:
    bench = Bench()
    bench.put("1")
    bench.queue.publish([Copy(a_fragment_task())])

    assert bench.queue.ready("feed", Kind.FRAGMENT) == 1


def test_a_newer_copy_takes_the_place_of_one_that_rests() -> None:
    """A video's watchdog must not keep a run open for minutes after its join."""
    bench = Bench()
    bench.queue.publish([Copy(a_verify_task(serial=1), 300.0)])
    bench.queue.publish([Copy(a_verify_task(serial=2))])

    joined = bench.take()
    bench.end(joined, Settled())

    assert joined.task.serial == 2
    assert bench.queue.idle.is_set()
    assert bench.queue.take(400.0) is None


def test_a_newer_copy_in_the_same_window_does_too() -> None:
    bench = Bench()
    bench.queue.publish([Copy(a_verify_task(serial=1), 300.0), Copy(a_verify_task(serial=2))])

    assert bench.queue.open_tasks() == 1


def test_a_copy_as_old_as_one_that_rests_is_dropped() -> None:
    bench = Bench()
    bench.queue.publish([Copy(a_verify_task(serial=1), 300.0)])
    bench.queue.publish([Copy(a_verify_task(serial=1))])

    assert bench.queue.take(0.0) is None
    assert bench.queue.open_tasks() == 1


def test_a_copy_that_rests_goes_when_its_task_is_done() -> None:
    """Of two joins of a video one waits for the other's lease: for nothing, once that is done."""
    bench = Bench(feed=2, headrace=2)
    bench.queue.publish([Copy(a_verify_task(serial=1))])
    running = bench.take()
    bench.queue.publish([Copy(a_verify_task(serial=2), 30.0)])

    bench.end(running, Settled(done=True))

    assert bench.queue.idle.is_set()
    assert bench.queue.take(60.0) is None


def test_a_copy_of_a_later_generation_rests_on() -> None:
    bench = Bench(feed=2, headrace=2)
    bench.queue.publish([Copy(a_verify_task(serial=1))])
    running = bench.take()
    bench.queue.publish([Copy(a_verify_task(serial=2, generation=2), 30.0)])

    bench.end(running, Settled(done=True))

    assert bench.take(60.0).task.generation == 2


def test_a_retry_rests_on_when_its_failed_run_is_settled() -> None:
    bench = Bench()
    bench.put("1")
    failed = bench.take()
    bench.queue.publish([Copy(failed.task.model_copy(update={"serial": 1}), 30.0)])

    bench.end(failed, Settled())

    assert bench.take(60.0).task.serial == 1


def test_one_that_is_in_hand_is_not_replaced() -> None:
    bench = Bench(feed=2, headrace=2)
    bench.queue.publish([Copy(a_verify_task(serial=1))])
    running = bench.take()
    bench.queue.publish([Copy(a_verify_task(serial=2))])
    newer = bench.take()
    bench.end(running, Settled())
    bench.end(newer, Settled())

    assert bench.queue.idle.is_set()


def test_one_without_an_outcome_does_not_come_back_beside_a_newer_copy() -> None:
    bench = Bench(feed=2, headrace=2)
    bench.queue.publish([Copy(a_verify_task(serial=1))])
    running = bench.take()
    bench.queue.publish([Copy(a_verify_task(serial=2), 300.0)])
    bench.end(running, None)

    assert bench.queue.open_tasks() == 1
    assert bench.take(400.0).task.serial == 2


# --- a block that a person ends ---


def test_what_waits_for_a_source_is_tried_once_a_person_opens_it() -> None:
    bench = Bench()
    bench.put("1", delay_s=86_400.0)
    bench.queue.hasten("feed")
    delivery = bench.take()
    bench.end(delivery, Settled(done=True))

    assert delivery.task.not_before is None
    assert bench.queue.idle.is_set()


def test_one_that_was_hastened_comes_not_once_more_at_its_old_time() -> None:
    bench = Bench()
    bench.put("1", delay_s=100.0)
    bench.queue.hasten("feed")
    bench.end(bench.take(), Settled(done=True))

    assert bench.queue.take(200.0) is None


def test_other_sources_rest_on() -> None:
    bench = Bench(feed=2, mill=2)
    bench.put("1", delay_s=100.0)
    bench.queue.hasten("mill")

    assert bench.queue.take(0.0) is None


def test_what_failed_rests_on() -> None:
    bench = Bench()
    failed = an_image_task("https://x.example/1", state=State.FAILED)
    bench.queue.publish([Copy(failed, 100.0)])
    bench.queue.hasten("feed")

    assert bench.queue.take(0.0) is None


def test_what_is_looked_at_by_its_own_time_rests_on() -> None:
    bench = Bench()
    bench.queue.publish([Copy(a_verify_task(), 100.0)])
    bench.queue.hasten(a_verify_task().source)

    assert bench.queue.take(0.0) is None
