"""A person's word that a block is a mistake, as a process that hears of it acts on it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from core.errors import SharedStateDown
from core.model.switch import Switch
from core.steps.unblocking import Unblocking, bucket_of, command
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock

NOW_MS = 1_000_000_000


class Blocking(OpenBudget):
    """Its block is of later than any word; or nobody can be asked."""

    left_s = 0.0
    down = False

    def unblock(self, bucket: str, *, age_s: float) -> float:
        if self.down:
            raise SharedStateDown("no answer")
        super().unblock(bucket, age_s=age_s)
        return self.left_s


@dataclass
class World:
    budget: Blocking = field(default_factory=Blocking)
    clock: FakeClock = field(default_factory=FakeClock)
    lines: list[str] = field(default_factory=list)  # buckets
    opened: list[str] = field(default_factory=list)  # sources

    def __post_init__(self) -> None:
        self.hear = Unblocking(self.budget, self.clock, self, self)

    def unblocked(self, bucket: str) -> None:
        self.lines.append(bucket)

    def unblock_source(self, source: str) -> None:
        self.opened.append(source)


@pytest.fixture
def world() -> World:
    return World()


def test_the_budget_hears_how_long_ago_it_was_said_and_the_lanes_open(world: World) -> None:
    world.clock.advance(2.0)
    world.hear("press", Switch().opened("", NOW_MS))

    assert world.budget.opened == [("press", 2.0)]
    assert world.opened == ["press"]


def test_a_host_is_opened_by_its_own_name(world: World) -> None:
    world.hear("feed", Switch().opened("files.example", NOW_MS))

    assert world.budget.opened == [("feed/files.example", 0.0)]
    assert (world.lines, world.opened) == (["feed/files.example"], ["feed"])


def test_it_is_said_once(world: World) -> None:
    switch = Switch().opened("", NOW_MS)
    world.hear("press", switch)
    world.hear("press", switch.model_copy(update={"rate": 2.0}))

    assert len(world.budget.opened) == 1


def test_a_later_word_is_another(world: World) -> None:
    world.hear("press", Switch().opened("", NOW_MS))
    world.hear("press", Switch().opened("", NOW_MS + 1))

    assert len(world.budget.opened) == 2


def test_a_block_of_later_stays_and_so_do_the_lanes(world: World) -> None:
    world.budget.left_s = 30.0
    world.hear("press", Switch().opened("", NOW_MS))

    assert world.opened == []


def test_what_could_not_be_told_is_told_at_the_next_call(world: World) -> None:
    world.budget.down = True
    with pytest.raises(SharedStateDown):
        world.hear("press", Switch().opened("", NOW_MS))
    world.budget.down = False
    world.hear("press", Switch().opened("", NOW_MS))

    assert world.opened == ["press"]


def test_words_that_no_block_can_outlast_are_forgotten() -> None:
    switch = Switch().opened("a.example", NOW_MS).opened("", NOW_MS + 3 * 86_400_000)

    assert list(switch.unblocked) == [""]


def test_a_person_types_what_status_names() -> None:
    told = command(bucket_of("feed", "files.example"), "--store", "my pictures")

    assert told == "headrace resume feed/files.example --unblock --store 'my pictures'"


def test_a_word_of_days_ago_is_told_to_nobody(world: World) -> None:
    world.clock.advance(2 * 86_400.0 + 1)
    world.hear("press", Switch().opened("", NOW_MS))

    assert world.budget.opened == []
    assert world.opened == []
