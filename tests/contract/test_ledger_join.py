"""What every ledger promises of a video's pieces, and of which tasks it knows."""

from __future__ import annotations

import pytest

from tests.support.ledger_world import FIRST, LEDGERS, World, copy_of, crash, ledger_world


@pytest.fixture(params=LEDGERS)
def world(request: pytest.FixtureRequest) -> World:
    return ledger_world(request)


def join(world: World, *pieces: int, generation: int = 1, media: str = "m1") -> list[int]:
    return [world.ledger.join(media, generation, piece) for piece in pieces]


# --- the join ---


def test_each_new_piece_is_counted(world: World) -> None:
    assert join(world, 0, 7, 3) == [1, 2, 3]


def test_a_piece_that_is_told_again_is_not_counted_again(world: World) -> None:
    assert join(world, 0, 1, 0, 1, 1) == [1, 2, 2, 2, 2]


def test_other_videos_are_counted_apart(world: World) -> None:
    join(world, 0, 1, 2)

    assert join(world, 5, media="m2") == [1]


def test_a_newer_generation_is_counted_from_nothing(world: World) -> None:
    join(world, 0, 1)

    assert join(world, 1, 2, generation=2) == [1, 2]


def test_a_generation_that_is_over_counts_nothing_and_changes_nothing(world: World) -> None:
    join(world, 0, generation=2)

    assert join(world, 1, 2) == [0, 0]
    assert join(world, 0, generation=2) == [1]


def test_a_flush_forgets_the_pieces(world: World) -> None:
    join(world, 0, 1)
    world.flush()

    assert join(world, 2) == [1]


def test_a_video_that_has_ended_is_forgotten_in_every_generation(world: World) -> None:
    join(world, 0, 1)
    join(world, 0, generation=2)
    world.ledger.forget_join("m1")

    assert join(world, 1) == [1]


def test_forgetting_twice_or_what_was_never_known_is_harmless(world: World) -> None:
    join(world, 0, media="m2")
    world.ledger.forget_join("m1")
    world.ledger.forget_join("m1")

    assert join(world, 1, media="m2") == [2]


def test_a_task_and_a_video_of_one_name_do_not_meet(world: World) -> None:
    join(world, 0, media=FIRST.id)
    world.lease()
    world.ledger.finish(FIRST)

    assert join(world, 1, media=FIRST.id) == [2]


def test_18_000_pieces_are_counted(world: World) -> None:
    assert join(world, *range(18_000))[-1] == 18_000


# --- what is known ---


def test_a_task_that_nobody_told_of_is_not_held(world: World) -> None:
    assert not world.ledger.holds(FIRST.id)


def test_a_first_copy_in_its_lane_is_not_held(world: World) -> None:
    """There may be a million of them: whether one waits is asked of the lane."""
    world.publish(FIRST)

    assert not world.ledger.holds(FIRST.id)


def test_a_leased_task_is_held(world: World) -> None:
    world.lease()

    assert world.ledger.holds(FIRST.id)
    assert not world.ledger.holds("image-m2")


def test_a_task_whose_run_vanished_is_held(world: World) -> None:
    crash(world)

    assert world.ledger.holds(FIRST.id)


def test_a_delayed_copy_is_held(world: World) -> None:
    world.publish(copy_of(FIRST), delay_s=60.0)

    assert world.ledger.holds(FIRST.id)


def test_a_released_task_is_held_until_it_ends(world: World) -> None:
    lease = world.lease()
    world.ledger.release(FIRST, lease.token)
    held = world.ledger.holds(FIRST.id)
    world.ledger.finish(FIRST)

    assert held
    assert not world.ledger.holds(FIRST.id)


def test_a_flush_lets_go_of_every_task(world: World) -> None:
    world.lease()
    world.flush()

    assert not world.ledger.holds(FIRST.id)


def test_asking_takes_no_lease(world: World) -> None:
    world.ledger.holds(FIRST.id)
    lease = world.lease()

    assert world.renew(lease)
