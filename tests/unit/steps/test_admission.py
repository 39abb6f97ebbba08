"""How much of a source is let in at once: a long video as a whole, and nothing of the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Backpressure
from core.ledger.memory import MemoryLedger
from core.manifests import SelectionPolicy
from core.model.source import SourceTerms
from core.model.task import Kind
from core.queue.embedded import EmbeddedQueue
from core.queue.outcome import Settled
from core.steps.actions import Publish
from core.steps.discover import open_depth
from core.steps.gate import Gate, Marks
from core.steps.manifest import ManifestStep
from core.steps.video_tasks import VideoTasks
from tests.support.clock import FakeClock
from tests.support.store import open_store
from tests.support.tasks import a_run
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
        depths=queue,
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
