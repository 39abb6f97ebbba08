"""What a person opened again is published by the next reading of its feed where nobody did, and not
once more by each reading after that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from core.errors import SharedStateDown
from core.model.end import Failure
from core.model.task import State, Task
from core.ports import Copy, DeadLetter
from core.steps.ends import dead_end, write_end
from core.steps.reopened import Reopened, Telling
from core.store.store import Store
from tests.support.reading import Reading, ending, read
from tests.support.store import FEED, open_store
from tests.support.tasks import a_verify_task, an_image_task
from tests.support.videos import MEDIA, a_manifest_payload, a_manifest_task, a_staged

GONE = Failure(reason="gone", message="404", passing=False)


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    reading = Reading(tmp_path / "of-feeds")
    yield reading
    reading.store.close()


def bury(reading: Reading, task: Task) -> None:
    write_end(reading.store, dead_end(task, GONE, reading.clock, ()))
    reading.ledger.finish(task)
    reading.open_tasks -= 1


@pytest.fixture
def reopened(reading: Reading) -> Task:
    """A picture that died, and that a person opened again a moment before the machine died: no copy
    of it was published. Another one keeps its source busy."""
    reading.serve_pages([["b", "a"]])
    first, _ = read(reading)
    bury(reading, first)
    reading.clock.advance(1.0)
    reading.store.media.reopen(first.payload.media, 1)
    return first


def test_a_crash_between_opening_and_publishing_is_mended_by_the_next_reading(
    reading: Reading, reopened: Task
):
    assert [(task.id, task.generation) for task in read(reading)] == [(reopened.id, 2)]


def test_the_readings_after_that_publish_no_copy_more(reading: Reading, reopened: Task):
    assert [len(read(reading)) for _ in range(3)] == [1, 0, 0]


def test_what_the_requeue_published_is_not_published_by_any_reading(
    reading: Reading, reopened: Task
):
    queue: list[Copy] = []
    again = reopened.model_copy(update={"generation": 2, "serial": 10**12})
    Telling(Kept(queue), reading.ledger).publish([Copy(again)])

    assert len(queue) == 1
    assert read(reading) == []


def test_what_died_once_more_and_was_opened_once_more_is_published(
    reading: Reading, reopened: Task
):
    [second] = read(reading)
    bury(reading, second)
    reading.store.media.reopen(second.payload.media, 2)

    assert [task.generation for task in read(reading)] == [3]


def test_a_copy_that_is_being_got_is_not_published_beside(reading: Reading, reopened: Task):
    [second] = read(reading)
    reading.ledger.begin(second, lease_s=1e6)

    assert read(reading) == []


def test_a_ledger_that_was_flushed_costs_one_copy(reading: Reading, reopened: Task):
    read(reading)
    reading.ledger.clear()

    assert [len(read(reading)) for _ in range(2)] == [1, 0]


def test_a_copy_that_was_lost_is_published_by_the_next_reading_though_the_ledger_knows_it(
    reading: Reading, reopened: Task
):
    read(reading)
    reading.clock.advance(1.0)
    reading.open_tasks = 0  # RabbitMQ's data is gone, or the source was purged

    assert reopened.id in [task.id for task in read(reading)]
    assert read(reading) == []


def test_a_moment_without_work_before_the_requeue_proves_nothing(reading: Reading):
    other = "https://feeds.example/other.json"
    reading.serve_pages([["a"]])
    reading.serve([], address=other)
    [first] = read(reading)
    bury(reading, first)
    read(reading, other)  # finds nothing open
    reading.clock.advance(1.0)
    reading.store.media.reopen(first.payload.media, 1)
    again = first.model_copy(update={"generation": 2})
    Telling(Kept([]), reading.ledger).publish([Copy(again)])
    reading.open_tasks = 1

    assert read(reading) == []


def test_what_ended_is_not_published_and_neither_is_its_generation(
    reading: Reading, reopened: Task
):
    [second] = read(reading)
    reading.store.media.end(ending(second))

    assert read(reading) == []


# --- videos in pieces ---


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "of-videos")
    yield store
    store.close()


def wanted(store: Store, ledger: object) -> dict[str, int]:
    return Reopened(store, ledger).wanted("feed", FEED, [a_manifest_payload()], {MEDIA: 2})


def test_a_video_whose_pieces_are_on_their_way_is_not_begun_once_more(
    store: Store, reading: Reading
):
    store.videos.put_plan(a_staged(3).model_copy(update={"generation": 2}))

    assert wanted(store, reading.ledger) == {}


def test_a_video_that_an_earlier_generation_planned_is_begun_again(store: Store, reading: Reading):
    store.videos.put_plan(a_staged(3))

    assert wanted(store, reading.ledger) == {MEDIA: 2}


def test_a_video_whose_join_was_requeued_is_not_begun_once_more(store: Store, reading: Reading):
    join = a_verify_task(media=MEDIA, generation=2)
    Telling(Kept([]), reading.ledger).publish([Copy(join)])

    assert wanted(store, reading.ledger) == {}


# --- telling ---


class Kept:
    """Publishes into a list."""

    def __init__(self, queue: list[Copy]) -> None:
        self.queue = queue
        self.letters: list[DeadLetter] = []

    def publish(self, window: Sequence[Copy]) -> None:
        self.queue.extend(window)

    def bury(self, letter: DeadLetter) -> None:
        self.letters.append(letter)


class Heard:
    """A ledger that notes what it is told of, or is away."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.down = False

    def published(self, copy: Task, **_how: object) -> None:
        if self.down:
            raise SharedStateDown("no answer")
        self.told.append(copy.id)


@pytest.mark.parametrize(
    ("copy", "is_told"),
    [
        (Copy(an_image_task(generation=2)), True),
        (Copy(a_manifest_task(generation=2)), True),
        (Copy(a_verify_task(generation=2)), True),
        (Copy(an_image_task()), False),
        (Copy(a_verify_task(generation=2), delay_s=300.0), False),
    ],
)
def test_the_ledger_is_told_of_first_copies_of_later_generations(copy: Copy, is_told: bool):
    ledger = Heard()
    Telling(Kept([]), ledger).publish([copy])

    assert ledger.told == ([copy.task.id] if is_told else [])


def test_without_the_ledger_it_is_published_all_the_same():
    ledger, queue = Heard(), []
    ledger.down = True
    Telling(Kept(queue), ledger).publish([Copy(an_image_task(generation=2))])

    assert len(queue) == 1


def test_letters_are_buried_as_ever():
    kept = Kept([])
    task = an_image_task(state=State.DEAD)
    Telling(kept, Heard()).bury(DeadLetter(task, GONE))

    assert [letter.task for letter in kept.letters] == [task]
