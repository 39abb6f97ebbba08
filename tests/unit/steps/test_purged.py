"""A purge means what was submitted before it and all that follows from that, whenever it is
published; and nothing that was submitted since."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core import errors
from core.cli.purge import marked
from core.model.end import Failure
from core.model.task import DiscoverPayload, ImagePayload, Kind, State, Task
from core.ports import Copy
from core.queue.retry import Retry
from core.steps.actions import Publish, published_by
from core.steps.decide import RetryPolicy
from core.steps.ends import write_end
from core.steps.trigger import submitted
from tests.support.queue import FakeLedger, FakePublisher, a_delivery
from tests.support.reading import Reading, ending
from tests.support.tasks import a_fragment_task, a_run, a_verify_task, an_image_task
from tests.support.video_world import VideoWorld
from tests.support.videos import MEDIA, a_manifest_task, whole


class Purged(Reading):
    """Feeds of which somebody drops what waits; published as a run publishes it."""

    def purge(self) -> None:
        self.clock.advance(1.0)
        now_ms = int(self.clock.now() * 1000)
        self.store.switches.change("feed", lambda before: marked(before, now_ms))
        self.clock.advance(1.0)

    def in_hand(self, task: Task) -> Iterator[None]:
        """A run that goes on when it is told to, with its page read."""
        for action in self.step(a_run(task)):
            yield
            if isinstance(action, Publish):
                self.queue.extend(published_by(task, copy).task for copy in action.copies)
            else:
                write_end(self.store, action)

    def work(self, *, tasks: int = 200) -> None:
        while self.queue and tasks:
            tasks -= 1
            task = self.queue.popleft()
            if task.is_before(self.store.switches.read().of(task.source).purged_before):
                continue
            if isinstance(task.payload, ImagePayload):
                self.store.media.end(ending(task))
            else:
                list(self.in_hand(task))


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Purged]:
    reading = Purged(tmp_path)
    yield reading
    reading.store.close()


def purged_in_hand(reading: Purged, task: Task) -> None:
    """The task's page was read, its source purged and its feed submitted anew, before it ended."""
    run = reading.in_hand(task)
    next(run)
    reading.purge()
    reading.queue.clear()
    anew = reading.trigger()
    reading.queue.clear()
    list(run)
    reading.queue.append(anew)


def test_a_walk_goes_on_whose_page_was_in_hand_when_its_source_was_purged(reading: Purged):
    reading.serve_pages([["c"], ["b"], ["a"]])
    purged_in_hand(reading, reading.trigger())
    reading.work()

    assert reading.endings() == ["last_page"]
    assert reading.got() == {"a", "b", "c"}
    assert len(reading.asked) == 3


def test_the_media_of_a_walks_last_page_are_published_again_too(reading: Purged):
    reading.serve_pages([["a"]])
    purged_in_hand(reading, reading.trigger())
    reading.work()

    assert reading.got() == {"a"}
    assert len(reading.asked) == 1


def test_a_following_walk_goes_on_whose_page_was_in_hand(reading: Purged):
    """Page 2 is read, a trigger comes, page 2 ends its walk and the next one begins: all of it by
    a worker that had not heard of the purge yet."""
    reading.serve_pages([["b"], ["a"]])
    reading.trigger()
    reading.work(tasks=2)
    [second] = [task for task in reading.queue if task.kind is Kind.DISCOVER]
    walk = second.payload.walk
    run = reading.in_hand(second)
    next(run)
    reading.purge()
    anew = reading.trigger()
    list(run)
    [following] = [
        task
        for task in reading.queue
        if isinstance(task.payload, DiscoverPayload) and task.payload.walk != walk
    ]
    reading.serve_pages([["d"], ["c"], ["b"], ["a"]])
    list(reading.in_hand(following))
    reading.queue.clear()
    reading.queue.append(anew)
    reading.work()

    assert reading.endings() == ["last_page", "nothing_new"]
    assert {"c", "d"} <= reading.got()


def test_another_submission_publishes_no_page_twice(reading: Purged):
    reading.serve_pages([["b"], ["a"]])
    reading.purge()
    reading.trigger()
    anew = reading.trigger()
    reading.queue.remove(anew)
    reading.work()

    assert list(reading.step(a_run(anew))) == []


def test_a_redelivery_asks_no_file_whether_there_was_a_purge(reading: Purged, monkeypatch):
    reading.serve_pages([["b"], ["a"]])
    task = reading.trigger()
    list(reading.in_hand(task))
    monkeypatch.setattr(reading.store.switches, "read", None)

    assert list(reading.step(a_run(task))) == []


# --- videos ---


def submitted_now(world: VideoWorld, task: Task) -> Task:
    return submitted(task, world.store, world.clock)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[VideoWorld]:
    world = VideoWorld(tmp_path, 4)
    world.performer = replace(
        world.performer, switch=lambda source: world.store.switches.read().of(source)
    )
    yield world
    world.store.close()


def purge(world: VideoWorld, source: str) -> None:
    world.clock.advance(1.0)
    now_ms = int(world.clock.now() * 1000)
    world.store.switches.change(source, lambda before: marked(before, now_ms))
    world.clock.advance(1.0)


@pytest.mark.parametrize("moment", ["before put_plan", "publish"])
def test_a_video_whose_manifest_was_in_hand_does_not_come_back(world: VideoWorld, moment: str):
    task = submitted_now(world, a_manifest_task())

    def hook(where: str) -> None:
        if where == moment:
            world.hook = lambda _where: None
            purge(world, task.source)

    world.hook = hook
    world.put(task)
    world.work()

    assert world.requests() == {}
    assert len(world.published) == 5  # a watchdog and four pieces, and each was dropped
    assert world.end() is None


def test_submitted_after_all_it_is_got(world: VideoWorld):
    task = submitted_now(world, a_manifest_task())
    world.put(task)
    world.deliver(world.due()[0])
    purge(world, task.source)
    world.put(submitted_now(world, a_manifest_task()))
    world.work()

    assert world.content() == whole(4)


def test_a_piece_in_hand_has_no_join_follow(world: VideoWorld):
    task = submitted_now(world, a_manifest_task())
    world.put(task)
    world.deliver(world.due()[0])
    for message in world.due()[:3]:
        world.deliver(message)
    world.hook = lambda where: purge(world, task.source) if where == "before put" else None
    world.deliver(world.due()[0])
    world.hook = lambda _where: None
    world.work()

    assert world.requests().total() == 4
    assert world.end() is None


@pytest.mark.parametrize("round_of_looks", [1, 3])
def test_a_look_after_a_video_is_of_its_submission_however_often_it_was_put_off(
    world: VideoWorld, round_of_looks: int
):
    task = submitted_now(world, a_manifest_task())
    world.put(task)
    world.deliver(world.due()[0])
    world.queue = [message for message in world.queue if message.task.kind is Kind.VERIFY]
    for piece in range(4):  # under way, says the ledger
        world.ledger.begin(a_fragment_task(MEDIA, piece, source=task.source), lease_s=1e6)
    for _ in range(round_of_looks):
        [look] = world.queue
        world.clock.advance(max(0.0, look.due - world.clock.now()))
        world.deliver(look)
    [look] = world.queue

    assert look.task.serial > task.serial
    assert look.task.origin_ms == task.origin_ms


def test_what_follows_a_burial_is_of_its_submission(world: VideoWorld):
    task = submitted_now(world, a_manifest_task())
    world.put(task)
    world.deliver(world.due()[0])
    world.clock.advance(5.0)
    for message in [m for m in world.due() if m.task.kind is Kind.FRAGMENT]:
        world.burial(message.task, _failure())
    [join] = world.verifies()[1:]

    assert join.serial > join.origin_ms == task.origin_ms


def _failure() -> Failure:
    return Failure(reason="gone", message="404", passing=False, attempts=1)


# --- every kind ---


@pytest.mark.parametrize(
    "copy",
    [an_image_task(), a_fragment_task(), a_manifest_task(), a_verify_task(serial=9_000)],
)
@pytest.mark.parametrize(
    ("parent", "origin_ms"),
    [
        (an_image_task(serial=7_000, submitted_ms=5_000), 5_000),
        (an_image_task(serial=7_000), 7_000),  # of format 1
    ],
)
def test_what_a_run_publishes_is_of_its_submission(copy: Task, parent: Task, origin_ms: int):
    made = published_by(parent, Copy(copy)).task

    assert made.origin_ms == origin_ms
    assert made.serial == max(copy.serial, 7_000)


@pytest.mark.parametrize(
    "error", [errors.Timeout("x"), errors.HostBusy("x", delay_s=9.0), errors.Crashed("x")]
)
def test_a_retry_is_of_its_submission(world: VideoWorld, error: errors.HeadraceError):
    publisher = FakePublisher()
    policy = RetryPolicy()
    retry = Retry(publisher, FakeLedger(), policy, lambda *_: None, world.clock, random.Random(0))
    error.task = an_image_task(serial=7_000, submitted_ms=5_000, state=State.LEASED)
    retry.after_process_message(None, a_delivery(error.task), exception=error)
    [copy] = publisher.copies

    assert (copy.task.serial, copy.task.origin_ms) == (7_001, 5_000)


def test_a_task_of_format_1_is_as_old_as_its_serial():
    task = an_image_task(serial=5_000)

    assert task.is_before(5_001)
    assert not task.is_before(5_000)
    assert not task.is_before(None)


def test_what_is_submitted_after_a_purge_by_a_clock_that_is_ahead_is_kept(reading: Purged):
    ahead_ms = int((reading.clock.now() + 3600) * 1000)
    reading.store.switches.change("feed", lambda before: marked(before, ahead_ms))
    reading.serve_pages([["b"], ["a"]])
    task = reading.trigger()
    reading.work()

    assert reading.got() == {"a", "b"}
    assert task.serial == int(reading.clock.now() * 1000)  # of two copies the later one counts


def test_another_purge_means_that_too(reading: Purged):
    ahead_ms = int((reading.clock.now() + 3600) * 1000)
    reading.store.switches.change("feed", lambda before: marked(before, ahead_ms))
    reading.serve_pages([["a"]])
    reading.trigger()
    reading.purge()
    reading.work()

    assert reading.asked == []


def test_what_is_submitted_in_the_millisecond_of_a_purge_is_told_apart(reading: Purged):
    before = submitted(an_image_task(), reading.store, reading.clock)
    now_ms = int(reading.clock.now() * 1000)
    switch = reading.store.switches.change("feed", lambda standing: marked(standing, now_ms))
    after = submitted(an_image_task(), reading.store, reading.clock)

    assert before.is_before(switch.purged_before)
    assert not after.is_before(switch.purged_before)
