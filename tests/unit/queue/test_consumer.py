"""The consumer's rules, over a channel that only remembers."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest
from dramatiq.errors import ConnectionClosed

from core.errors import BrokerDown
from core.model.task import FORMAT, State, Task
from core.queue.consumer import HOLD_S, LaneConsumer, Parts
from core.queue.delivery import Delivery
from core.queue.lane_channel import Arrived
from core.queue.lanes import HEADRACE, lane, lanes_of
from core.queue.message import encode, to_message
from core.queue.outcome import Settled, ToHead
from core.queue.slots import STALE_S
from core.queue.turns import Turns
from tests.support.clock import FakeClock
from tests.support.queue import FakePublisher, eventually
from tests.support.tasks import an_image_task


class FakeChannel:
    """Remembers what was done, in order. What waits for a lane arrives in `process`."""

    def __init__(self, clock: FakeClock, on_arrival: Callable[[Arrived], None]) -> None:
        self.clock = clock
        self.on_arrival = on_arrival
        self.lanes: set[str] = set()
        self.prefetch: dict[str, int] = {}
        self.done: list[tuple[str, object]] = []
        self.waiting: list[tuple[str, bytes]] = []
        self.broken = False
        self.closed = False
        self.tag = 0

    def consume(self, name: str, prefetch: int) -> None:
        self.lanes.add(name)
        self.prefetch[name] = prefetch

    def cancel(self, name: str) -> None:
        self.lanes.discard(name)
        self._do("cancel", name)

    def ack(self, tag: int) -> None:
        self._do("ack", tag)

    def give_back(self, tag: int) -> None:
        self._do("back", tag)

    def process(self, seconds: float) -> None:
        if self.broken:
            raise ConnectionClosed("gone")
        arrived, self.waiting = self.waiting, []
        for name, body in arrived:
            self.tag += 1
            self.on_arrival(Arrived(name, self.tag, body))
        if not arrived:
            self.clock.advance(seconds)

    def wake(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def _do(self, what: str, which: object) -> None:
        if self.broken:
            raise ConnectionClosed("gone")
        self.done.append((what, which))


class FakeOutage:
    """Counts how often it was told."""

    def __init__(self) -> None:
        self.begun = 0
        self.lasts = False

    def begin(self) -> None:
        self.begun += 1
        self.lasts = True


class Bench:
    """A process: turns that last, and a consumer on its channel."""

    def __init__(self, **sources: int) -> None:
        self.clock = FakeClock()
        self.turns = Turns(sources or {"a": 2}, self.clock)
        self.desk = FakePublisher()
        self.outage = FakeOutage()
        self.lanes = tuple(name for source in sources or {"a": 2} for name in lanes_of(source))
        self.connect()

    def connect(self) -> None:
        self.consumer = LaneConsumer(
            self._open,
            Parts(self.turns, self.lanes, self.desk, self.outage, self.clock, random.Random(1)),
            timeout_s=1.0,
        )

    def _open(self, on_arrival: Callable[[Arrived], None]) -> FakeChannel:
        self.channel = FakeChannel(self.clock, on_arrival)
        return self.channel

    def put(self, *urls: str, source: str = "a") -> list[Task]:
        tasks = [an_image_task(f"https://x.example/{url}", source=source) for url in urls]
        self.channel.waiting += [(lane(task.source, task.kind), encode(task)) for task in tasks]
        return tasks

    def put_body(self, body: bytes) -> None:
        self.channel.waiting.append(("a.image", body))

    def take(self) -> Delivery:
        delivery = next(self.consumer)
        assert delivery is not None
        return delivery

    def end(self, delivery: Delivery, outcome: Settled | ToHead | None) -> None:
        delivery.outcome = outcome
        self.consumer.ack(delivery)


def test_every_lane_is_consumed_with_a_prefetch_of_its_slots_and_one() -> None:
    bench = Bench(a=2, b=3)
    next(bench.consumer)

    wanted = dict.fromkeys(lanes_of("a"), 3) | dict.fromkeys(lanes_of("b"), 4)
    assert bench.channel.prefetch == wanted


def test_nothing_is_none_after_the_timeout() -> None:
    bench = Bench()
    before = bench.clock.monotonic()

    assert next(bench.consumer) is None
    assert bench.clock.monotonic() == pytest.approx(before + 1.0)


def test_a_delivery_carries_its_task_and_place() -> None:
    bench = Bench()
    (task,) = bench.put("1")
    delivery = bench.take()

    assert delivery.task == task
    assert (delivery.lane, delivery.origin.tag) == ("a.image", 1)


def test_a_settled_delivery_is_acknowledged() -> None:
    bench = Bench()
    bench.put("1")
    bench.end(bench.take(), Settled())
    next(bench.consumer)

    assert bench.channel.done == [("ack", 1)]


def test_fact_1_a_delivery_without_outcome_is_never_acknowledged() -> None:
    bench = Bench()
    bench.put("1")
    bench.end(bench.take(), None)
    next(bench.consumer)

    assert bench.channel.done == []


def test_fact_1_it_goes_back_after_a_while_and_holds_no_slot_meanwhile() -> None:
    bench = Bench(a=1)
    bench.put("1")
    bench.end(bench.take(), None)
    next(bench.consumer)
    free = bench.turns.in_hand("a")
    bench.clock.advance(HOLD_S[1])
    next(bench.consumer)

    assert free == 0
    assert bench.channel.done == [("back", 1)]


def test_what_dramatiq_calls_failed_is_held_too() -> None:
    bench = Bench()
    bench.put("1")
    bench.consumer.nack(bench.take())
    next(bench.consumer)
    bench.clock.advance(HOLD_S[1])
    next(bench.consumer)

    assert bench.channel.done == [("back", 1)]


def test_to_the_head_touches_neither_broker_nor_order() -> None:
    bench = Bench(a=1)
    first, _ = bench.put("1", "2")
    bench.end(bench.take(), ToHead())

    assert bench.take().task == first
    assert bench.channel.done == []


def test_fact_2_an_old_connections_delivery_settles_nothing_on_the_new_one() -> None:
    bench = Bench(a=1)
    bench.put("1")
    old = bench.take()
    bench.connect()
    bench.put("2")
    bench.end(old, Settled())
    new = bench.take()

    assert new.origin.tag == old.origin.tag
    assert bench.channel.done == []


def test_fact_2_what_an_old_connection_left_in_the_buffer_is_not_handed_on() -> None:
    bench = Bench(a=1)
    bench.put("1", "2")
    bench.take()
    bench.connect()

    assert bench.turns.buffered("a") == 0


def test_fact_2_an_old_connections_message_is_not_given_back_on_the_new_one() -> None:
    bench = Bench(a=1)
    bench.put("1")
    old = bench.take()
    bench.connect()
    bench.turns.add(old.again(bench.clock.monotonic()))  # it went to its head in between
    bench.turns.stop()
    next(bench.consumer)

    assert bench.channel.done == []


def test_fact_5_an_old_connections_delivery_holds_its_slot_until_it_ends() -> None:
    bench = Bench(a=1)
    bench.put("1")
    old = bench.take()
    bench.connect()
    bench.put("1")
    while_it_runs = next(bench.consumer)
    bench.end(old, Settled())

    assert while_it_runs is None
    assert bench.take().task == old.task


def test_fact_3_a_body_with_another_queue_name_is_handed_on_under_ours() -> None:
    bench = Bench()
    message = to_message(an_image_task(source="a")).copy(queue_name="elsewhere")
    bench.put_body(message.encode())

    assert bench.take().queue_name == HEADRACE


def test_fact_7_an_eta_in_a_body_is_none_of_its_business() -> None:
    bench = Bench()
    message = to_message(an_image_task(source="a")).copy(options={"eta": 10**15})
    bench.put_body(message.encode())

    assert bench.take().options == {}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\x00garbage", "bad_message"),
        (b"[]", "bad_message"),
        (to_message(an_image_task(source="a")).copy(actor_name="mow").encode(), "unknown_actor"),
        (
            to_message(an_image_task(source="a")).copy(actor_name=["x"]).encode(),
            "unknown_actor",
        ),
        (to_message(an_image_task(source="a")).copy(args=({"id": 1},)).encode(), "bad_task_record"),
        (encode(an_image_task(source="b")), "wrong_lane"),
        (encode(an_image_task(source="a", state=State.DEAD)), "not_open"),
        (encode(an_image_task(source="a", state=State.LEASED)), "not_open"),
    ],
)
def test_a_body_that_cannot_run_goes_raw_to_the_dead_queue(body: bytes, reason: str) -> None:
    bench = Bench()
    bench.put_body(body)
    next(bench.consumer)
    eventually(lambda: bench.desk.raw, "buried")

    assert bench.desk.raw == [("a.image", body, reason)]


def test_it_is_acknowledged_only_after_that_was_confirmed() -> None:
    bench = Bench()
    confirm = threading.Event()
    bench.desk.bury_raw = lambda *_: confirm.wait(10)
    bench.put_body(b"garbage")
    next(bench.consumer)
    before = list(bench.channel.done)
    confirm.set()
    eventually(lambda: next(bench.consumer) or bench.channel.done, "settled")

    assert (before, bench.channel.done) == ([], [("ack", 1)])


def test_it_is_held_when_it_was_not_confirmed() -> None:
    bench = Bench()
    bench.desk.broken = BrokerDown("no confirm")
    bench.put_body(b"garbage")
    eventually(lambda: next(bench.consumer) or bench.channel.done, "given back")

    assert bench.channel.done == [("back", 1)]


def test_a_newer_format_waits_for_a_worker_that_can_read_it() -> None:
    bench = Bench()
    record = an_image_task(source="a").to_message() | {"format": FORMAT + 1}
    body = to_message(an_image_task(source="a")).copy(args=(record,)).encode()
    bench.put_body(body)
    next(bench.consumer)
    eventually(lambda: bench.desk.raw, "delayed")

    assert bench.desk.raw == [("a.image", body, "60 s")]


def test_a_closed_sources_lanes_are_cancelled_before_its_messages_go_back() -> None:
    bench = Bench(a=1)
    bench.put("1", "2")
    bench.take()
    bench.turns.pause("a")
    next(bench.consumer)
    next(bench.consumer)

    *cancelled, back = bench.channel.done
    assert sorted(cancelled) == sorted(("cancel", lane) for lane in lanes_of("a"))
    assert back == ("back", 2)


def test_an_opened_sources_lanes_are_consumed_again() -> None:
    bench = Bench(a=1)
    bench.turns.pause("a")
    next(bench.consumer)
    closed = set(bench.channel.lanes)
    bench.turns.resume("a")
    next(bench.consumer)

    assert (closed, bench.channel.lanes) == (set(), set(lanes_of("a")))


def test_a_delivery_that_found_no_shared_state_tells_the_outage() -> None:
    bench = Bench(a=1)
    bench.put("1", "2")
    healthy, other = bench.take(), None
    bench.end(healthy, Settled())
    other = bench.take()
    other.shared_state_down = True
    before = bench.outage.begun
    bench.end(other, None)

    assert (before, bench.outage.begun) == (0, 1)


def in_hand_without_shared_state() -> Bench:
    """Its lease can't be released, and it is held for longer than any delivery is."""
    bench = Bench(a=1)
    bench.put("1")
    delivery = bench.take()
    delivery.shared_state_down = True
    bench.end(delivery, None)
    next(bench.consumer)
    bench.clock.advance(HOLD_S[1])
    return bench


def test_while_the_shared_state_is_away_nothing_in_hand_goes_back_to_be_taken_for_a_crash() -> None:
    bench = in_hand_without_shared_state()
    next(bench.consumer)

    assert bench.channel.done == []


def test_when_it_is_back_what_was_in_hand_goes_back() -> None:
    bench = in_hand_without_shared_state()
    bench.outage.lasts = False
    next(bench.consumer)

    assert bench.channel.done == [("back", 1)]


def test_waiting_for_the_shared_state_keeps_no_thread_busy() -> None:
    bench = in_hand_without_shared_state()
    before = bench.clock.monotonic()
    next(bench.consumer)

    assert bench.clock.monotonic() == before + 1.0


def test_a_process_that_ends_without_shared_state_gives_back_what_was_in_hand() -> None:
    bench = in_hand_without_shared_state()
    bench.turns.stop()
    next(bench.consumer)

    assert ("back", 1) in bench.channel.done


def test_while_all_is_closed_no_lane_is_consumed() -> None:
    bench = Bench(a=1, b=1)
    next(bench.consumer)
    bench.turns.close_all(5.0)
    next(bench.consumer)
    closed = set(bench.channel.lanes)
    bench.turns.open_all()
    next(bench.consumer)

    assert closed == set()
    assert bench.channel.lanes == set(bench.lanes)


def test_a_run_that_learns_of_a_block_has_what_was_prefetched_given_back_once() -> None:
    bench = Bench(a=2, b=1)
    bench.put("1", "2", "3")
    bench.put("4", source="b")
    first, _, second = bench.take(), bench.take(), bench.take()  # a's, b's, a's
    bench.end(first, ToHead(shut_s=30.0))
    next(bench.consumer)
    bench.end(second, ToHead(shut_s=30.0))
    next(bench.consumer)
    next(bench.consumer)
    gone_back = [which for what, which in bench.channel.done if what == "back"]

    assert gone_back == [1, 3, 2]
    assert bench.channel.lanes == set(lanes_of("b"))


def test_a_blocked_source_is_consumed_again_when_its_block_ends() -> None:
    bench = Bench(a=2)
    bench.put("1")
    bench.end(bench.take(), Settled(shut_s=30.0))
    next(bench.consumer)
    shut = set(bench.channel.lanes)
    bench.clock.advance(30.0)
    next(bench.consumer)

    assert (shut, bench.channel.lanes) == (set(), set(lanes_of("a")))


def test_what_lay_here_for_a_minute_goes_back_and_its_lane_is_cancelled() -> None:
    bench = Bench(a=1)
    bench.put("1", "2")
    first = bench.take()
    bench.clock.advance(STALE_S)
    next(bench.consumer)
    cancelled = "a.image" not in bench.channel.lanes
    bench.end(first, Settled())
    next(bench.consumer)

    assert cancelled
    assert bench.channel.done == [("cancel", "a.image"), ("back", 2), ("ack", 1)]
    assert "a.image" in bench.channel.lanes


def test_a_lane_that_is_lost_is_consumed_again() -> None:
    bench = Bench()
    next(bench.consumer)
    bench.channel.lanes.discard("a.image")
    next(bench.consumer)

    assert "a.image" in bench.channel.lanes


def test_after_stop_everything_goes_back_but_what_is_in_hand() -> None:
    bench = Bench(a=1)
    bench.put("1", "2")
    first = bench.take()
    bench.end(first, None)
    second = bench.take()
    bench.put("3")
    bench.channel.process(0)
    bench.turns.stop()
    next(bench.consumer)
    gone_back = [which for what, which in bench.channel.done if what == "back"]
    bench.end(second, Settled())
    next(bench.consumer)

    assert sorted(gone_back) == [1, 3]
    assert bench.channel.done[-1] == ("ack", 2)


def test_what_was_never_begun_goes_back_before_the_connection_closes() -> None:
    bench = Bench()
    bench.put("1", "2", "3")
    never_begun = bench.take()
    bench.take()
    bench.consumer.requeue([never_begun])
    bench.consumer.close()

    assert sorted(bench.channel.done) == [("back", 1), ("back", 3)]
    assert bench.channel.closed


def test_an_acknowledgement_of_the_last_moment_is_not_lost() -> None:
    bench = Bench()
    bench.put("1")
    bench.end(bench.take(), Settled())
    bench.consumer.close()

    assert bench.channel.done == [("ack", 1)]


def test_closing_after_a_lost_connection_is_no_error() -> None:
    bench = Bench(a=1)
    bench.put("1", "2")
    bench.take()
    bench.channel.broken = True
    bench.consumer.close()

    assert bench.channel.closed
    assert bench.turns.buffered("a") == 0


def test_a_lost_connection_is_dramatiqs_to_restart() -> None:
    bench = Bench()
    bench.channel.broken = True

    with pytest.raises(ConnectionClosed):
        next(bench.consumer)


def test_an_end_after_close_frees_its_slot_and_is_not_settled() -> None:
    bench = Bench()
    bench.put("1")
    delivery = bench.take()
    bench.consumer.close()
    bench.end(delivery, ToHead())

    assert (bench.turns.in_hand("a"), bench.turns.buffered("a")) == (0, 0)
