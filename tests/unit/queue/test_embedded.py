"""The queue in one process."""

from __future__ import annotations

import gc
import weakref

import pytest

from core.errors import Misconfigured
from core.model.end import Failure
from core.ports import Copy, DeadLetter
from core.queue.consumer import HOLD_S
from core.queue.delivery import Delivery
from core.queue.embedded import EmbeddedConsumer, EmbeddedQueue
from core.queue.outcome import Settled, ToHead
from tests.support.clock import FakeClock
from tests.support.tasks import a_discover_task, an_image_task


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
