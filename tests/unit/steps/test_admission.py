"""How much of a source is let in at once: a long video as a whole, and nothing of the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import Backpressure, HostBusy
from core.ledger.memory import MemoryLedger
from core.manifests import SelectionPolicy
from core.model.source import SourceTerms
from core.model.task import Kind
from core.queue.embedded import EmbeddedQueue
from core.queue.outcome import Settled
from core.steps.actions import Publish
from core.steps.depths import fragment_depth, open_depth
from core.steps.gate import Gate, Marks
from core.steps.manifest import ManifestStep
from core.steps.video_tasks import VideoTasks
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.store import open_store
from tests.support.tasks import a_run
from tests.support.video_world import VideoWorld
from tests.support.videos import SOURCE, Net, QuickDisk, a_manifest_task, manifest_of

FRAGMENTS = 18_000
MARKS = Marks(high_water=2000, low_water=1000)
ANOTHER = "cd" + "0" * 30


def test_one_video_of_18_000_fragments_is_let_in_and_a_second_waits(tmp_path: Path):
    clock = FakeClock()
    queue = EmbeddedQueue({SOURCE: 4}, clock)
    store = open_store(tmp_path, disk=QuickDisk)
    net = Net(manifest_of(FRAGMENTS))
    step = ManifestStep(
        store=store,
        fetcher=net,
        terms=lambda source: SourceTerms(source, 10.0, 20),
        policy=lambda _source: SelectionPolicy(),
        open_fragments=fragment_depth(queue, MemoryLedger(clock)),
        high_water=MARKS.high_water,
        tasks=VideoTasks(5, clock),
    )

    def run(media: str) -> None:
        for action in step(a_run(a_manifest_task(media))):
            assert isinstance(action, Publish)
            queue.publish(action.copies)

    def get(fragments: int) -> None:
        for _ in range(fragments):
            delivery = queue.take(0.0)
            delivery.outcome = Settled()
            queue.end(delivery)

    run("ab" + "0" * 30)
    with pytest.raises(Backpressure, match=r"has 18000 fragments open, .* the next manifest waits"):
        run(ANOTHER)
    admitted = queue.ready(SOURCE, Kind.FRAGMENT)
    page_is_let_in = Gate().lets_in(SOURCE, open_depth(queue, MemoryLedger(clock))(SOURCE), MARKS)
    asked = net.asked.total()
    get(FRAGMENTS - MARKS.high_water)
    net.manifest = manifest_of(3)  # as long a one would only take as long again
    run(ANOTHER)
    store.close()

    assert admitted == FRAGMENTS
    assert not page_is_let_in
    assert asked == 1
    assert queue.ready(SOURCE, Kind.FRAGMENT) == MARKS.high_water + 3


def test_fragments_that_their_host_keeps_waiting_hold_back_the_next_manifest(tmp_path: Path):
    """A host that answers «slower» has them in the delay queues, where no lane shows them."""
    world = VideoWorld(tmp_path, 6, high_water=2)
    world.put(a_manifest_task())
    world.deliver(world.due()[0])
    world.net.faults = dict.fromkeys(range(6), _slower)
    while pieces := [one for one in world.due() if one.task.kind is Kind.FRAGMENT]:
        world.deliver(pieces[0])
    ready = world.ready(SOURCE, Kind.FRAGMENT)
    published = len(world.published)
    world.put(a_manifest_task(ANOTHER))
    [waiting] = [one for one in world.due() if one.task.kind is Kind.MANIFEST]
    world.deliver(waiting)
    world.store.close()

    assert ready == 0
    assert [task.kind for task in world.published[published:]] == [Kind.MANIFEST]


def _slower() -> HostBusy:
    return HostBusy("429", delay_s=3600.0)


# --- two manifests of a source in hand at once ---


class Admitting:
    """Workers that share a store and a lane, each with a step of its own."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.queue = EmbeddedQueue({SOURCE: 4, "press": 4}, self.clock)
        self.root = root
        self.stores: list[Store] = []

    def worker(self) -> ManifestStep:
        self.stores.append(open_store(self.root, disk=QuickDisk))
        return ManifestStep(
            store=self.stores[-1],
            fetcher=Net(manifest_of(30)),
            terms=lambda source: SourceTerms(source, 10.0, 20),
            policy=lambda _source: SelectionPolicy(),
            open_fragments=fragment_depth(self.queue, MemoryLedger(self.clock)),
            high_water=10,
            tasks=VideoTasks(5, self.clock),
        )

    def publish(self, action: object) -> None:
        assert isinstance(action, Publish)
        self.queue.publish(action.copies)


@pytest.fixture
def admitting(tmp_path: Path) -> Iterator[Admitting]:
    admitting = Admitting(tmp_path)
    yield admitting
    for store in admitting.stores:
        store.close()


def test_while_one_manifest_lets_its_video_in_the_next_waits(admitting: Admitting):
    first = admitting.worker()(a_run(a_manifest_task()))
    admitting.publish(next(first))  # the watchdog: no fragment is in the lane yet
    with pytest.raises(Backpressure, match=r"another video of .* is being let in") as held:
        next(admitting.worker()(a_run(a_manifest_task(ANOTHER))))
    for action in first:
        admitting.publish(action)
    with pytest.raises(Backpressure, match="has 30 fragments open"):
        next(admitting.worker()(a_run(a_manifest_task(ANOTHER))))

    assert held.value.delay_s == 5.0


def test_a_manifest_waits_a_moment_for_the_one_that_is_being_let_in(admitting: Admitting):
    first = admitting.worker()(a_run(a_manifest_task()))
    next(first)
    second = admitting.worker()

    def let_the_first_go(_seconds: float, wake: object = None) -> bool:
        first.close()
        return False

    admitting.clock.sleep = let_the_first_go

    assert isinstance(next(second(a_run(a_manifest_task(ANOTHER)))), Publish)


def test_while_one_video_is_let_in_the_manifest_of_the_next_is_read(admitting: Admitting):
    first = admitting.worker()(a_run(a_manifest_task()))
    next(first)
    second = admitting.worker()
    with pytest.raises(Backpressure):
        next(second(a_run(a_manifest_task(ANOTHER))))

    assert second.store.videos.plan(ANOTHER) is not None


def test_what_was_read_while_another_video_came_in_waits_and_is_not_read_again(
    admitting: Admitting,
):
    step = admitting.worker()
    read = step(a_run(a_manifest_task(ANOTHER)))
    next(read)
    read.close()
    for action in admitting.worker()(a_run(a_manifest_task())):
        admitting.publish(action)
    step.fetcher.asked.clear()

    with pytest.raises(Backpressure, match="has 30 fragments open"):
        next(step(a_run(a_manifest_task(ANOTHER))))

    assert not step.fetcher.asked


def test_a_run_that_fails_half_way_lets_the_next_manifest_in(admitting: Admitting):
    first = admitting.worker()(a_run(a_manifest_task()))
    next(first)
    del first  # what a performer does that could not publish

    admitting.publish(next(admitting.worker()(a_run(a_manifest_task(ANOTHER)))))


def test_another_sources_manifest_does_not_wait(admitting: Admitting):
    first = admitting.worker()(a_run(a_manifest_task()))
    next(first)
    other = a_manifest_task(ANOTHER).model_copy(update={"source": "press"})

    admitting.publish(next(admitting.worker()(a_run(other))))
