from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from dramatiq import Broker

from core import errors
from core.cli.stranding import GIVE_UP_S, NO_ANSWER, REFUSED_S, REFUSES, Stranding
from core.cli.switching import Typed
from core.model.request import Asked
from core.steps.run import Run
from tests.support.clock import FakeClock
from tests.support.queue import a_delivery
from tests.support.tasks import a_run, a_verify_task, an_image_task

BY_A_PERSON = "it is paused (by a person) until `headrace resume mill --store pictures`"


@dataclass
class World:
    """Sources that are paused or blocked, and what ends and runs in them."""

    clock: FakeClock = field(default_factory=FakeClock)
    paused: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, float] = field(default_factory=dict)
    running: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stranding = Stranding(
            self.clock,
            self.paused.get,
            lambda source: self.blocked.get(source, 0.0),
            resume=partial(Typed(Path("pictures")), "resume"),
        )

    def ends(self, source: str, exception: BaseException | None) -> None:
        delivery = a_delivery(an_image_task(source=source))
        self.stranding.after_process_message(Broker(), delivery, exception=exception)

    def look(self, *open_sources: str) -> dict[str, str]:
        return self.stranding.left(dict.fromkeys(open_sources, 3), self.running)

    def after(self, seconds: float, *open_sources: str) -> dict[str, str]:
        """Looked at, waited, looked at again."""
        self.look(*open_sources)
        self.clock.advance(seconds)
        return self.look(*open_sources)


@pytest.fixture
def world() -> World:
    return World()


def shut(world: World, source: str = "mill") -> None:
    world.ends(source, errors.Unreachable("refused"))
    world.blocked[source] = 5.0


def test_a_run_with_nothing_but_a_paused_source_ends(world: World):
    world.paused["mill"] = "the cookie expired"

    assert world.after(GIVE_UP_S - 1, "mill") == {}
    assert world.after(1, "mill") == {
        "mill": "it is paused (the cookie expired) until `headrace resume mill --store pictures`"
    }


def test_as_long_as_another_source_goes_on_nothing_is_left(world: World):
    world.paused["mill"] = "the cookie expired"

    assert world.after(GIVE_UP_S * 10, "mill", "press") == {}


def test_the_time_begins_anew_when_a_source_went_on(world: World):
    world.paused["mill"] = "the cookie expired"
    world.after(GIVE_UP_S - 1, "mill")
    del world.paused["mill"]
    world.look("mill")
    world.paused["mill"] = "again"

    assert world.after(GIVE_UP_S - 1, "mill") == {}


def test_nothing_open_is_no_reason_to_give_up(world: World):
    assert world.after(GIVE_UP_S) == {}


@pytest.mark.parametrize(
    "error",
    [errors.Unreachable("refused"), errors.Timeout("silence"), errors.ServerTrouble("502")],
)
def test_a_source_that_is_shut_because_nobody_answers_is_left(world: World, error: Exception):
    world.ends("mill", error)
    world.blocked["mill"] = 5.0

    assert world.after(GIVE_UP_S, "mill") == {"mill": NO_ANSWER}


def test_a_probe_between_two_blocks_does_not_begin_the_time_anew(world: World):
    shut(world)
    world.after(GIVE_UP_S - 1, "mill")
    world.blocked["mill"] = 0.0
    world.look("mill")
    world.ends("mill", errors.Unreachable("refused"))

    assert world.after(1, "mill") == {"mill": NO_ANSWER}


def test_one_broken_address_is_left_to_its_attempts(world: World):
    world.ends("mill", errors.Unreachable("refused"))

    assert world.after(GIVE_UP_S * 2, "mill") == {}


def test_a_machine_that_is_offline_needs_no_block(world: World):
    world.ends("mill", errors.Offline("nothing can be reached"))

    assert world.after(GIVE_UP_S, "mill") == {"mill": NO_ANSWER}


def test_of_many_hosts_one_that_is_shut_counts_while_no_other_answers(world: World):
    world.ends("mill", errors.HostBusy("its tokens are spent"))
    alive = world.after(GIVE_UP_S, "mill")
    world.ends("mill", errors.Unreachable("refused"))
    world.ends("mill", errors.HostBusy("it is shut"))

    assert alive == {}
    assert world.after(GIVE_UP_S, "mill") == {"mill": NO_ANSWER}


@pytest.mark.parametrize(
    "ending",
    [
        None,
        errors.Gone("404"),
        errors.Throttled("429", delay_s=600.0),
        errors.Truncated("cut"),
    ],
)
def test_any_answer_gives_hope(world: World, ending: Exception | None):
    shut(world)
    world.after(GIVE_UP_S - 1, "mill")
    world.ends("mill", ending)

    assert world.after(GIVE_UP_S, "mill") == {}


def test_a_file_that_stopped_in_its_middle_was_an_answer(world: World):
    shut(world)
    error = errors.Timeout("silence after 1 MB")
    error.asked = Asked("mill.example", "mill", 0, answered=True)
    world.ends("mill", error)

    assert world.after(GIVE_UP_S, "mill") == {}


@pytest.mark.parametrize(
    "ending",
    [
        errors.SourceBlocked("wait", delay_s=5.0),
        errors.Released("stopped"),
        errors.StorageDown("x"),
    ],
)
def test_what_made_no_request_changes_nothing(world: World, ending: Exception):
    shut(world)
    world.look("mill")
    world.ends("mill", ending)

    assert world.after(GIVE_UP_S, "mill") == {"mill": NO_ANSWER}


def test_bytes_that_come_are_an_answer(world: World):
    shut(world)
    run = a_run(an_image_task(source="mill"))
    world.running.append(run)
    world.after(GIVE_UP_S - 1, "mill")
    run.bytes_read += 1000

    assert world.after(GIVE_UP_S, "mill") == {}


# --- what is in hand ---


def test_a_paused_source_is_waited_for_while_a_run_of_it_is_in_hand(world: World):
    world.paused["mill"] = "by a person"
    world.running.append(a_run(an_image_task(source="mill")))
    in_hand = world.after(GIVE_UP_S * 10, "mill")
    world.running.clear()

    assert in_hand == {}
    assert world.after(GIVE_UP_S, "mill") == {"mill": BY_A_PERSON}


def test_the_run_of_another_source_is_none_of_a_paused_ones(world: World):
    world.paused["mill"] = "by a person"
    world.running.append(a_run(an_image_task(source="press")))

    assert world.after(GIVE_UP_S, "mill") == {"mill": BY_A_PERSON}


@pytest.mark.parametrize("what", ["a file that stalls", "a join"])
def test_a_source_where_nobody_answers_is_waited_for_while_something_of_it_is_under_way(
    world: World, what: str
):
    run = a_run(a_verify_task(source="mill") if what == "a join" else an_image_task(source="mill"))
    world.running.append(run)
    run.bytes_read = 0 if what == "a join" else 1000
    world.look("mill")
    shut(world)

    assert world.after(GIVE_UP_S * 2, "mill") == {}


def test_a_probe_without_an_answer_is_not_waited_for(world: World):
    shut(world)
    world.running.append(a_run(an_image_task(source="mill")))

    assert world.after(GIVE_UP_S, "mill") == {"mill": NO_ANSWER}


# --- nothing but «slower» ---


def throttled(delay_s: float, *, of_host: bool = False) -> errors.HeadraceError:
    if of_host:
        return errors.HostBusy("429", delay_s=delay_s, reason=errors.Throttled.reason)
    return errors.Throttled("429", delay_s=delay_s)


def refuses(world: World, wait_s: float, times: int, *, of_host: bool = False) -> None:
    """Asked each time that its wait is over."""
    for _ in range(times):
        world.ends("mill", throttled(wait_s, of_host=of_host))
        world.look("mill")
        world.clock.advance(wait_s + 1)


@pytest.mark.parametrize("of_host", [True, False])
def test_a_source_that_only_ever_says_slower_is_left(world: World, of_host: bool):
    refuses(world, 60.0, times=9, of_host=of_host)

    assert world.after(GIVE_UP_S, "mill") == {"mill": REFUSES}


def left_at(world: World, wait_s: float) -> float | None:
    """When a source is left that says «slower» whenever it is asked, for so long each time."""
    began = world.clock.monotonic()
    asked_at = began
    while (now := world.clock.monotonic()) < began + 10 * 3600:
        if now >= asked_at:
            world.ends("mill", throttled(wait_s))
            asked_at = now + wait_s + 1
        if world.look("mill"):
            return now - began
        world.clock.advance(5.0)
    return None


@pytest.mark.parametrize("wait_s", [1.0, 30.0, 300.0, 3600.0])
def test_it_is_waited_for_ten_minutes_beyond_the_wait_that_it_named(world: World, wait_s: float):
    assert left_at(world, wait_s) == pytest.approx(wait_s + REFUSED_S + GIVE_UP_S, abs=6.0)


def test_a_source_that_nobody_asked_again_is_not_left(world: World):
    """Its own rate may keep its tasks waiting for that long."""
    world.ends("mill", throttled(1.0))
    world.ends("mill", throttled(1.0))

    assert world.after(7200.0, "mill") == {}
    assert world.after(7200.0, "mill") == {}


def test_as_long_as_it_said_it_is_waited_for_whatever_that_is(world: World):
    world.ends("mill", throttled(86_400.0))
    world.ends("mill", throttled(86_399.0))  # the same event

    assert world.after(86_400.0, "mill") == {}


def test_after_any_good_answer_its_time_begins_anew(world: World):
    refuses(world, 60.0, times=9)
    world.ends("mill", None)
    refuses(world, 60.0, times=2)

    assert world.after(GIVE_UP_S, "mill") == {}


def test_a_host_whose_tokens_are_spent_refuses_nobody(world: World):
    for _ in range(20):
        world.ends("mill", errors.HostBusy("its turn is later", delay_s=60.0))
        world.clock.advance(61.0)

    assert world.after(GIVE_UP_S, "mill") == {}


def test_a_source_that_refuses_holds_no_other_up_and_is_not_left_before(world: World):
    refuses(world, 60.0, times=9)

    assert world.after(GIVE_UP_S * 2, "mill", "press") == {}
