import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.task import Kind
from core.queue import lanes


@given(st.from_regex(r"[a-z0-9_-]{1,40}", fullmatch=True), st.sampled_from(Kind))
def test_a_lane_splits_into_what_it_was_made_of(source, kind):
    owner = lanes.HEADRACE if kind is Kind.VERIFY else source
    assert lanes.split_lane(lanes.lane(source, kind)) == (owner, kind)


@pytest.mark.parametrize("name", ["headrace", ".image", "feed.dead", "feed.", ""])
def test_another_name_is_no_lane(name):
    with pytest.raises(ValueError, match=r"no lane|not a valid Kind"):
        lanes.split_lane(name)


@given(st.floats(min_value=1, max_value=10**7))
def test_the_longest_delay_never_overshoots_and_none_longer_fits(remaining_s):
    chosen = lanes.longest_delay(remaining_s)

    assert chosen <= remaining_s + lanes.LATE_S
    assert not [s for s in lanes.DELAYS_S if chosen < s <= remaining_s]


@pytest.mark.parametrize(("wait_s", "rounds"), [(5, 1), (30, 2), (120, 2), (86_400, 4)])
def test_a_wait_takes_few_rounds_although_each_takes_some_milliseconds(wait_s, rounds):
    left_s, taken = float(wait_s), 0
    while left_s > lanes.LATE_S:
        left_s -= lanes.longest_delay(left_s) + 0.005
        taken += 1

    assert taken == rounds


@pytest.mark.parametrize("remaining_s", [0.0, 0.2, -5.0])
def test_less_than_the_shortest_delay_takes_the_shortest(remaining_s):
    assert lanes.longest_delay(remaining_s) == 1


def test_no_queue_that_a_delay_leads_to_has_a_length_limit():
    for queue in (lanes.lane_queue("feed.image"), lanes.dead_queue("feed")):
        assert not [name for name in queue.arguments if "max-length" in name]


def test_no_queue_of_ours_forgets_by_itself():
    forgetful = {"x-expires", "x-message-ttl"}

    assert not forgetful & set(lanes.dead_queue("feed").arguments)
    assert not forgetful & set(lanes.lane_queue("feed.image").arguments)
    assert "x-expires" not in lanes.delay_queue(5).arguments


def test_a_sources_lanes_stand_in_the_order_of_their_turns():
    kinds = [name.partition(".")[2] for name in lanes.lanes_of("feed")]
    assert kinds == ["discover", "fragment", "manifest", "image"]


def test_joins_of_all_sources_wait_in_one_lane():
    assert lanes.lane("feed", Kind.VERIFY) == lanes.lane("press", Kind.VERIFY) == "headrace.verify"
    assert lanes.lanes_of(lanes.HEADRACE) == ("headrace.verify",)


@pytest.mark.parametrize("named", [{"feed": 2}, {"feed": 2, lanes.HEADRACE: None}])
def test_the_shared_lanes_have_an_owner_whether_named_or_not(named):
    assert lanes.with_shared(named) == {"feed": 2, lanes.HEADRACE: None}
