"""A worker's idle threads end when it is told to, and not at their next look."""

from __future__ import annotations

import time
from queue import Empty

import dramatiq
import pytest
from dramatiq.brokers.stub import StubBroker

from core.cli.prompt_worker import PromptWorker, _WorkQueue

LOOK_MS = 30_000  # between an idle thread's looks
AT_ONCE_S = 10.0


def test_threads_that_have_nothing_to_do_end_at_once():
    broker = StubBroker()
    dramatiq.actor(lambda: None, actor_name="idle", broker=broker)
    worker = PromptWorker(broker, worker_threads=4, worker_timeout=LOOK_MS)
    worker.start()
    began = time.monotonic()
    for consumer in worker.consumers.values():  # the stub's waits as long as it is told
        consumer.stop()

    worker.workers[0].stop()
    worker._work.end()
    worker.workers[0].join(AT_ONCE_S)

    assert not worker.workers[0].is_alive()
    assert time.monotonic() - began < LOOK_MS / 1000


def test_what_lies_in_an_ended_queue_can_still_be_got():
    work = _WorkQueue()
    work.put("left")
    work.end()

    assert work.get(timeout=LOOK_MS) == "left"
    with pytest.raises(Empty):
        work.get(timeout=LOOK_MS)
