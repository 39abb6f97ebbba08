from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.errors import BrokerDown
from core.queue.confirms import Confirms, Window
from core.queue.envelope import Outgoing

LOST = BrokerDown("gone")


def messages(count, lane="feed.image"):
    return [Outgoing("", lane, str(number).encode(), None) for number in range(count)]


def window(count, lane="feed.image", at=0.0):
    return Window(messages(count, lane), at)


def sent(confirms):
    return [int(message.body) for message in confirms.to_send()]


def test_a_window_ends_only_with_its_last_confirm():
    confirms, one = Confirms(), window(3)
    confirms.add(one)
    sent(confirms)
    confirms.confirm(1, multiple=False)
    confirms.confirm(3, multiple=False)
    assert not one.ended.is_set()

    confirms.confirm(2, multiple=False)

    assert one.ended.is_set()
    assert one.error is None


def test_one_confirm_may_stand_for_all_before_it():
    confirms, one = Confirms(), window(3)
    confirms.add(one)
    sent(confirms)
    confirms.confirm(3, multiple=True)

    assert one.ended.is_set()


def test_a_long_window_holds_up_no_short_one():
    confirms = Confirms(in_flight=4)
    confirms.add(window(100))
    confirms.add(window(2))

    assert sent(confirms) == [0, 0, 1, 1]


def test_no_more_is_out_than_the_limit():
    confirms = Confirms(in_flight=2)
    confirms.add(window(5))
    assert sent(confirms) == [0, 1]
    assert sent(confirms) == []

    confirms.confirm(1, multiple=False)

    assert sent(confirms) == [2]


def test_a_refusal_says_that_the_queue_is_full_and_spares_the_neighbour():
    confirms, full, other = Confirms(), window(1, "feed.image"), window(1, "press.image")
    confirms.add(full)
    confirms.add(other)
    sent(confirms)
    confirms.refuse(1, multiple=False)
    confirms.confirm(2, multiple=False)

    assert full.error is not None
    assert full.error.reason == "queue_full"
    assert "feed.image" in str(full.error)
    assert other.error is None


def test_what_is_left_of_a_failed_window_is_not_sent():
    confirms = Confirms(in_flight=1)
    confirms.add(window(5))
    sent(confirms)
    confirms.refuse(1, multiple=False)

    assert sent(confirms) == []
    assert not confirms.waiting


def test_a_returned_message_fails_its_window_although_it_is_confirmed():
    confirms, one = Confirms(), window(1)
    confirms.add(one)
    sent(confirms)
    confirms.returned("", "feed.image")
    confirms.confirm(1, multiple=False)

    assert one.error is not None
    assert one.error.reason == "unroutable"


def test_a_lost_connection_fails_what_was_begun_and_keeps_the_rest():
    confirms = Confirms(in_flight=1)
    begun, untouched = window(3), window(1)
    confirms.add(begun)
    confirms.add(untouched)
    sent(confirms)
    confirms.lost(LOST)

    assert begun.error is LOST
    assert not untouched.ended.is_set()
    assert sent(confirms) == [0]


def test_tags_start_anew_on_the_next_channel():
    confirms, one = Confirms(), window(1)
    confirms.add(window(2))
    sent(confirms)
    confirms.lost(LOST)
    confirms.add(one)
    sent(confirms)
    confirms.confirm(1, multiple=False)

    assert one.ended.is_set()
    assert one.error is None


def test_patience_ends_for_those_who_waited_longest():
    confirms, old, new = Confirms(), window(1, at=0.0), window(1, at=9.0)
    confirms.add(old)
    confirms.add(new)
    confirms.give_up(LOST, submitted_before=5.0)

    assert old.error is LOST
    assert not new.ended.is_set()


def test_a_first_error_stands():
    one = window(1)
    one.fail(LOST)
    one.fail(BrokerDown("later"))

    assert one.error is LOST


def test_a_late_confirm_of_an_unknown_tag_is_ignored():
    confirms = Confirms()
    confirms.confirm(7, multiple=False)
    confirms.refuse(7, multiple=True)

    assert not confirms.waiting


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 8))
def test_everything_goes_out_once_and_in_its_windows_order(sizes, limit):
    confirms = Confirms(in_flight=limit)
    for number, size in enumerate(sizes):
        confirms.add(window(size, f"s{number}.image"))
    out: list[tuple[str, int]] = []
    tag = 0
    while confirms.waiting:
        out += [(message.routing_key, int(message.body)) for message in confirms.to_send()]
        tag += 1
        confirms.confirm(tag, multiple=False)

    for number, size in enumerate(sizes):
        assert [n for lane, n in out if lane == f"s{number}.image"] == list(range(size))


class Windows(RuleBasedStateMachine):
    """Whatever comes in whatever order: a window ends well only when each of its messages was
    confirmed, and no window is forgotten."""

    def __init__(self):
        super().__init__()
        self.confirms = Confirms(in_flight=3)
        self.all: list[Window] = []
        self.owner: dict[int, tuple[Window, int]] = {}
        self.safe: dict[int, set[int]] = {}
        self.size: dict[int, int] = {}
        self.tag = 0

    @rule(size=st.integers(1, 5))
    def hand_over(self, size):
        new = window(size, f"s{len(self.all)}.image")
        self.all.append(new)
        self.size[id(new)] = size
        self.safe[id(new)] = set()
        self.confirms.add(new)

    @rule()
    def send(self):
        for message in self.confirms.to_send():
            self.tag += 1
            owner = self.all[int(message.routing_key.partition(".")[0][1:])]
            self.owner[self.tag] = (owner, int(message.body))

    @rule(data=st.data(), several=st.booleans())
    def confirm(self, data, several):
        if not self.owner:
            return
        tag = data.draw(st.sampled_from(sorted(self.owner)))
        for known in [t for t in self.owner if t == tag or (several and t < tag)]:
            owner, number = self.owner.pop(known)
            self.safe[id(owner)].add(number)
        self.confirms.confirm(tag, multiple=several)

    @rule(data=st.data())
    def refuse(self, data):
        if self.owner:
            tag = data.draw(st.sampled_from(sorted(self.owner)))
            self.owner.pop(tag)
            self.confirms.refuse(tag, multiple=False)

    @rule()
    def lose(self):
        self.confirms.lost(LOST)
        self.owner.clear()
        self.tag = 0

    @invariant()
    def only_what_is_safe_ended_well(self):
        for one in self.all:
            complete = len(self.safe[id(one)]) == self.size[id(one)]
            if one.ended.is_set() and one.error is None:
                assert complete
            if complete:
                assert one.ended.is_set()

    def teardown(self):
        self.confirms.lost(LOST)
        self.confirms.give_up(LOST)
        assert all(one.ended.is_set() for one in self.all)


TestWindows = Windows.TestCase
