from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli.videos import RunningVideos, VideoMeter, videos_under_way
from core.steps.run import Run
from core.store.store import Store
from tests.support.clock import FakeClock
from tests.support.runs import incomplete_end
from tests.support.staged import put, staged_video
from tests.support.store import MEDIA, open_store
from tests.support.tasks import a_fragment_task, an_image_task

URL = "http://mill.example/index.m3u8"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path)
    yield store
    store.close()


def a_run(piece: int = 0) -> Run:
    return Run(a_fragment_task(MEDIA, piece), token="t", renew_until=1e9, granted=print)


def test_a_video_is_as_far_as_its_pieces(store: Store):
    store.videos.put_plan(staged_video(3))
    put(store, 0, b"one")
    put(store, 2, b"two")

    assert list(videos_under_way(store)) == [VideoMeter(URL, 2, 3)]


def test_what_is_half_got_of_a_plain_file_is_no_video(store: Store):
    store.staging.take(MEDIA, "token").path.write_bytes(b"half")

    assert list(videos_under_way(store)) == []


def test_a_running_video_is_looked_at_once_a_second(store: Store):
    clock = FakeClock()
    running = RunningVideos(store, clock)
    store.videos.put_plan(staged_video(3))

    before = running.read([a_run()])
    put(store, 0, b"one")
    clock.advance(0.5)
    at_once = running.read([a_run(1)])
    clock.advance(0.6)
    later = running.read([a_run(1)])

    assert [meter.done for meters in (before, at_once, later) for meter in meters] == [0, 0, 1]


def test_a_video_stays_between_two_of_its_pieces_and_goes_with_its_end(store: Store):
    clock = FakeClock()
    running = RunningVideos(store, clock)
    store.videos.put_plan(staged_video(3))
    running.read([a_run()])
    clock.advance(2.0)
    between = running.read([])

    store.media.end(incomplete_end(1, (2,), 3, media=MEDIA))
    clock.advance(2.0)

    assert len(between) == 1
    assert running.read([a_run()]) == ()


def test_a_run_of_a_plain_file_is_no_video(store: Store):
    run = Run(an_image_task(), token="t", renew_until=1e9, granted=print)

    assert RunningVideos(store, FakeClock()).read([run]) == ()
