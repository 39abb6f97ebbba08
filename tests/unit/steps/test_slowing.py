"""What a failure is in the light of its source and of this machine, and what the budget hears."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import pytest

from core import errors
from core.errors import HeadraceError
from core.fetch.connection import NO_CONNECTION
from core.model.request import Asked
from core.ports import Slowdown
from core.steps.reachability import Reachability
from core.steps.slowing import Slowing
from tests.support.budget import UNNAMED_S, OpenBudget
from tests.support.tasks import an_image_task

HOST = "pictures.example"
ASKED = Asked(HOST, "feed", era=7)
SLOWED = Slowdown(pace=0.5, blocked_s=40.0, is_news=True)


@dataclass
class World:
    """A budget, a reachability and the pauses."""

    budget: OpenBudget = field(default_factory=OpenBudget)
    reachability: Reachability = field(default_factory=Reachability)
    pauses: list[tuple[str, str]] = field(default_factory=list)
    broken: HeadraceError | None = None

    def judged(
        self, error: HeadraceError, number: int = 1, asked: Asked | None = ASKED
    ) -> HeadraceError:
        error.asked = asked
        task = an_image_task(f"https://{HOST}/{number}.jpg")
        return Slowing(self.budget, self.reachability, self._pause).judged(error, task)

    def _pause(self, source: str, reason: str) -> None:
        if self.broken is not None:
            raise self.broken
        self.pauses.append((source, reason))


@pytest.fixture
def world() -> World:
    return World()


class DownBudget(OpenBudget):
    """The shared state is away."""

    def throttled(self, *_: object, **__: object) -> Slowdown:
        raise errors.SharedStateDown("no answer")

    def failed(self, *_: object, **__: object) -> Slowdown | None:
        raise errors.SharedStateDown("no answer")


# --- «slower» ---


@pytest.mark.parametrize(("told_s", "waits_s"), [(8.0, 8.0), (0.0, 1.0), (None, UNNAMED_S)])
def test_a_throttled_task_waits_as_long_as_its_source_is_blocked(world, told_s, waits_s):
    error = world.judged(errors.Throttled("429", delay_s=told_s))

    assert isinstance(error, errors.Throttled)
    assert error.delay_s == waits_s
    assert world.budget.throttles == [("feed", 7, told_s)]


def test_one_host_of_many_that_says_slower_shuts_itself_only(world):
    asked = Asked(HOST, f"feed/{HOST}", era=7)

    error = world.judged(errors.Throttled("429", delay_s=8.0), asked=asked)

    assert isinstance(error, errors.HostBusy)
    assert (error.delay_s, error.reason) == (8.0, "throttled")
    assert world.budget.throttles == [(f"feed/{HOST}", 7, 8.0)]


def test_a_sources_own_word_for_slower_needs_no_request_to_be_known(world):
    world.judged(errors.Throttled("code -412"), asked=None)

    assert world.budget.throttles == [("feed", 0, None)]


def test_an_event_is_one_line_however_many_answers_tell_of_it(world, caplog):
    caplog.set_level(logging.WARNING)
    for number in range(64):
        world.judged(errors.Throttled("429 for /x", delay_s=8.0), number)

    assert caplog.messages == [
        "source feed is slowed to 50 % of its rate, and gets nothing for 8 s: 429 for /x"
    ]


def test_a_throttled_task_waits_also_while_the_budget_can_not_be_told(caplog):
    error = World(DownBudget()).judged(errors.Throttled("429", delay_s=8.0))

    assert error.delay_s == 8.0
    assert "was not slowed" in caplog.text


# --- trouble on the other side ---


@pytest.mark.parametrize(
    "error",
    [errors.ServerTrouble("502"), errors.Timeout("silent"), errors.Unreachable("refused")],
)
def test_trouble_is_told_with_its_task_and_stays_an_attempt(world, error):
    assert world.judged(error) is error
    task = an_image_task(f"https://{HOST}/1.jpg")
    assert world.budget.failures == [("feed", 7, task.id, 3)]


def test_trouble_of_one_host_of_many_is_told_of_that_host(world):
    world.judged(errors.ServerTrouble("502"), asked=Asked(HOST, f"feed/{HOST}", era=7))

    assert [bucket for bucket, *_ in world.budget.failures] == [f"feed/{HOST}"]


@pytest.mark.parametrize("asked", [None, Asked(HOST, "feed", 7, answered=True)])
def test_what_goes_wrong_after_a_good_answer_says_nothing_of_the_source(world, asked):
    world.judged(errors.ServerTrouble("another part of the file"), asked=asked)

    assert world.budget.failures == []


@pytest.mark.parametrize(
    "error", [errors.Gone("404"), errors.Truncated("cut"), errors.StorageDown("full")]
)
def test_other_failures_are_the_tasks_own(world, error):
    assert world.judged(error) is error
    assert world.budget.failures == []


# --- offline ---


@pytest.mark.parametrize(
    "error",
    [lambda: errors.Unreachable("refused"), lambda: errors.Timeout("lost", reason=NO_CONNECTION)],
    ids=["refused", "lost"],
)
def test_a_machine_offline_is_no_tasks_fault_and_its_source_rests(world, error):
    world.budget.slowdown = SLOWED

    told = [world.judged(error(), number) for number in range(4)]

    assert [isinstance(one, errors.Offline) for one in told] == [False, False, True, True]
    assert told[-1].delay_s == SLOWED.blocked_s
    assert [enough for *_, enough in world.budget.failures] == [3, 3, 1, 1]


def test_a_machine_offline_rests_a_source_of_many_hosts_as_a_whole(world):
    asked = Asked(HOST, f"feed/{HOST}", era=7)
    for number in range(3):
        world.judged(errors.Unreachable("refused"), number, asked)

    assert [bucket for bucket, *_ in world.budget.failures] == [
        f"feed/{HOST}",
        f"feed/{HOST}",
        "feed",
    ]


def test_a_machine_offline_is_so_also_without_the_shared_state():
    world = World(DownBudget())
    told = [world.judged(errors.Unreachable("refused"), number) for number in range(3)]

    assert isinstance(told[-1], errors.Offline)
    assert told[-1].delay_s is None


def test_a_server_that_is_silent_was_reached(world):
    told = [world.judged(errors.Timeout("no byte for 20 s"), number) for number in range(9)]

    assert not any(isinstance(one, errors.Offline) for one in told)


# --- signed out ---


def test_an_expired_login_pauses_its_source_with_the_reason(world):
    error = world.judged(errors.SignedOut("status 401"))

    assert isinstance(error, errors.SignedOut)
    assert world.pauses == [("feed", "status 401")]


def test_a_pause_that_can_not_be_written_is_the_stores_trouble(world):
    """Nobody could resume what is paused nowhere."""
    world.broken = errors.StorageDown("the disk is full")

    assert world.judged(errors.SignedOut("status 401")) is world.broken


# --- a wait that may be a mistake ---


@pytest.mark.parametrize(("told_s", "is_told"), [(300.0, False), (86_400.0, True)])
def test_the_log_says_how_to_end_a_long_wait(world, caplog, told_s, is_told):
    world.judged(errors.Throttled("429", delay_s=told_s))

    assert ("headrace resume feed --unblock" in caplog.text) == is_told


def test_what_a_person_types_names_the_store(world, caplog, tmp_path):
    slowing = Slowing(world.budget, world.reachability, lambda *_: None, tmp_path)
    error = errors.Throttled("429", delay_s=86_400.0)
    error.asked = Asked(HOST, f"feed/{HOST}", era=7)
    slowing.judged(error, an_image_task(f"https://{HOST}/1.jpg"))

    assert f"headrace resume feed/{HOST} --unblock --store {tmp_path}" in caplog.text
