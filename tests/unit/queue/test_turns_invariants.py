"""What no order of events may break: slots, one hand for each delivery, turns for everyone."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core.model.task import Kind
from core.queue.delivery import Delivery
from core.queue.outcome import Outcome, Settled, ToHead
from core.queue.turns import Turns
from tests.support.clock import FakeClock
from tests.support.queue import a_delivery
from tests.support.tasks import a_discover_task, an_image_task

SOURCES = {"a": 1, "b": 2, "c": None}
THREADS = 4

names = st.sampled_from(sorted(SOURCES))
shut = st.sampled_from([0.0, 0.5, 90.0, math.inf])
outcomes = st.one_of(
    st.none(),
    st.builds(Settled, st.booleans(), shut_s=shut),
    st.builds(ToHead, st.sampled_from([0.0, 0.5, 90.0]), shut),
)


def arriving(source: str, tag: int, kind: Kind, at: float) -> Delivery:
    if kind is Kind.DISCOVER:
        return a_delivery(a_discover_task(source=source), tag=tag, at=at)
    return a_delivery(an_image_task(f"https://x.example/{tag}", source=source), tag=tag, at=at)


class AnyOrder(RuleBasedStateMachine):
    """Each tag is in one place: buffered, in hand, or away (settled, held or given back)."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.turns = Turns(SOURCES, self.clock, threads=THREADS)
        self.arrived = 0
        self.buffered: set[int] = set()
        self.hand: list[Delivery] = []
        self.ended: list[Delivery] = []

    @rule(source=names, kind=st.sampled_from(Kind))
    def arrive(self, source: str, kind: Kind) -> None:
        self.arrived += 1
        self.turns.add(arriving(source, self.arrived, kind, self.clock.monotonic()))
        self.buffered.add(self.arrived)

    @rule()
    def hand_on(self) -> None:
        delivery = self.turns.next()
        if delivery is not None:
            assert delivery.origin.tag in self.buffered, "handed on twice, or out of nowhere"
            assert delivery.outcome is None
            self.buffered.remove(delivery.origin.tag)
            self.hand.append(delivery)

    @precondition(lambda self: self.hand)
    @rule(data=st.data(), outcome=outcomes, keep=st.booleans())
    def end(self, data: st.DataObject, outcome: Outcome | None, keep: bool) -> None:
        delivery = data.draw(st.sampled_from(self.hand))
        delivery.outcome = outcome
        assert self.turns.end(delivery, keep=keep)
        self.hand.remove(delivery)
        self.ended.append(delivery)
        if keep and isinstance(outcome, ToHead):
            self.buffered.add(delivery.origin.tag)

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def end_again(self, data: st.DataObject) -> None:
        assert not self.turns.end(data.draw(st.sampled_from(self.ended)), keep=True)

    @rule(seconds=st.sampled_from([0.1, 5.0, 61.0, 301.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(source=names, opened=st.booleans())
    def close_or_open(self, source: str, opened: bool) -> None:
        (self.turns.resume if opened else self.turns.pause)(source)

    @rule(opened=st.booleans())
    def close_or_open_all(self, opened: bool) -> None:
        self.turns.open_all() if opened else self.turns.close_all(30.0)

    @rule()
    def give_back(self) -> None:
        self._leave(self.turns.surplus())

    @rule()
    def reconnect(self) -> None:
        self._leave(self.turns.clear())
        assert not self.buffered

    def _leave(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            assert delivery.origin.tag in self.buffered, "returned twice"
            self.buffered.remove(delivery.origin.tag)

    @invariant()
    def slots_hold(self) -> None:
        for source in SOURCES:
            in_hand = sum(1 for delivery in self.hand if delivery.source == source)
            assert self.turns.in_hand(source) == in_hand <= self.turns.slots(source)
        assert len(self.hand) <= THREADS

    @invariant()
    def nothing_is_lost(self) -> None:
        assert sum(self.turns.buffered(source) for source in SOURCES) == len(self.buffered)


TestAnyOrder = AnyOrder.TestCase


@given(waiting=st.lists(st.tuples(names, st.sampled_from(Kind)), min_size=1, max_size=60))
def test_everything_gets_its_turn_when_all_ends_well(waiting: list[tuple[str, Kind]]) -> None:
    clock = FakeClock()
    turns = Turns(SOURCES, clock, threads=THREADS)
    for tag, (source, kind) in enumerate(waiting, start=1):
        turns.add(arriving(source, tag, kind, clock.monotonic()))
    served = []
    while (delivery := turns.next()) is not None:
        served.append(delivery.origin.tag)
        delivery.outcome = Settled()
        turns.end(delivery, keep=True)

    assert sorted(served) == list(range(1, len(waiting) + 1))


@given(sources=st.integers(min_value=2, max_value=8), rounds=st.integers(min_value=1, max_value=6))
def test_no_source_waits_for_more_than_one_turn_of_each_other(sources: int, rounds: int) -> None:
    clock = FakeClock()
    turns = Turns({str(n): 1 for n in range(sources)}, clock, threads=sources + 1)
    for n in range(sources):
        for tag in range(rounds):
            turns.add(arriving(str(n), n * rounds + tag, Kind.IMAGE, clock.monotonic()))
    served: Counter[str] = Counter()
    for _ in range(rounds * sources):
        delivery = turns.next()
        assert delivery is not None
        served[delivery.source] += 1
        delivery.outcome = Settled()
        turns.end(delivery, keep=True)

        assert max(served.values()) - min(served[str(n)] for n in range(sources)) <= 1


@given(busy=st.integers(min_value=8, max_value=40))
def test_a_full_first_lane_leaves_every_eighth_turn(busy: int) -> None:
    clock = FakeClock()
    turns = Turns({"a": 1}, clock, threads=2)
    for tag in range(busy):
        turns.add(arriving("a", tag, Kind.DISCOVER, clock.monotonic()))
        turns.add(arriving("a", 1000 + tag, Kind.IMAGE, clock.monotonic()))
    lanes = []
    for _ in range(busy):
        delivery = turns.next()
        assert delivery is not None
        lanes.append(delivery.lane)
        delivery.outcome = Settled()
        turns.end(delivery, keep=True)

    assert lanes.count("a.image") == busy // 8
