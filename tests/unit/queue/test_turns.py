"""Turns: slots, sources, lanes, rests, closures."""

from __future__ import annotations

import math

import pytest

from core.model.task import Task
from core.queue.delivery import Delivery
from core.queue.outcome import Settled, ToHead
from core.queue.slots import LONG_HELD_S, PAUSE_TOLD_S, STALE_S
from core.queue.turns import Turns
from tests.support.clock import FakeClock
from tests.support.queue import a_delivery
from tests.support.tasks import a_discover_task, a_fragment_task, a_verify_task, an_image_task


class Hand:
    """Turns with a clock and short ways to fill and end."""

    def __init__(self, sources: dict[str, int | None], threads: int = 8) -> None:
        self.clock = FakeClock()
        self.turns = Turns(sources, self.clock, threads=threads)
        self.tag = 0

    def add(self, source: str = "a", *, count: int = 1, task: Task | None = None) -> list[Delivery]:
        added = []
        for _ in range(count):
            self.tag += 1
            given = task or an_image_task(f"https://{source}.example/{self.tag}", source=source)
            added.append(a_delivery(given, tag=self.tag, at=self.clock.monotonic()))
            self.turns.add(added[-1])
        return added

    def take(self, count: int = 1) -> list[Delivery]:
        taken = []
        for _ in range(count):
            if (delivery := self.turns.next()) is None:
                break
            taken.append(delivery)
        return taken

    def end(self, delivery: Delivery, outcome: Settled | ToHead | None, *, keep: bool = True):
        delivery.outcome = outcome
        return self.turns.end(delivery, keep=keep)


def tags(deliveries: list[Delivery]) -> list[int]:
    return [delivery.origin.tag for delivery in deliveries]


def test_nothing_is_handed_on_when_nothing_is_buffered() -> None:
    assert Hand({"a": 1}).turns.next() is None


def test_a_source_never_has_more_in_hand_than_its_slots() -> None:
    hand = Hand({"a": 2})
    hand.add(count=5)

    assert tags(hand.take(5)) == [1, 2]


def test_an_end_frees_a_slot() -> None:
    hand = Hand({"a": 1})
    hand.add(count=2)
    (first,) = hand.take()

    assert hand.end(first, Settled())
    assert tags(hand.take()) == [2]


def test_a_slot_is_freed_once_however_often_a_delivery_ends() -> None:
    hand = Hand({"a": 1})
    hand.add(count=3)
    (first,) = hand.take()
    hand.end(first, Settled())
    hand.take()

    assert not hand.end(first, Settled())
    assert hand.turns.in_hand("a") == 1


def test_what_is_fetched_leaves_its_slot_to_the_next_while_it_is_committed() -> None:
    hand = Hand({"a": 1})
    hand.add(count=3)
    (first,) = hand.take()

    assert hand.turns.fetched(first)  # which is news for whoever hands on
    assert tags(hand.take(2)) == [2]
    assert hand.turns.in_hand("a") == 2


def test_what_is_fetched_still_has_its_thread() -> None:
    hand = Hand({"a": 1}, threads=3)
    hand.add(count=3)
    (first,) = hand.take()
    hand.turns.fetched(first)
    (second,) = hand.take()

    assert not hand.turns.fetched(second)
    assert hand.take() == []
    assert hand.end(first, Settled())
    assert tags(hand.take()) == [3]


def test_what_is_fetched_ends_once_and_frees_no_other_slot() -> None:
    hand = Hand({"a": 1})
    hand.add(count=4)
    (first,) = hand.take()
    hand.turns.fetched(first)
    hand.take()

    assert hand.end(first, Settled())
    assert not hand.end(first, Settled())
    assert hand.take() == []


def test_what_is_fetched_and_can_not_be_committed_goes_back_to_its_lanes_head() -> None:
    hand = Hand({"a": 1})
    hand.add(count=3)
    (first,) = hand.take()
    hand.turns.fetched(first)
    hand.end(first, ToHead())
    hand.clock.advance(1.0)

    assert tags(hand.take()) == [1]


def test_a_delivery_that_has_ended_is_not_fetched_any_more() -> None:
    hand = Hand({"a": 1})
    hand.add(count=2)
    (first,) = hand.take()
    hand.end(first, Settled())
    hand.turns.fetched(first)

    assert hand.turns.in_hand("a") == 0


@pytest.mark.parametrize(("threads", "slots"), [(1, 1), (4, 1), (8, 2), (16, 4), (40, 10)])
def test_slots_default_to_a_quarter_of_the_threads(threads: int, slots: int) -> None:
    assert Hand({"a": None}, threads).turns.slots("a") == slots


def test_no_source_may_have_every_thread() -> None:
    assert Hand({"a": 100}, threads=8).turns.slots("a") == 7


def test_no_source_has_every_thread_though_it_only_commits() -> None:
    hand = Hand({"a": 2, "b": 1}, threads=4)
    hand.add("a", count=9)
    for _ in range(9):
        for delivery in hand.take():
            hand.turns.fetched(delivery)
    hand.add("b")

    assert hand.turns.in_hand("a") == 3
    assert [delivery.source for delivery in hand.take(9)] == ["b"]


def test_no_more_is_in_hand_than_there_are_threads() -> None:
    hand = Hand({"a": 3, "b": 3}, threads=4)
    hand.add("a", count=5)
    hand.add("b", count=5)

    assert len(hand.take(10)) == 4


def test_a_worker_that_starts_says_how_many_threads_there_are() -> None:
    hand = Hand({"a": None}, threads=8)

    hand.turns.start(32)

    assert hand.turns.slots("a") == 8


def test_sources_take_turns() -> None:
    hand = Hand({"a": 3, "b": 3})
    hand.add("a", count=3)
    hand.add("b", count=3)

    assert [d.source for d in hand.take(6)] == ["a", "b", "a", "b", "a", "b"]


def test_a_stuck_source_leaves_the_others_their_turns() -> None:
    hand = Hand({"a": 1, "b": 1})
    hand.add("a", count=2)
    hand.add("b", count=3)
    hand.take(2)  # a's is never ended

    for delivery in (2, 3):
        assert hand.take() == []
        hand.end(next(d for d in hand.turns._sources["b"].in_hand), Settled())
        assert [d.source for d in hand.take()] == ["b"], delivery


def test_discover_goes_before_images() -> None:
    hand = Hand({"a": 2})
    hand.add(count=1)
    hand.add(task=a_discover_task(source="a"))

    assert [d.lane for d in hand.take(2)] == ["a.discover", "a.image"]


def test_every_eighth_turn_goes_to_the_other_lanes() -> None:
    hand = Hand({"a": 30}, threads=40)
    hand.add(count=10)
    hand.add(count=20, task=a_discover_task(source="a"))
    lanes = [d.lane for d in hand.take(24)]

    assert [place for place, lane in enumerate(lanes) if lane == "a.image"][:3] == [7, 15, 22]


def test_a_rested_source_hands_nothing_on_until_its_time() -> None:
    hand = Hand({"a": 2})
    hand.add(count=3)
    (first,) = hand.take()
    hand.end(first, ToHead(rest_s=4.0))
    hand.clock.advance(3.9)

    assert hand.take() == []
    hand.clock.advance(0.1)
    assert tags(hand.take()) == [1]


def test_what_goes_to_the_head_runs_again_first() -> None:
    hand = Hand({"a": 1})
    hand.add(count=3)
    (first,) = hand.take()
    hand.end(first, ToHead())

    assert tags(hand.take()) == [1]


def test_what_goes_to_the_head_is_handed_on_as_a_new_delivery_of_the_same_message() -> None:
    hand = Hand({"a": 1})
    hand.add()
    (first,) = hand.take()
    hand.end(first, ToHead())
    (second,) = hand.take()

    assert second is not first
    assert (second.outcome, second.origin) == (None, first.origin)


def test_deliveries_that_go_back_keep_their_order() -> None:
    hand = Hand({"a": 3})
    hand.add(count=4)
    first, second, third = hand.take(3)
    hand.end(second, ToHead())
    hand.end(first, ToHead())
    hand.end(third, ToHead())

    for expected in (1, 2, 3, 4):
        (delivery,) = hand.take()
        assert delivery.origin.tag == expected
        hand.end(delivery, Settled())


def test_after_a_rest_one_goes_at_a_time() -> None:
    hand = Hand({"a": 3})
    hand.add(count=4)
    (first,) = hand.take()
    hand.end(first, ToHead())

    assert len(hand.take(3)) == 1


def test_a_prompt_end_of_that_one_opens_the_source() -> None:
    hand = Hand({"a": 3})
    hand.add(count=4)
    (first,) = hand.take()
    hand.end(first, ToHead())
    (probe,) = hand.take()
    hand.end(probe, Settled(prompt=True))

    assert len(hand.take(3)) == 3


def test_an_end_that_had_to_wait_keeps_it_at_one() -> None:
    hand = Hand({"a": 3})
    hand.add(count=4)
    (first,) = hand.take()
    hand.end(first, ToHead())
    (probe,) = hand.take()
    hand.end(probe, Settled(prompt=False))

    assert len(hand.take(3)) == 1


def test_a_grant_at_once_opens_the_source_before_the_end() -> None:
    hand = Hand({"a": 3})
    hand.add(count=4)
    (first,) = hand.take()
    hand.end(first, ToHead())
    (probe,) = hand.take()
    probe.prompt = True
    hand.turns.granted(probe)

    assert len(hand.take(3)) == 2


def test_a_grant_that_had_to_wait_lets_the_next_one_try_while_it_runs() -> None:
    hand = Hand({"a": 3})
    hand.add(count=4)
    (first,) = hand.take()
    hand.end(first, ToHead())
    (probe,) = hand.take()
    probe.prompt = False
    hand.turns.granted(probe)

    assert len(hand.take(3)) == 1


def test_another_deliverys_end_does_not_open_the_source() -> None:
    hand = Hand({"a": 3})
    hand.add(count=5)
    early, first = hand.take(2)
    hand.end(first, ToHead())
    hand.take()
    hand.end(early, Settled(prompt=True))

    assert hand.take() == []


def test_an_end_without_outcome_puts_nothing_back() -> None:
    hand = Hand({"a": 1})
    hand.add()
    (first,) = hand.take()
    hand.end(first, None)

    assert hand.turns.buffered("a") == 0


def test_a_foreign_delivery_frees_its_slot_but_never_returns() -> None:
    hand = Hand({"a": 1})
    hand.add()
    (first,) = hand.take()
    hand.end(first, ToHead(), keep=False)

    assert (hand.turns.in_hand("a"), hand.turns.buffered("a")) == (0, 0)


def test_slots_outlive_a_connection() -> None:
    hand = Hand({"a": 1})
    hand.add(count=2)
    hand.take()
    hand.turns.clear()
    hand.add()

    assert hand.take() == []


def test_a_closed_source_reports_what_was_buffered_once() -> None:
    hand = Hand({"a": 1, "b": 1})
    hand.add("a", count=2)
    hand.add("b")
    hand.turns.pause("a")

    assert tags(hand.turns.surplus()) == [1, 2]
    assert hand.turns.surplus() == []


def test_a_closed_source_wants_none_of_its_lanes() -> None:
    hand = Hand({"a": 1, "b": 1})
    hand.turns.pause("a")

    assert hand.turns.open_lanes(["a.image", "b.image"]) == {"b.image"}


def test_an_opened_source_goes_on() -> None:
    hand = Hand({"a": 1})
    hand.turns.pause("a")
    hand.turns.resume("a")
    hand.add()

    assert hand.turns.open_lanes(["a.image"]) == {"a.image"}
    assert len(hand.take()) == 1


def test_a_timed_closure_ends_by_itself_and_leaves_a_lasting_one_alone() -> None:
    hand = Hand({"a": 1, "b": 1})
    hand.turns.pause("a")
    hand.turns.close_all(5.0)
    before = hand.turns.open_lanes(["a.image", "b.image"])
    hand.clock.advance(5.0)

    assert before == set()
    assert hand.turns.open_lanes(["a.image", "b.image"]) == {"b.image"}


# --- blocks and pauses ---


@pytest.mark.parametrize("outcome", [ToHead(shut_s=30.0), Settled(shut_s=30.0)])
def test_a_block_that_one_run_learns_of_closes_its_source_at_once(outcome) -> None:
    hand = Hand({"a": 2, "b": 1})
    hand.add("a", count=3)
    hand.add("b")
    (first,) = hand.take()
    hand.end(first, outcome, keep=False)

    assert [d.source for d in hand.take(4)] == ["b"]
    assert tags(hand.turns.surplus()) == [2, 3]
    assert hand.turns.open_lanes(["a.image", "b.image"]) == {"b.image"}


def test_what_ends_while_its_source_is_blocked_goes_back_too() -> None:
    hand = Hand({"a": 2})
    hand.add(count=2)
    first, second = hand.take(2)
    hand.end(first, ToHead(shut_s=30.0))
    gone = tags(hand.turns.surplus())
    hand.end(second, ToHead(shut_s=29.0))

    assert (gone, tags(hand.turns.surplus())) == ([1], [2])


def test_the_longer_block_stands() -> None:
    hand = Hand({"a": 2})
    hand.add(count=2)
    first, second = hand.take(2)
    hand.end(first, Settled(shut_s=30.0))
    hand.end(second, Settled(shut_s=5.0))
    hand.clock.advance(29.0)

    assert hand.turns.open_lanes(["a.image"]) == set()


def test_after_a_block_one_is_tried_at_a_time_until_its_token_comes_at_once() -> None:
    hand = Hand({"a": 3})
    hand.add(count=1)
    (first,) = hand.take()
    hand.end(first, Settled(prompt=True, shut_s=30.0))
    hand.clock.advance(30.0)
    hand.add(count=5)
    (probe,) = tried = hand.take(5)
    probe.prompt = True
    hand.turns.granted(probe)

    assert tags(tried) == [2]
    assert len(hand.take(5)) == 2


def test_the_wait_ends_with_a_block() -> None:
    hand = Hand({"a": 1})
    hand.add()
    (first,) = hand.take()
    hand.end(first, Settled(shut_s=0.25))

    assert hand.turns.wait_s(1.0) == pytest.approx(0.25)


def test_a_pause_outlasts_a_block() -> None:
    hand = Hand({"a": 2})
    hand.add()
    (first,) = hand.take()
    hand.turns.pause("a")
    hand.end(first, Settled(shut_s=30.0))
    hand.clock.advance(1e6)

    assert hand.turns.open_lanes(["a.image"]) == set()


def test_a_block_outlasts_a_pause() -> None:
    hand = Hand({"a": 2})
    hand.add()
    (first,) = hand.take()
    hand.turns.pause("a")
    hand.end(first, Settled(shut_s=30.0))
    hand.turns.resume("a")
    before = hand.turns.open_lanes(["a.image"])
    hand.clock.advance(30.0)

    assert (before, hand.turns.open_lanes(["a.image"])) == (set(), {"a.image"})


def test_a_run_that_learns_of_a_pause_closes_its_source_at_once() -> None:
    hand = Hand({"a": 2})
    hand.add(count=2)
    (first,) = hand.take()
    hand.end(first, ToHead(shut_s=math.inf))

    assert hand.take() == []
    assert tags(hand.turns.surplus()) == [1, 2]


def test_a_runs_word_of_a_pause_that_is_over_does_not_pause_for_ever() -> None:
    """It may have begun before a person resumed the source, and end after."""
    hand = Hand({"a": 2})
    hand.add()
    (first,) = hand.take()
    hand.turns.pause("a")
    hand.turns.resume("a")
    hand.end(first, ToHead(shut_s=math.inf))
    hand.clock.advance(PAUSE_TOLD_S)

    assert hand.turns.open_lanes(["a.image"]) == {"a.image"}


def test_a_runs_word_of_a_pause_does_not_shorten_it() -> None:
    hand = Hand({"a": 2})
    hand.add()
    (first,) = hand.take()
    hand.turns.pause("a")
    hand.end(first, ToHead(shut_s=math.inf))
    hand.clock.advance(1e6)

    assert hand.turns.open_lanes(["a.image"]) == set()


def test_a_pause_of_a_source_that_the_settings_lack_is_no_error() -> None:
    hand = Hand({"a": 1})
    hand.turns.pause("gone")
    hand.turns.resume("gone")
    hand.add()

    assert len(hand.take()) == 1


def test_a_join_that_learns_of_its_sources_block_closes_that_source_and_no_joins() -> None:
    hand = Hand({"a": 1, "headrace": 2})
    hand.add(task=a_verify_task("1", source="a"))
    (join,) = hand.take()
    hand.end(join, Settled(shut_s=30.0))

    assert hand.turns.open_lanes(["a.image", "headrace.verify"]) == {"headrace.verify"}


def test_while_all_is_closed_nothing_is_handed_on_and_everything_goes_back() -> None:
    hand = Hand({"a": 1, "b": 1})
    hand.add("a")
    hand.add("b")
    hand.turns.close_all(60.0)

    assert hand.take(2) == []
    assert sorted(tags(hand.turns.surplus())) == [1, 2]
    assert hand.turns.wait_s(100.0) == pytest.approx(60.0)


def test_opening_all_leaves_a_blocked_and_a_paused_source_closed() -> None:
    hand = Hand({"a": 1, "b": 1, "c": 1})
    hand.add("a")
    (first,) = hand.take()
    hand.turns.close_all(60.0)
    hand.end(first, Settled(shut_s=30.0))
    hand.turns.pause("b")
    hand.turns.open_all()

    assert hand.turns.open_lanes(["a.image", "b.image", "c.image"]) == {"c.image"}


# --- what goes back ---


def test_what_waits_for_tokens_alone_does_not_go_back() -> None:
    """Half a request a second and sixty slots: the buffer lasts two minutes, and nothing of it
    circulates."""
    hand = Hand({"a": 60}, threads=64)
    hand.add(count=61)
    (probe,) = hand.take()
    gone = []
    for _ in range(60):
        hand.end(probe, ToHead(rest_s=0.5))
        hand.clock.advance(1.0)
        (probe,) = hand.take(2)
        hand.clock.advance(1.0)
        gone += hand.turns.surplus()
        probe.prompt = False
        hand.end(probe, Settled(prompt=False))
        (probe,) = hand.take(2)

    assert gone == []


def test_what_waits_behind_slots_that_come_free_now_and_then_does_not_go_back() -> None:
    hand = Hand({"a": 1})
    hand.add(count=4)
    for _ in range(3):
        (running,) = hand.take()
        hand.clock.advance(STALE_S - 1)

        assert hand.turns.surplus() == []
        hand.end(running, Settled())


def test_what_waits_for_a_thread_for_a_minute_goes_back_though_its_slots_are_free() -> None:
    hand = Hand({"a": 1, "b": 1, "c": 1}, threads=2)
    for source in ("a", "b", "c"):
        hand.add(source)
    hand.take(2)
    hand.clock.advance(STALE_S)

    assert tags(hand.turns.surplus()) == [3]


def test_what_was_buffered_for_a_minute_goes_back_with_its_whole_lane() -> None:
    hand = Hand({"a": 1})
    hand.add(count=2)
    hand.take()
    hand.clock.advance(STALE_S - 1)
    hand.add()
    hand.clock.advance(1)

    assert tags(hand.turns.surplus()) == [2, 3]
    assert hand.turns.open_lanes(["a.image", "a.discover"]) == {"a.discover"}


def test_the_lane_comes_back_when_a_slot_is_free() -> None:
    hand = Hand({"a": 1})
    hand.add(count=2)
    (first,) = hand.take()
    hand.clock.advance(STALE_S)
    hand.turns.surplus()
    hand.end(first, Settled())

    assert hand.turns.open_lanes(["a.image"]) == {"a.image"}


def test_a_message_held_for_long_goes_back_instead_of_to_the_head() -> None:
    """Its time under RabbitMQ's consumer_timeout starts anew; the lane goes on."""
    hand = Hand({"a": 1})
    hand.add(count=1)
    (first,) = hand.take()
    hand.clock.advance(LONG_HELD_S)
    hand.add()
    hand.end(first, ToHead())

    assert tags(hand.turns.surplus()) == [1]
    assert hand.turns.open_lanes(["a.image"]) == {"a.image"}
    assert tags(hand.take()) == [2]


def test_after_stop_nothing_is_handed_on_and_everything_goes_back() -> None:
    hand = Hand({"a": 1})
    hand.add(count=2)
    hand.turns.stop()

    assert hand.take() == []
    assert tags(hand.turns.surplus()) == [1, 2]
    assert hand.turns.open_lanes(["a.image"]) == set()


def test_the_wait_ends_with_a_rest() -> None:
    hand = Hand({"a": 1, "b": 1})
    hand.add()
    (first,) = hand.take()
    hand.end(first, ToHead(rest_s=0.25))

    assert hand.turns.wait_s(1.0) == pytest.approx(0.25)


def test_the_wait_has_the_limit_that_is_given() -> None:
    hand = Hand({"a": 1})
    hand.turns.pause("a")

    assert hand.turns.wait_s(1.0) == 1.0


def test_there_is_no_wait_when_a_rest_has_just_ended() -> None:
    hand = Hand({"a": 1})
    hand.add()
    (first,) = hand.take()
    hand.end(first, ToHead(rest_s=0.25))
    hand.clock.advance(0.25)

    assert hand.turns.wait_s(1.0) == 0.0


# --- videos ---


def test_a_source_hands_on_pages_then_fragments_then_images() -> None:
    hand = Hand({"a": 3})
    hand.add("a")
    hand.add(task=a_fragment_task(source="a"))
    hand.add(task=a_discover_task(source="a"))

    assert tags(hand.take(3)) == [3, 2, 1]


def test_many_fragments_leave_every_eighth_turn_to_the_others() -> None:
    hand = Hand({"a": 1})
    for piece in range(20):
        hand.add(task=a_fragment_task(piece=piece, source="a"))
    hand.add("a", count=2)

    handed = []
    for _ in range(16):
        (delivery,) = hand.take()
        handed.append(delivery.lane)
        hand.end(delivery, Settled())

    assert handed.count("a.image") == 2


def test_a_join_takes_no_slot_of_its_source() -> None:
    hand = Hand({"a": 1, "headrace": 2})
    hand.add("a", count=2)
    for number in range(3):
        hand.add(task=a_verify_task(f"{number}", source="a"))

    assert sorted(tags(hand.take(10))) == [1, 3, 4]
    assert (hand.turns.in_hand("a"), hand.turns.in_hand("headrace")) == (1, 2)


def test_joins_of_a_closed_source_go_on() -> None:
    hand = Hand({"a": 1, "headrace": 2})
    hand.add("a")
    hand.add(task=a_verify_task(source="a"))
    hand.turns.pause("a")

    assert tags(hand.take(10)) == [2]
    assert hand.turns.open_lanes(["a.image", "headrace.verify"]) == {"headrace.verify"}


def test_one_lanes_depth_can_be_asked_for() -> None:
    hand = Hand({"a": 1})
    hand.add("a", count=2)
    hand.add(task=a_fragment_task(source="a"))

    assert hand.turns.buffered("a", "a.fragment") == 1
    assert hand.turns.buffered("a") == 3


# --- a block that a person ends ---


def test_a_source_whose_block_a_person_ends_is_tried_at_once_one_at_a_time() -> None:
    hand = Hand({"a": 2})
    hand.add(count=3)
    [first] = hand.take()
    hand.end(first, ToHead(shut_s=86_400.0))
    hand.turns.unblock("a")

    assert hand.turns.open_lanes(["a.image"]) == {"a.image"}
    assert len(hand.take(2)) == 1


def test_a_pause_outlasts_the_end_of_a_block() -> None:
    hand = Hand({"a": 2})
    hand.add()
    hand.turns.pause("a")
    hand.turns.unblock("a")

    assert hand.take() == []


def test_a_source_that_is_not_here_can_be_unblocked_by_others() -> None:
    Hand({"a": 2}).turns.unblock("b")
