"""The budget's bench measures what it says it measures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fetch.inspect import inspect
from scripts.bench.budget_proofs.answers import Asked, Shown
from scripts.bench.budget_proofs.bound import Terms, Traffic, judge, used
from scripts.bench.budget_proofs.depths import HIGH, LOW, Samples
from scripts.bench.budget_proofs.exact import overtaken
from scripts.bench.budget_proofs.host_server import Arrival
from scripts.bench.budget_proofs.recording import Said, grants
from scripts.bench.budget_proofs.rows import Row, table
from scripts.bench.budget_proofs.windows import MICRO, rate_of, tightest, within

ADDRESS = "http://127.0.0.1:1"


def over(ticks: list[int], rate: float, burst: float, slack_s: float = 0.0) -> float:
    """With ticks of a millisecond."""
    found = tightest(ticks, rate=rate, burst=burst, ticks_per_s=1000, slack_s=slack_s)
    return float(found.over)


# --- windows ---


def test_an_even_stream_at_its_rate_stays_within_a_burst_of_one():
    assert over(list(range(0, 10_000, 500)), rate=2.0, burst=1) == 0.0


def test_one_event_a_tick_early_is_seen():
    ticks = [0, 500, 1000, 1499]

    assert over(ticks, rate=2.0, burst=1) == pytest.approx(0.002)


def test_a_burst_after_silence_is_allowed_up_to_its_size():
    assert over([0, 60_000, 60_000, 60_000], rate=1.0, burst=3) == 0.0


def test_a_burst_that_is_one_too_large_is_over_by_one():
    assert over([0, 60_000, 60_000, 60_000, 60_000], rate=1.0, burst=3) == 1.0


def test_a_burst_in_the_middle_of_a_stream_is_found_with_its_window():
    stream = sorted([*range(0, 20_000, 1000), 9_500, 9_500, 9_500])

    found = tightest(stream, rate=1.5, burst=2, ticks_per_s=1000)

    assert (found.count, found.seconds, float(found.over)) == (5, 1.0, 1.5)


def test_slack_allows_for_the_way_there():
    assert over([0, 490], rate=2.0, burst=1, slack_s=0.25) == pytest.approx(-0.48)


def test_nothing_is_within_every_bound():
    assert over([], rate=1.0, burst=3) == -3.0


@given(
    st.lists(st.integers(0, 5_000), max_size=30).map(sorted),
    st.sampled_from([0.5, 1.0, 3.0, 7.25]),
    st.integers(1, 5),
)
def test_the_worst_of_all_windows_is_found(ticks: list[int], rate: float, burst: int):
    """Against a look at every window there is."""
    worst = max(
        (
            last - first + 1 - burst - rate * (ticks[last] - ticks[first]) / 1000
            for first in range(len(ticks))
            for last in range(first, len(ticks))
        ),
        default=-burst,
    )

    assert over(ticks, rate, burst) == pytest.approx(worst, abs=1e-9)


def test_times_of_today_lose_no_microsecond():
    now = 1_800_000_000_000_000
    ticks = [now + n * 2500 for n in range(100_000)]

    exact = tightest(ticks, rate=400.0, burst=1, ticks_per_s=MICRO)
    early = tightest([*ticks[:-1], ticks[-1] - 1], rate=400.0, burst=1, ticks_per_s=MICRO)

    assert exact.over == 0
    assert float(early.over) == pytest.approx(400e-6)


def test_a_rate_is_free_of_the_windows_ends():
    assert rate_of([100, 600, 1100], ticks_per_s=1000) == 2.0


def test_rounds_are_counted_whole():
    rounds = [at for at in range(0, 3500, 500) for _ in range(10)]

    assert rate_of(rounds, ticks_per_s=1000, rounds=10) == 20.0


@pytest.mark.parametrize("ticks", [[], [5], [5, 5]])
def test_no_rate_is_told_of_a_moment(ticks: list[int]):
    assert rate_of(ticks, ticks_per_s=1000) == 0.0


def test_what_lies_between_two_moments_includes_both():
    assert within([1, 2, 3, 4, 5], 2, 4) == [2, 3, 4]


# --- the bound ---


def arrival(granted_us: int, way_us: int) -> Arrival:
    at_ns = (granted_us + way_us) * 1000
    return Arrival(at_ns=at_ns, wall_ns=at_ns, path="/a/image/1.jpg", granted_us=granted_us)


def test_arrivals_may_come_together_by_what_their_ways_differ():
    moments = [n * 100_000 for n in range(20)]
    late = Traffic(moments, [arrival(at, 90_000 if at < 500_000 else 10_000) for at in moments])

    judged = judge(late, Terms(10.0, 1))

    assert judged.spread_s == pytest.approx(0.08)
    assert judged.arrivals_over <= 0.0
    assert judged.held


def test_a_request_without_a_grant_is_not_held():
    judged = judge(Traffic([0, 100_000], [arrival(0, 5), arrival(7, 5)]), Terms(10.0, 1))

    assert judged.unpaid == 1
    assert not judged.held


def test_a_grant_that_pays_for_two_requests_is_not_held():
    judged = judge(Traffic([0], [arrival(0, 5), arrival(0, 9)]), Terms(10.0, 5))

    assert judged.unpaid == 1


def test_a_grant_too_many_is_not_held():
    assert not judge(Traffic([0, 0], [arrival(0, 5)]), Terms(10.0, 1)).held


def test_a_run_without_a_grant_proves_nothing():
    assert not judge(Traffic([], []), Terms(10.0, 1)).held


def test_use_is_the_share_of_what_was_possible():
    moments = [n * 125_000 for n in range(100)]

    assert used(moments, 1_000_000, 9_000_000, possible=10.0, rounds=1) == pytest.approx(0.8)


# --- what workers write down ---


def test_grants_are_read_from_all_workers_in_order(tmp_path: Path):
    (tmp_path / "1.answers").write_text("30 a granted 0 t1\n10 a reserved 5 t1\n")
    (tmp_path / "2.answers").write_text("20 a granted 0 t2\n25 b granted 0 t3\n")

    assert grants(tmp_path, "a") == [20, 30]


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path):
    (tmp_path / "1.answers").write_text("30 a granted 0 t1\n40 a gran")

    assert grants(tmp_path, "a") == [30]


def test_an_answer_is_read_as_it_was_written():
    assert Said.read("30 a/host denied 7 t1\n") == Said(30, "a/host", "denied", 7, "t1")


def test_a_token_that_another_one_overtook_is_counted():
    asked = [
        Said(1, "a", "reserved", 9, "first"),
        Said(2, "a", "reserved", 9, "second"),
        Said(3, "b", "reserved", 9, "third"),
        Said(10, "a", "granted", 0, "second"),
        Said(11, "b", "granted", 0, "third"),
        Said(12, "a", "granted", 0, "first"),
    ]

    assert overtaken(asked) == 1
    assert overtaken(asked[:-1]) == 0


def test_a_wait_that_is_told_anew_keeps_its_place():
    asked = [
        Said(1, "a", "reserved", 9, "first"),
        Said(2, "a", "reserved", 9, "second"),
        Said(3, "a", "reserved", 9, "first"),
        Said(4, "a", "granted", 0, "first"),
        Said(5, "a", "granted", 0, "second"),
    ]

    assert overtaken(asked) == 0


# --- depths ---


def test_a_source_goes_on_when_its_depth_rises_past_the_mark_again():
    assert Samples([0, HIGH + 1, LOW + 5, HIGH + 1, LOW - 1, HIGH + 9]).resumed() == 1


# --- the host ---


def page(path: str) -> dict[str, object]:
    return json.loads(Shown().find(Asked.read(path), ADDRESS).content)


def test_a_feed_names_its_next_page_until_the_last():
    first = page("/a/feed/run/2/3/image/1.json")
    last = page("/a/feed/run/2/3/image/2.json")

    assert first["next_url"] == f"{ADDRESS}/a/feed/run/2/3/image/2.json"
    assert "next_url" not in last


def test_no_item_is_on_two_pages():
    pages = [page(f"/a/feed/run/3/4/image/{n}.json") for n in (1, 2, 3)]
    items = [item["id"] for one in pages for item in one["items"]]

    assert len(set(items)) == 12


def test_a_mixed_feed_has_everything_that_costs_a_token_of_its_own():
    items = page("/a/feed/run/1/60/mix/1.json")["items"]
    kinds = {item["attachments"][0]["url"].split("/")[4] for item in items}

    assert kinds == {"image", "moved", "cut", "video"}


def test_a_picture_passes_the_crawlers_own_check(tmp_path: Path):
    file = tmp_path / "image"
    file.write_bytes(Shown().find(Asked.read("/a/image/1.jpg"), ADDRESS).content)

    assert inspect(file).type == "image/jpeg"


def test_two_pictures_differ():
    shown = Shown()
    one, other = (shown.find(Asked.read(f"/a/image/{n}.jpg"), ADDRESS).content for n in (1, 2))

    assert one != other


def test_a_cut_picture_is_whole_when_it_is_asked_for_again():
    shown = Shown()
    first, second = (shown.find(Asked.read("/a/cut/1.jpg"), ADDRESS) for _ in range(2))

    assert first.cut_at is not None
    assert second.cut_at is None


def test_a_moved_picture_is_where_its_redirect_leads():
    shown = Shown()
    moved = shown.find(Asked.read("/a/moved/1.jpg"), ADDRESS)

    assert moved.status == 302
    assert shown.find(Asked.read(str(moved.location)), ADDRESS).content_type == "image/jpeg"


@pytest.mark.parametrize("path", ["/a/video/v/index.m3u8", "/a/video/v/night.key"])
def test_a_video_lies_under_any_name(path: str):
    assert Shown().find(Asked.read(path), ADDRESS).status == 200


@pytest.mark.parametrize("path", ["/a/nothing", "/a/video/v/../../secret", "/a/what/ever"])
def test_what_there_is_not_is_a_404(path: str):
    assert Shown().find(Asked.read(path), ADDRESS).status == 404


def test_a_film_has_as_many_pieces_as_its_address_says():
    manifest = Shown().find(Asked.read("/a/film/f/18000/index.m3u8"), ADDRESS).content

    assert manifest.count(b".ts") == 18_000


# --- the table ---


def test_a_promise_that_does_not_hold_stands_out():
    told = table([Row(1, "it holds", "1", held=True), Row(2, "it does not", "2", held=False)])

    assert told.splitlines()[1].endswith("yes")
    assert told.splitlines()[2].endswith("NO")
