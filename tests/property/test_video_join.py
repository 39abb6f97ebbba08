"""A video ends once, and right, whatever order, repetition, death or loss its tasks meet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.end import EndState
from tests.support.video_world import Killed, VideoWorld
from tests.support.videos import (
    MANIFEST,
    MEDIA,
    a_manifest_task,
    gone,
    manifest_of,
    trouble,
    whole,
)

PIECES = 5
MOST_NESTED = 3

# What happens at a hook: nothing, a death, a flush, or another worker's whole run.
EVENTS = st.one_of(
    st.none(),
    st.just("kill"),
    st.just("flush"),
    st.integers(0, 9),  # this one of the messages that are due
)
FATES = st.fixed_dictionaries({}, optional={n: st.sampled_from([gone, trouble]) for n in range(4)})
ORDERS = st.lists(st.integers(0, 9), max_size=40)
UNACKED = st.sets(st.integers(0, 40), max_size=8)


@contextmanager
def a_world() -> Iterator[VideoWorld]:
    with tempfile.TemporaryDirectory() as folder:
        world = VideoWorld(Path(folder), PIECES)
        try:
            yield world
        finally:
            world.store.close()


class Chaos:
    """Lets the drawn events happen at the hooks, in their order, while there are any."""

    def __init__(self, world: VideoWorld, events: list[object]) -> None:
        self.world = world
        self.events = iter(events)
        self.depth = 0
        self.lossy = False
        world.hook = self

    def __call__(self, where: str) -> None:
        event = next(self.events, None)
        if event == "kill":
            self.lossy = True
            raise Killed(where)
        if event == "flush":
            self.lossy = True
            self.world.flush()
        elif isinstance(event, int) and self.depth < MOST_NESTED:
            self.work_on(event)

    def work_on(self, choice: int, *, acked: bool = True) -> None:
        due = self.world.due()
        if due:
            self.depth += 1
            try:
                self.world.deliver(due[choice % len(due)], acked=acked)
            finally:
                self.depth -= 1


def run(world: VideoWorld, events, order, unacked, manifests: int) -> Chaos:
    chaos = Chaos(world, events)
    for _ in range(manifests):
        world.put(a_manifest_task())
    for number, choice in enumerate(order):
        chaos.work_on(choice, acked=number not in unacked)
        if not world.due() and world.queue:  # time passes until something is due
            soonest = min(message.due for message in world.queue)
            world.clock.advance(soonest - world.clock.now())
    world.hook = lambda _where: None
    world.work()
    return chaos


@settings(deadline=None)
@given(
    events=st.lists(EVENTS, max_size=60),
    order=ORDERS,
    unacked=UNACKED,
    fates=FATES,
    manifests=st.integers(1, 2),
)
def test_a_video_ends_once_and_right_whatever_happens(events, order, unacked, fates, manifests):
    with a_world() as world:
        world.net.faults = dict(fates)

        run(world, events, order, unacked, manifests)

        end = world.end()
        assert [e.generation for e in world.store.media.ends(MEDIA)] == [1]
        if fates:
            assert (end.state, end.video.missing) == (EndState.INCOMPLETE, tuple(sorted(fates)))
            assert end.failure.passing == (set(fates.values()) == {trouble})
            assert {letter.task.payload.piece for letter in world.letters} == set(fates)
        else:
            assert (end.state, world.content()) == (EndState.GOT, whole(PIECES))
            assert list(world.store.staging.media()) == []


@settings(deadline=None)
@given(order=ORDERS, unacked=UNACKED, nested=st.lists(st.integers(0, 9), max_size=40), fates=FATES)
def test_without_a_loss_no_piece_is_published_or_asked_for_twice(order, unacked, nested, fates):
    with a_world() as world:
        world.net.faults = dict.fromkeys(fates, gone)

        chaos = run(world, nested, order, unacked - {0}, 1)

        assert not chaos.lossy
        assert set(world.copies().values()) == {1}
        assert set(world.requests().values()) == {1}
        assert len(world.ends) == 1


@settings(deadline=None)
@given(
    events=st.lists(EVENTS, max_size=40),
    order=ORDERS,
    dead=st.sets(st.integers(0, PIECES - 1), min_size=1),
    requeued=st.data(),
)
def test_a_requeue_of_any_dead_piece_ends_in_the_same_file(events, order, dead, requeued):
    with a_world() as world:
        world.net.faults = dict.fromkeys(dead, gone)
        world.put(a_manifest_task())
        world.work()
        letters = list({letter.task.id: letter for letter in world.letters}.values())
        chosen = requeued.draw(st.sets(st.sampled_from(range(len(letters))), min_size=1))
        world.net.faults.clear()
        before = world.requests()
        for number in chosen:
            world.put(world.reopening(letters[number].task))

        run(world, events, order, set(), 0)

        assert world.end(1).state is EndState.INCOMPLETE
        assert world.content(2) == whole(PIECES)
        asked = world.requests() - before
        assert set(asked) == dead


@settings(deadline=None)
@given(
    events=st.lists(EVENTS, max_size=40),
    order=ORDERS,
    got=st.integers(0, PIECES - 1),
    pieces=st.sampled_from([PIECES, PIECES - 1, PIECES + 2]),
    requeued=st.data(),
)
def test_expired_addresses_end_in_the_file_that_the_manifest_then_describes(
    events, order, got, pieces, requeued
):
    with a_world() as world:
        world.net.manifest = manifest_of(PIECES, sign="?a")
        world.put(a_manifest_task())
        for _ in range(1 + got):
            world.deliver(world.due()[0])
        world.net.expired = {"?a"}
        world.work()
        before = world.requests()
        asked_before = world.net.asked[MANIFEST]
        world.net.manifest = manifest_of(pieces, sign="?b")
        chosen = requeued.draw(st.sets(st.sampled_from(range(len(world.letters))), min_size=1))
        for number in chosen:
            world.put(world.reopening(world.letters[number].task))

        chaos = run(world, events, order, set(), 0)

        assert world.end(1).state is EndState.INCOMPLETE
        assert world.content(2) == whole(pieces)
        asked = world.requests() - before
        assert set(asked) == set(range(got if pieces == PIECES else 0, pieces))
        assert chaos.lossy or world.net.asked[MANIFEST] - asked_before == 1
