import re
from pathlib import Path

import pytest

from core.budget.budget import TokenBudget
from core.cli.dead_entries import Selected, ends
from core.cli.main import run
from core.cli.status import of_everything, of_store, told
from core.clock import SystemClock
from core.errors import StorageDown
from core.model.ids import fragment_task_id, media_task_id
from core.model.walk import WalkState
from core.ports import BucketKey
from core.settings import RedisSettings, Settings
from core.steps.ends import write_end
from tests.support.runs import ADDRESS, a_walk, an_app, dead_end, got_end, incomplete_end, payload
from tests.support.staged import put, staged_video


def unreachable(root: Path) -> Settings:
    """Settings whose services are nowhere: port 1 refuses."""
    services = {
        "broker": {"url": "amqp://user:secret@127.0.0.1:1/%2F"},
        "redis": {"url": "redis://:secret@127.0.0.1:1/0"},
    }
    return Settings.model_validate({"store": root} | services)


def filled(root: Path, state: WalkState = WalkState.COMPLETE) -> Settings:
    app = an_app(root)
    a_walk(app.store, 1, 2, state=state)
    write_end(app.store, got_end(1, b"12345"))
    write_end(app.store, dead_end(2))
    app.close()
    return unreachable(root)


def test_a_store_tells_what_is_done_and_dead(tmp_path: Path):
    [source] = of_store(filled(tmp_path)).sources

    assert (source.source, source.done, source.dead, source.bytes) == ("feed", 1, 1, 5)
    assert source.ready is None


def test_a_store_can_be_looked_at_while_a_run_has_it(tmp_path: Path):
    settings = filled(tmp_path)
    app = an_app(tmp_path)
    app.store.feeds.all()
    found = of_store(settings)
    app.close()

    assert found.sources[0].done == 1


def test_counts_that_a_kill_may_have_cut_are_told_as_such(tmp_path: Path):
    settings = filled(tmp_path)
    before = of_store(settings).notes
    [sums] = (tmp_path / "sums").iterdir()
    sums.write_bytes(sums.read_bytes().removesuffix(b"closed\n"))

    assert before == []
    assert "until `headrace sums`" in of_store(settings).notes[0]


def test_a_broken_feed_is_told(tmp_path: Path):
    found = of_store(filled(tmp_path, WalkState.BROKEN))

    assert [feed.address for feed in found.feeds] == [ADDRESS]
    assert "is broken (page 2: status 500)" in list(told(found))[-1]


def test_no_store_is_said_so_and_none_is_made(tmp_path: Path):
    with pytest.raises(StorageDown, match="there is no store"):
        of_store(Settings(store=tmp_path / "none"))

    assert not (tmp_path / "none").exists()


def test_services_that_cannot_be_reached_are_named_without_their_passwords(tmp_path: Path):
    found = of_everything(filled(tmp_path))
    said = "\n".join(told(found))

    assert found.sources[0].done == 1
    assert "RabbitMQ" in said
    assert "Redis" in said
    assert "secret" not in said


def test_letters_that_nobody_can_count_are_no_number(tmp_path: Path):
    found = of_everything(filled(tmp_path))
    _, row, *_ = told(found)

    assert found.sources[0].dead is None
    assert row.split()[:6] == ["feed", "-", "-", "-", "-", "1"]


def test_a_status_that_lacks_a_server_exits_with_1_and_a_stores_own_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given = filled(tmp_path)
    monkeypatch.setenv("HEADRACE_RABBITMQ_URL", given.broker.url.get_secret_value())
    monkeypatch.setenv("HEADRACE_REDIS_URL", given.redis.url.get_secret_value())
    monkeypatch.setenv("HEADRACE_STORE", str(tmp_path))

    assert run(["status", "--json"]) == 1
    assert run(["status", "--store", str(tmp_path)]) == 0


@pytest.mark.redis
def test_a_host_that_said_slower_is_told_while_its_source_is_open(tmp_path: Path, redis_url: str):
    budget = TokenBudget.redis(redis_url, SystemClock())
    terms = [BucketKey(name, rate=10.0, burst=20) for name in ("feed", "feed/127.0.0.1")]
    budget.take(terms, horizon_s=0.0)
    budget.throttled("feed/127.0.0.1", era=2**52, seconds=600.0)
    budget.close()
    here = filled(tmp_path).model_copy(update={"redis": RedisSettings(url=redis_url)})

    found = of_everything(here)
    said = "\n".join(told(found))

    assert "open but for the hosts below" in said
    assert re.search(r"(?m)^feed/127.0.0.1: blocked for (9 min \d+|10 min 0) s, then 50 %$", said)
    assert [host.slowdowns for host in found.sources[0].budget.hosts] == [1]


def test_nobody_to_ask_is_no_status(tmp_path: Path):
    found = of_everything(unreachable(tmp_path / "none"))

    assert not found.answered
    assert len(found.notes) == 3


def test_a_source_that_nothing_happened_to_has_zeros_where_the_store_knows(tmp_path: Path):
    app = an_app(tmp_path)
    a_walk(app.store)
    app.close()

    [source] = of_everything(unreachable(tmp_path)).sources

    assert (source.done, source.bytes, source.ready) == (0, 0, None)


def test_dead_ends_of_a_store_are_listed_by_the_ids_of_their_tasks(tmp_path: Path):
    settings = filled(tmp_path)
    ident = media_task_id("image", payload(2).media)

    every = list(ends(settings, Selected(settings, (), (), None), 10))
    by_id = list(ends(settings, Selected(settings, (), (ident,), None), 10))
    by_reason = list(ends(settings, Selected(settings, (), (), "timeout"), 10))

    assert [entry.id for entry in every] == [ident]
    assert by_id == every
    assert by_reason == []
    assert (every[0].http_status, every[0].reason) == (404, "gone")


def test_an_incomplete_video_is_listed_with_its_pieces_and_found_by_any_id(tmp_path: Path):
    app = an_app(tmp_path)
    write_end(app.store, incomplete_end(1, (2, 6), 20))
    app.close()
    settings, fragment = unreachable(tmp_path), fragment_task_id(payload(1).media, 6)

    [entry] = ends(settings, Selected(settings, (), (), None), 10)
    by_fragment = list(ends(settings, Selected(settings, (), (fragment,), None), 10))

    assert entry.subject == "https://pictures.example/1.jpg (pieces 3, 7 of 20)"
    assert by_fragment == [entry]
    assert of_store(settings).sources[0].dead == 1


def test_a_video_under_way_is_told_with_its_pieces(tmp_path: Path):
    app = an_app(tmp_path)
    app.store.videos.put_plan(staged_video(3))
    put(app.store, 1, b"piece")
    app.close()

    found = of_store(unreachable(tmp_path))

    assert list(told(found))[-1] == "video    1 of 3 pieces  http://mill.example/index.m3u8"


def test_a_video_that_ended_is_not_under_way(tmp_path: Path):
    app = an_app(tmp_path)
    staged = staged_video(3)
    app.store.videos.put_plan(staged)
    write_end(app.store, incomplete_end(1, (2,), 3, media=staged.payload.media))
    app.close()

    assert of_store(unreachable(tmp_path)).videos == []
