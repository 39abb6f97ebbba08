from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli.main import run
from core.clock import SystemClock
from core.queue.publisher import RabbitPublisher
from tests.support.dead_letters import letter, on_the_lane, picture
from tests.support.store import open_store

pytestmark = [pytest.mark.rabbitmq, pytest.mark.redis]


@pytest.fixture
def publisher(
    alone: Path, vhost_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RabbitPublisher]:
    open_store(alone / "headrace-store").close()
    monkeypatch.setenv("HEADRACE_RABBITMQ_URL", vhost_url)
    monkeypatch.setenv("HEADRACE_REDIS_URL", redis_url)
    with RabbitPublisher(vhost_url, ["feed"], SystemClock()) as made:
        yield made


def test_what_is_requeued_after_a_purge_is_not_taken_for_what_was_purged(
    publisher: RabbitPublisher, vhost_url: str
):
    publisher.bury(letter(picture(1, serial=7)))
    run(["purge", "feed", "--yes"])
    purged_by = SystemClock().now() * 1000

    assert run(["dead", "requeue", "--source", "feed"]) == 0
    [task] = on_the_lane(vhost_url)
    assert task.serial >= purged_by - 1


@pytest.mark.parametrize(
    ("command", "heading"),
    [
        ("requeue", "feed: would have requeued 1 task"),
        ("discard", "feed: would have discarded 1 letter"),
    ],
)
def test_what_would_be_done_is_told_before_the_tasks_that_it_means(
    publisher: RabbitPublisher, command: str, heading: str, capsys
):
    publisher.bury(letter(picture(1)))

    assert run(["dead", command, "--source", "feed", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == heading
    assert lines[1].startswith("  image-")
