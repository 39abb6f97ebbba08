"""A video's whole way through its tasks: from manifest to file, to its requeue, to its death."""

from __future__ import annotations

import dataclasses

import pytest

from core import errors
from core.model.end import EndState
from core.model.task import FragmentPayload, Kind, VerifyPayload
from core.steps.renewal import RENEWED
from core.steps.trigger import offer
from tests.support.video_world import Killed, VideoWorld
from tests.support.videos import (
    MANIFEST,
    MEDIA,
    SOURCE,
    a_manifest_payload,
    a_manifest_task,
    body_of,
    gone,
    manifest_of,
    trouble,
    whole,
)


@pytest.fixture
def world(tmp_path):
    world = VideoWorld(tmp_path, 4)
    yield world
    world.store.close()


def crawl(world: VideoWorld) -> None:
    world.put(a_manifest_task())
    world.work()


def test_a_video_is_got_and_leaves_nothing_behind(world):
    crawl(world)

    assert world.content() == whole(4)
    assert list(world.store.staging.media()) == []
    assert not world.ledger.holds(f"verify-{MEDIA}")
    assert [end.state for end in world.ends] == [EndState.GOT]


def test_row_22_one_member_that_fails_for_good_does_not_stop_the_join(world):
    world.net.faults = {2: gone}

    crawl(world)

    assert (world.end().state, world.end().video.missing) == (EndState.INCOMPLETE, (2,))
    assert world.clock.slept == []
    assert [letter.task.payload.piece for letter in world.letters] == [2]


def test_row_37_a_piece_that_kills_its_worker_each_time_ends_dead_and_the_rest_is_kept(world):
    def kill():
        return Killed("out of memory")

    world.net.faults = {1: kill}

    crawl(world)

    assert (world.end().state, world.end().video.missing) == (EndState.INCOMPLETE, (1,))
    assert world.end().failure.crashes == 8
    assert world.letters[0].failure.reason == "kills_its_worker"


def test_row_6_a_later_requeue_fetches_only_what_is_missing(world):
    world.net.faults = {2: gone}
    crawl(world)
    before = world.requests()
    world.net.faults = {}

    world.put(world.reopening(world.letters[0].task))
    world.work()

    assert world.requests() - before == {2: 1}
    assert world.content(2) == whole(4)


def test_a_rerun_of_the_feed_fetches_only_what_passingly_failed(world):
    world.net.faults = {2: trouble}
    crawl(world)
    before = world.requests()
    world.net.faults = {}

    copy = offer(world.store, SOURCE, a_manifest_payload(), max_attempts=5, retry_dead=False)
    world.put(copy.task)
    world.work()

    assert world.requests() - before == {2: 1}
    assert world.content(2) == whole(4)


def test_a_rerun_leaves_alone_what_is_gone_for_good(world):
    world.net.faults = {2: gone}
    crawl(world)

    assert (
        offer(world.store, SOURCE, a_manifest_payload(), max_attempts=5, retry_dead=False) is None
    )


def test_a_requeue_of_one_of_two_dead_pieces_brings_the_other_too(world):
    world.net.faults = {1: gone, 3: gone}
    crawl(world)
    world.net.faults = {}

    world.put(world.reopening(world.letters[0].task))
    world.work()

    assert world.content(2) == whole(4)


def test_a_requeue_that_fails_again_ends_in_the_next_generation(world):
    world.net.faults = {1: gone, 3: gone}
    crawl(world)
    world.net.faults = {3: gone}

    for letter in list(world.letters):
        world.put(world.reopening(letter.task))
    world.work()

    assert world.end(2).video.missing == (3,)


def test_a_requeue_while_the_video_is_under_way_takes_over_all_that_is_not_there(world):
    world.net.faults = {0: gone}
    world.put(a_manifest_task())
    world.deliver(world.due()[0])
    world.deliver(world.due()[0])  # the first piece dies, three more lie in the lane
    world.net.faults = {}

    world.put(world.reopening(world.letters[0].task))
    world.work()

    assert world.end(1).state is EndState.INCOMPLETE
    assert world.content(2) == whole(4)
    assert set(world.requests().values()) == {1, 2}


def test_the_letter_of_a_piece_whose_video_was_got_opens_nothing(world):
    world.net.faults = {2: gone}
    crawl(world)
    letter = world.letters[0]
    world.net.faults = {}
    world.put(world.reopening(letter.task))
    world.work()

    world.put(world.reopening(letter.task))
    world.work()

    assert [end.generation for end in world.store.media.ends(MEDIA)] == [1, 2]
    assert world.requests()[2] == 2


def test_a_late_copy_of_a_piece_changes_nothing(world):
    crawl(world)
    late = next(task for task in world.published if isinstance(task.payload, FragmentPayload))
    before = world.requests()

    world.put(late)
    world.work()

    assert world.requests() == before
    assert list(world.store.staging.media()) == []


def test_two_last_pieces_at_once_make_one_file(world):
    world.put(a_manifest_task())
    world.deliver(world.due()[0])
    for _ in range(2):
        world.deliver(world.due()[0])
    nested = iter([True])

    def at_once(where):
        if where == "before join" and next(nested, False):
            world.deliver(world.due()[0])

    world.hook = at_once
    world.work()

    assert world.content() == whole(4)
    assert len(world.ends) == 1


def test_a_flush_in_the_middle_costs_no_wait(world):
    world.put(a_manifest_task())
    for _ in range(3):
        world.deliver(world.due()[0])
    world.flush()
    began = world.clock.now()

    while world.due():
        world.deliver(world.due()[0])

    assert world.content() == whole(4)
    assert world.clock.now() == began


def test_a_fragment_that_got_lost_is_published_again_by_the_watchdog(world):
    world.put(a_manifest_task())
    world.deliver(world.due()[0])
    lost = world.due()[1]
    world.queue.remove(lost)

    world.work()

    assert world.content() == whole(4)
    assert world.copies() == {0: 1, 1: 2, 2: 1, 3: 1}


def test_a_video_that_cant_be_joined_ends_dead_with_a_letter_and_its_pieces(world):
    def broken(where):
        if where == "assemble":
            raise errors.Mismatch("7 s instead of 8 s", reason="duration_mismatch")

    world.hook = broken
    crawl(world)

    assert (world.end().state, world.end().failure.reason) == (EndState.DEAD, "duration_mismatch")
    assert [letter.task.kind for letter in world.letters] == [Kind.VERIFY]
    assert world.store.videos.has(MEDIA, 0)


def test_a_damaged_piece_is_fetched_again_and_nothing_else(world):
    world.hook = fail_once(errors.DamagedPiece("piece 2: wrong padding", piece=2))

    crawl(world)

    assert world.content() == whole(4)
    assert world.requests() == {0: 1, 1: 1, 2: 2, 3: 1}


def test_a_piece_that_is_damaged_each_time_has_an_end(world):
    def damaged(where):
        if where == "assemble":
            raise errors.DamagedPiece("piece 2: wrong padding", piece=2)

    world.hook = damaged
    crawl(world)

    assert (world.end().state, world.end().failure.reason) == (EndState.DEAD, "damaged_piece")
    assert world.end().failure.attempts == 5


def test_pieces_that_seem_to_be_cut_are_all_fetched_again_and_taken_the_second_time(world):
    seen = []

    def doubting(staged, piece_path, workspace, check, doubts):
        seen.append({piece: set(sizes) for piece, sizes in doubts.before.items()})
        for piece in (1, 2):
            doubts.doubt(piece, len(body_of(piece)))
        doubts.insist("came cut")
        return world._assemble(staged, piece_path, workspace, check, doubts)

    verify = world.performer.steps[Kind.VERIFY]
    world.performer.steps[Kind.VERIFY] = dataclasses.replace(verify, assembler=doubting)
    crawl(world)

    assert world.content() == whole(4)
    assert world.requests() == {0: 1, 1: 2, 2: 2, 3: 1}
    assert seen == [{}, {1: {len(body_of(1))}, 2: {len(body_of(2))}}]


def test_a_piece_that_stays_damaged_is_fetched_after_pauses_that_grow(world):
    joined, fetched = [], []

    def damaged(where):
        if where == "assemble":
            joined.append(world.clock.now())
            raise errors.DamagedPiece("piece 2: wrong padding", piece=2)

    world.hook = damaged
    world.net.cost = lambda: fetched.append(world.clock.now())
    crawl(world)

    pauses = [after - before for before, after in zip(joined, fetched[4:], strict=False)]
    assert pauses == pytest.approx([0.0, 5.0, 20.0, 80.0], abs=0.01)
    assert len(joined) == 5


def test_a_requeue_of_a_dead_join_asks_for_nothing(world):
    world.hook = fail_once(errors.Mismatch("7 s instead of 8 s"))
    crawl(world)
    before = world.requests()

    again = world.reopening(world.letters[0].task)
    world.put(again)
    world.work()

    assert again.payload == VerifyPayload(media=MEDIA)
    assert world.content(2) == whole(4)
    assert world.requests() == before


def test_a_requeue_of_a_join_that_died_of_a_damaged_piece_fetches_it_once_more(world):
    def damaged(where):
        if where == "assemble":
            raise errors.DamagedPiece("piece 2: wrong padding", piece=2)

    world.hook = damaged
    crawl(world)
    world.hook = lambda _where: None
    before = world.requests()

    world.put(world.reopening(world.letters[0].task))
    world.work()

    assert world.content(2) == whole(4)
    assert world.requests() - before == {2: 1}


# --- addresses that expire ---


def signed(world: VideoWorld, sign: str, **more) -> None:
    """From here on the manifest signs its addresses so, and no other way is let in."""
    world.net.expired |= {"?a", "?b", "?c"} - {sign}
    world.net.expired -= {sign}
    world.net.manifest = manifest_of(more.pop("pieces", 4), sign=sign, **more)


def half_got(world: VideoWorld) -> None:
    """Two pieces came, then the addresses expired."""
    signed(world, "?a")
    world.put(a_manifest_task())
    for _ in range(3):
        world.deliver(world.due()[0])
    world.net.expired.add("?a")
    world.work()
    assert world.end().video.missing == (2, 3)


def retried(world: VideoWorld) -> None:
    copy = offer(world.store, SOURCE, a_manifest_payload(), max_attempts=5, retry_dead=True)
    world.put(copy.task)
    world.work()


def test_a_rerun_gets_what_is_missing_from_addresses_that_are_read_anew(world):
    half_got(world)
    before = world.requests()
    signed(world, "?b")

    retried(world)

    assert world.content(2) == whole(4)
    assert world.requests() - before == {2: 1, 3: 1}
    assert world.end(2).video.pieces[3].url.endswith("/3.ts?b")
    assert RENEWED in world.end(2).video.notes


def test_a_requeue_of_one_dead_piece_gets_all_that_is_missing_from_fresh_addresses(world):
    half_got(world)
    before = world.requests()
    signed(world, "?b")

    world.put(world.reopening(world.letters[0].task))
    world.work()

    assert world.content(2) == whole(4)
    assert world.requests() - before == {2: 1, 3: 1}


def test_many_letters_of_one_video_have_its_manifest_read_once(world):
    half_got(world)
    before = world.net.asked[MANIFEST]
    signed(world, "?b")

    for letter in list(world.letters):
        world.put(world.reopening(letter.task))
    world.work()

    assert world.content(2) == whole(4)
    assert world.net.asked[MANIFEST] - before == 1
    assert set(world.copies(generation=2).values()) == {1}


def test_a_requeue_that_died_before_it_was_published_is_made_good_by_its_sisters(world):
    half_got(world)
    signed(world, "?b")
    first, second = world.letters

    world.reopening(first.task)  # and the command is killed here
    world.put(world.reopening(second.task))
    world.work()

    assert world.content(2) == whole(4)


def test_a_manifest_that_is_gone_leaves_the_addresses_of_before(world):
    world.net.faults = {2: gone}
    crawl(world)
    world.net.faults = {}
    world.net.manifest_fault = gone

    retried(world)

    assert world.content(2) == whole(4)


def test_a_manifest_that_fails_in_passing_is_asked_again(world):
    half_got(world)
    signed(world, "?b")
    faults = iter([trouble(), trouble()])

    def passing():
        if (fault := next(faults, None)) is None:
            world.net.manifest_fault = None
        return fault or trouble()

    world.net.manifest_fault = passing

    retried(world)

    assert world.content(2) == whole(4)
    assert world.end(1).state is EndState.INCOMPLETE


@pytest.mark.parametrize("dies", ["before renew_plan", "after renew_plan", "published"])
def test_whoever_dies_while_a_plan_is_renewed_is_made_good_by_the_next(world, dies):
    half_got(world)
    before = world.requests()
    signed(world, "?b")
    deaths = iter([Killed(dies)])

    def dying(where):
        if where == dies and (death := next(deaths, None)):
            raise death

    world.hook = dying
    retried(world)

    assert world.content(2) == whole(4)
    assert world.requests() - before == {2: 1, 3: 1}


def test_other_pieces_than_before_make_a_new_plan_of_which_none_is_there(world, caplog):
    half_got(world)
    before = world.requests()
    signed(world, "?b", pieces=5)

    retried(world)

    assert world.content(2) == whole(5)
    assert world.requests() - before == dict.fromkeys(range(5), 1)
    assert "5 now: the 2 that were there are dropped" in caplog.text


def test_a_piece_of_the_old_plan_that_comes_late_is_not_taken_for_one_of_the_new(world):
    """Its worker slept from before the end of the old generation until all was got."""
    half_got(world)
    late = next(task for task in world.published if task.id.endswith("-000003"))
    partial = world.store.staging.take(f"{MEDIA}-000003", "asleep")
    signed(world, "?b", pieces=5)

    def wakes(where):
        if where == "before join":
            partial.path.write_bytes(b"of the old plan")
            world.store.videos.put(MEDIA, 3, partial.path, late.payload.layout)

    world.hook = wakes
    retried(world)

    assert world.content(2) == whole(5)


def fail_once(error: errors.HeadraceError):
    faults = iter([error])

    def hook(where):
        if where == "assemble" and (fault := next(faults, None)):
            raise fault

    return hook


def test_a_dead_manifest_is_a_dead_media_and_its_requeue_reads_it_anew(world):
    world.net.manifest = b"<html>"
    crawl(world)
    world.net.manifest = manifest_of(4)

    world.put(world.reopening(world.letters[0].task))
    world.work()

    assert world.end(1).state is EndState.DEAD
    assert world.content(2) == whole(4)


@pytest.mark.parametrize("kind", [Kind.FRAGMENT, Kind.VERIFY, Kind.MANIFEST])
def test_a_second_delivery_after_an_incomplete_end_buries_nobody_again(world, kind):
    world.net.faults = {2: gone}
    crawl(world)
    before = len(world.letters)

    tasks = [*world.published, a_manifest_task()]
    world.put(next(task for task in tasks if task.kind is kind))
    world.work()

    assert len(world.letters) == before


def test_a_crash_between_the_end_and_the_tidying_is_repaired_by_the_next_delivery(world):
    clear = world.store.staging.clear
    world.store.staging.clear = dying_once(clear)

    crawl(world)

    assert world.content() == whole(4)
    assert list(world.store.staging.media()) == []


def dying_once(call):
    deaths = iter([Killed("between end and tidying")])

    def dying(*args):
        if death := next(deaths, None):
            raise death
        return call(*args)

    return dying


def test_an_interrupted_video_goes_on_with_what_is_there(world):
    """As when `crawl` is killed and started again: memory is empty, the store is not."""
    world.put(a_manifest_task())
    for _ in range(3):
        world.deliver(world.due()[0])
    world.queue.clear()
    world.flush()
    before = world.requests()

    crawl(world)

    assert world.content() == whole(4)
    assert world.requests() - before == {2: 1, 3: 1}
    assert world.net.asked[a_manifest_payload().url] == 1


def test_two_thousand_pieces_at_five_a_second_are_each_published_and_asked_for_once(tmp_path):
    world = VideoWorld(tmp_path, 2000)
    world.net.cost = lambda: world.clock.advance(0.2)

    crawl(world)
    looks = [task.payload.round for task in world.verifies()]

    assert set(world.copies().values()) == {1}
    assert set(world.requests().values()) == {1}
    assert world.content() == whole(2000)
    assert 1 in looks  # the watchdog came in the middle, and saw that all goes on
    world.store.close()
