from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli.main import run
from core.cli.purge import marked
from core.clock import SystemClock
from core.ledger.redis import RedisLedger
from core.model.switch import Switch
from core.model.task import Kind
from core.ports import Copy, Lease
from core.queue.publisher import RabbitPublisher
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.dead_letters import on_the_lane, picture
from tests.support.queue import eventually
from tests.support.store import open_store

NOWHERE = """
[broker]
url = "amqp://user:secret@127.0.0.1:1/%2F"
[redis]
url = "redis://127.0.0.1:1/0"
"""


@pytest.fixture
def store(alone: Path) -> Path:
    open_store(alone / "headrace-store").close()
    return alone / "headrace-store"


@pytest.fixture
def publisher(
    vhost_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RabbitPublisher]:
    monkeypatch.setenv("HEADRACE_RABBITMQ_URL", vhost_url)
    monkeypatch.setenv("HEADRACE_REDIS_URL", redis_url)
    with RabbitPublisher(vhost_url, ["feed"], SystemClock()) as made:
        made.publish([Copy(picture(number, serial=number)) for number in range(3)])
        yield made


def mark(store: Path) -> int | None:
    return Store.look(store, clock=FakeClock()).switches.read().of("feed").purged_before


def test_a_later_purge_never_goes_back():
    assert marked(Switch(), 5).purged_before == 6
    assert marked(Switch(purged_before=9), 5).purged_before == 10
    assert marked(Switch(rate=2.0), 5).rate == 2.0


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_dry_run_tells_and_changes_nothing(
    store: Path, publisher: RabbitPublisher, vhost_url: str, capsys
):
    assert run(["purge", "feed", "--dry-run"]) == 0
    assert "would drop 3 tasks in its lanes (feed.image 3), 0 delayed" in capsys.readouterr().out
    assert mark(store) is None
    assert publisher.ready("feed", Kind.IMAGE) == 3


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_what_waits_is_dropped_and_what_is_submitted_later_is_kept(
    store: Path, publisher: RabbitPublisher, vhost_url: str, capsys
):
    before = SystemClock().now() * 1000
    assert run(["purge", "feed", "--yes"]) == 0
    later = picture(9, serial=round(SystemClock().now() * 1000))
    publisher.publish([Copy(later)])
    again = run(["purge", "feed", "--dry-run"])
    said = capsys.readouterr().out

    assert again == 0
    assert "feed.image: dropped 3 tasks" in said
    assert "headrace submit --unfinished FEED\n" in said
    assert mark(store) >= before - 1
    assert [task.id for task in on_the_lane(vhost_url)] == [later.id]


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_what_was_put_off_since_is_dropped_with_what_it_follows_from(
    store: Path, publisher: RabbitPublisher, vhost_url: str
):
    publisher.publish([Copy(picture(9, serial=10**14, submitted_ms=7))])

    assert run(["purge", "feed", "--yes"]) == 0
    assert on_the_lane(vhost_url) == []


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_purged_task_begins_anew_when_it_is_submitted_again(
    store: Path, publisher: RabbitPublisher, redis_url: str
):
    ledger = RedisLedger(redis_url)
    retried = picture(1, serial=7, attempts=3)
    ledger.published(retried, delay_s=0.0, token=None)
    publisher.publish([Copy(retried)])
    run(["purge", "feed", "--yes"])
    lease = ledger.begin(picture(1, serial=10**13), lease_s=30.0)
    ledger.close()

    assert isinstance(lease, Lease)
    assert lease.task.attempts == 0


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_what_is_delayed_holds_up_nothing_that_is_submitted_later(
    store: Path, publisher: RabbitPublisher, redis_url: str
):
    """It lies in the delay queues for hours, and is dropped when it comes back."""
    ledger = RedisLedger(redis_url)
    for number in range(10, 13):  # not those that lie in the lane
        ledger.published(picture(number, serial=number), delay_s=21_600.0, token=None)
    before = ledger.open_work("feed").delayed
    run(["purge", "feed", "--yes"])
    after = ledger.open_work("feed").delayed
    ledger.close()

    assert (before, after) == (3, 0)


@pytest.mark.rabbitmq
@pytest.mark.redis
@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_it_asks_first_and_only_yes_is_yes(
    answer: str,
    store: Path,
    publisher: RabbitPublisher,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    assert run(["purge", "feed"]) == 1
    assert "Nothing was dropped." in capsys.readouterr().out
    assert mark(store) is None
    assert publisher.ready("feed", Kind.IMAGE) == 3


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_yes_drops(store: Path, publisher: RabbitPublisher, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    assert run(["purge", "feed"]) == 0
    eventually(lambda: publisher.ready("feed", Kind.IMAGE) == 0, "the lane is empty")


def test_without_services_nothing_is_changed(store: Path, alone: Path, capsys):
    (alone / "headrace.toml").write_text(NOWHERE)

    assert run(["purge", "feed", "--yes"]) == 1
    assert "RabbitMQ" in capsys.readouterr().err
    assert mark(store) is None


def test_a_named_store_is_marked_without_services(store: Path, alone: Path):
    (alone / "headrace.toml").write_text(NOWHERE)

    assert run(["purge", "feed", "--yes", "--store", "headrace-store"]) == 0
    assert mark(store) is not None
