from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from dramatiq import Broker

from core import errors
from core.cli.stranding import GIVE_UP_S, NO_ANSWER, Stranding
from core.model.request import Asked
from core.steps.run import Run
from tests.support.clock import FakeClock
from tests.support.queue import a_delivery
from tests.support.tasks import a_run, an_image_task


@dataclass
class World:
    """Sources that are paused or blocked, and what ends and runs in them."""

    clock: FakeClock = field(default_factory=FakeClock)
    paused: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, float] = field(default_factory=dict)
    running: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stranding = Stranding(
            self.clock, self.paused.get, lambda source: self.blocked.get(source, 0.0)
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
    assert world.after(1, "mill") == {"mill": "it is paused (the cookie expired)"}


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
