"""A piece of a video is there whole or not at all, and its last one has the video joined."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from core import errors
from core.fetch.fetcher import Fetcher
from core.ledger.memory import MemoryLedger
from core.model.end import Failure
from core.model.source import SourceTerms
from core.model.task import FragmentPayload, Kind, Task, fragment_task
from core.settings import FetchSettings
from core.steps.fragment import FragmentStep
from core.steps.joining import Joining
from core.steps.run import Run
from core.steps.video_tasks import VideoTasks
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.fetching import LOOPBACK
from tests.support.site import Site, cut, whole
from tests.support.store import open_store
from tests.support.tasks import a_run
from tests.support.videos import MEDIA, SOURCE, QuickDisk, a_staged

BODY = bytes(range(256)) * 200


class Getting:
    """One store, one site, one step; a video of two pieces is planned."""

    def __init__(self, root: Path, site: Site) -> None:
        self.site = site
        self.store = open_store(root, disk=QuickDisk)
        self.clock = FakeClock()
        self.stop = threading.Event()
        self.ledger = MemoryLedger(self.clock)
        self.store.videos.put_plan(a_staged(2))
        fetcher = Fetcher(
            FetchSettings(allow_networks=LOOPBACK, min_free_bytes=0),
            OpenBudget(),
            self.clock,
            self.stop,
            self.store.staging.free_bytes,
        )
        terms = SourceTerms(SOURCE, 10.0, 20)
        joining = Joining(self.store, self.ledger, VideoTasks(5, self.clock))
        self.step = FragmentStep(self.store, fetcher, lambda _source: terms, joining)

    def task(self, piece: int = 0, *, generation: int = 1, **fields: object) -> Task:
        payload = FragmentPayload(
            media=MEDIA, piece=piece, pieces=2, url=self.site.url(f"/{piece}.ts"), **fields
        )
        return fragment_task(SOURCE, payload, generation=generation)

    def run(self, piece: int = 0, *, token: str = "t1", run=Run, **fields: object):
        return list(self.step(a_run(self.task(piece, **fields), token, run)))

    def content(self, piece: int = 0) -> bytes:
        return self.store.videos.path(MEDIA, piece).read_bytes()


@pytest.fixture
def getting(tmp_path):
    with Site() as site:
        getting = Getting(tmp_path, site)
        yield getting
        getting.store.close()


def kinds(actions):
    return [copy.task.kind for action in actions for copy in action.copies]


def test_a_piece_is_put_under_its_number(getting):
    getting.site.serve("/1.ts", BODY)

    getting.run(1)

    assert getting.content(1) == BODY


def test_a_piece_that_is_there_is_not_asked_for_again(getting):
    getting.site.serve("/0.ts", BODY)
    getting.run()

    getting.run(token="t2")

    assert len(getting.site.requests) == 1


def test_a_piece_that_died_in_this_generation_is_not_asked_for_again(getting):
    getting.store.videos.bury(MEDIA, 0, 1, Failure(reason="gone", message="404", passing=False))

    getting.run()

    assert getting.site.requests == []


def test_a_piece_that_died_in_an_earlier_generation_is(getting):
    getting.site.serve("/0.ts", BODY)
    getting.store.videos.bury(MEDIA, 0, 1, Failure(reason="gone", message="404", passing=False))

    getting.run(generation=2)

    assert getting.content() == BODY


def test_only_the_last_piece_has_the_video_joined(getting):
    for piece in range(2):
        getting.site.serve(f"/{piece}.ts", BODY)

    assert kinds(getting.run(0)) == []
    assert kinds(getting.run(1)) == [Kind.VERIFY]


def test_a_piece_that_comes_twice_counts_once(getting):
    getting.site.serve("/0.ts", BODY)

    assert kinds(getting.run(0)) == []
    assert kinds(getting.run(0)) == []


def test_the_last_piece_that_comes_twice_has_it_joined_twice(getting):
    for piece in range(2):
        getting.site.serve(f"/{piece}.ts", BODY)
    getting.run(0)
    getting.run(1)

    assert kinds(getting.run(1, token="t2")) == [Kind.VERIFY]


def test_after_a_flush_the_store_tells_which_pieces_there_were(getting):
    for piece in range(2):
        getting.site.serve(f"/{piece}.ts", BODY)
    getting.run(0)
    getting.ledger.clear()

    assert kinds(getting.run(1)) == [Kind.VERIFY]


def test_a_range_is_asked_for_and_nothing_else_is_kept(getting):
    getting.site.serve("/0.ts", BODY)

    getting.run(start=100, length=50)

    assert getting.site.requests[0].headers["Range"] == "bytes=100-149"
    assert getting.content() == BODY[100:150]


def test_a_page_instead_of_a_piece_is_refused_and_not_kept(getting):
    getting.site.serve("/0.ts", b"<!DOCTYPE html><title>log in</title>", content_type="video/mp2t")

    with pytest.raises(errors.NotMedia) as caught:
        getting.run()

    assert caught.value.reason == "html_instead_of_media"
    assert not getting.store.videos.has(MEDIA, 0)


def test_an_empty_piece_is_no_piece(getting):
    getting.site.serve("/0.ts", b"")

    with pytest.raises(errors.EmptyBody):
        getting.run()

    assert not getting.store.videos.has(MEDIA, 0)


def test_a_cut_piece_is_resumed_and_not_kept_before_it_is_whole(getting):
    getting.site.on("/0.ts", cut(BODY, after=9000, etag='"v1"'), whole(BODY, etag='"v1"'))

    with pytest.raises(errors.Truncated):
        getting.run()
    assert not getting.store.videos.has(MEDIA, 0)
    getting.run(token="t2")

    assert getting.content() == BODY
    assert getting.site.requests[1].headers["Range"] == "bytes=9000-"


def test_a_run_that_hands_over_leaves_its_bytes_to_the_next(getting):
    body = BODY * 100
    getting.site.serve("/0.ts", body, etag='"v1"')

    class StoppedInTheMiddle(Run):
        def progress(self, size_bytes):
            super().progress(size_bytes)
            getting.stop.set()

    with pytest.raises(errors.Released):
        getting.run(run=StoppedInTheMiddle)
    getting.stop.clear()
    getting.run(token="t2")

    assert getting.content() == body
    assert getting.site.requests[1].headers["Range"] is not None


def test_nothing_half_got_is_left_beside_a_piece(getting):
    getting.site.on("/0.ts", cut(BODY, after=9000, etag='"v1"'), whole(BODY, etag='"v1"'))
    with pytest.raises(errors.Truncated):
        getting.run()

    getting.run(token="t2")

    shelf = getting.store.videos.path(MEDIA, 0).parent.parent
    assert [path.name for path in shelf.iterdir()] == [f"{MEDIA}.pieces"]


def test_a_run_that_lost_its_lease_has_nothing_joined(getting):
    getting.site.serve("/0.ts", BODY)
    run = a_run(getting.task(), "t1")
    getting.run()
    run.lose()

    with pytest.raises(errors.LeaseLost):
        list(getting.step(run))
