"""Pieces whose addresses die, lie at several places, and are told their size: got all the same, or
refused by name (rows 2, 19 and 32 of the faults seen in public)."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from core import errors
from core.fetch.fetcher import Fetcher
from core.ledger.memory import MemoryLedger
from core.manifests import SelectionPolicy
from core.model.source import SourceTerms
from core.model.task import FragmentPayload, Task, fragment_task, media_task
from core.settings import FetchSettings
from core.sources.bilibili import BilibiliAdapter
from core.steps.expiry import Renewal
from core.steps.fragment import FragmentStep
from core.steps.joining import Joining
from core.steps.manifest import ManifestStep
from core.steps.video_tasks import VideoTasks
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.fetching import LOOPBACK
from tests.support.site import Behaviour, Exchange, Site, answer, cut, whole
from tests.support.store import open_store
from tests.support.tasks import a_run
from tests.support.videos import MEDIA, SOURCE, QuickDisk, a_manifest_payload

BODY = bytes(range(256)) * 40
REFERER = "https://www.bilibili.com/"
PLAYURL = "/x/player/playurl"


class World:
    """A store, a site that speaks playurl, and the steps that read it."""

    def __init__(self, root: Path, site: Site) -> None:
        self.site = site
        self.store = open_store(root, disk=QuickDisk)
        self.clock = FakeClock(start=1_781_900_000.0)
        ledger, stop = MemoryLedger(self.clock), threading.Event()
        settings = FetchSettings(allow_networks=LOOPBACK, min_free_bytes=0)
        fetcher = Fetcher(settings, OpenBudget(), self.clock, stop, self.store.staging.free_bytes)
        terms, tasks = SourceTerms(SOURCE, 10.0, 20), VideoTasks(5, self.clock)
        self.manifest_step = ManifestStep(
            store=self.store,
            fetcher=fetcher,
            terms=lambda _source: terms,
            policy=lambda _source: SelectionPolicy(),
            open_fragments=lambda _source: 0,
            high_water=1000,
            tasks=tasks,
        )
        self.step = FragmentStep(
            self.store,
            fetcher,
            lambda _source: terms,
            Joining(self.store, ledger, tasks),
            lambda _source: Renewal(BilibiliAdapter(), self.clock),
        )

    def offer(self, *urls: str, size_bytes: int = len(BODY), **more: Any) -> bytes:
        """A playurl answer with these parts."""
        parts = [
            {"order": n, "length": 4000, "size": size_bytes, "url": url} | more
            for n, url in enumerate(urls, 1)
        ]
        data = {"timelength": 4000 * len(urls), "format": "flv", "durl": parts}
        return json.dumps({"code": 0, "data": data}).encode()

    def dying(self, path: str, in_s: float) -> str:
        """An address that lives so long."""
        return self.site.url(f"{path}?deadline={int(self.clock.now() + in_s)}&upsig=s")

    def planned(self) -> list[Task]:
        """The fragments of what the site offers now."""
        url = self.site.url(f"{PLAYURL}?bvid=BV1&cid=2")
        payload = a_manifest_payload(url=url, referer=REFERER)
        actions = list(self.manifest_step(a_run(media_task(SOURCE, payload))))
        copies = [copy for action in actions for copy in action.copies]
        return [c.task for c in copies if isinstance(c.task.payload, FragmentPayload)]

    def get(self, task: Task, token: str = "t1") -> None:
        list(self.step(a_run(task, token)))

    def content(self, piece: int = 0) -> bytes:
        return self.store.videos.path(MEDIA, piece).read_bytes()


@pytest.fixture
def world(tmp_path):
    with Site() as site:
        world = World(tmp_path, site)
        yield world
        world.store.close()


def guarded(body: bytes, *, range_too: bool = False) -> Behaviour:
    """A stream host: without the right Referer, or without a range, 403."""
    serve = whole(body)

    def behave(exchange: Exchange) -> None:
        right = (exchange.headers["Referer"] or "").startswith(REFERER)
        if not right or (range_too and exchange.headers["Range"] is None):
            exchange.answer(403)
        else:
            serve(exchange)

    return behave


# --- row 2 ---


@pytest.mark.parametrize("range_too", [False, True])
def test_row_2_the_referer_and_a_range_go_with_every_first_request(world, range_too):
    world.site.on("/1.flv", guarded(BODY, range_too=range_too))
    world.site.serve(PLAYURL, world.offer(world.site.url("/1.flv")))
    (task,) = world.planned()

    world.get(task)

    assert world.content() == BODY
    (asked,) = world.site.asked("/1.flv")
    assert (asked.headers["Referer"], asked.headers["Range"]) == (REFERER, "bytes=0-")


def test_row_2_a_resumed_piece_asks_for_the_rest_with_its_referer(world):
    world.site.on("/1.flv", cut(BODY, after=5000, etag='"1"'), whole(BODY, etag='"1"'))
    world.site.serve(PLAYURL, world.offer(world.site.url("/1.flv")))
    (task,) = world.planned()

    with pytest.raises(errors.Truncated):
        world.get(task)
    world.get(task, "t2")

    assert world.content() == BODY
    second = world.site.asked("/1.flv")[1]
    assert (second.headers["Referer"], second.headers["Range"]) == (REFERER, "bytes=5000-")


def test_row_2_without_its_referer_a_stream_is_forbidden_and_not_gone(world):
    world.site.on("/1.flv", guarded(BODY))
    payload = FragmentPayload(media=MEDIA, piece=0, pieces=1, url=world.site.url("/1.flv"))

    with pytest.raises(errors.Forbidden, match="Referer"):
        world.get(fragment_task(SOURCE, payload))


# --- row 19 ---


def test_row_19_every_part_is_a_fragment_in_its_order(world):
    urls = [world.site.url(f"/{n}.flv") for n in (1, 2, 3)]
    world.site.serve(PLAYURL, world.offer(*urls))

    payloads = [task.payload for task in world.planned()]

    assert [(one.piece, one.url, one.size_bytes) for one in payloads] == [
        (number, url, len(BODY)) for number, url in enumerate(urls)
    ]


@pytest.mark.parametrize("told", [len(BODY) - 1, len(BODY) + 1])
def test_row_19_a_part_of_another_size_than_told_is_no_part(world, told):
    world.site.serve("/1.flv", BODY)
    world.site.serve(PLAYURL, world.offer(world.site.url("/1.flv"), size_bytes=told))
    (task,) = world.planned()

    with pytest.raises(errors.Truncated, match=f"{told:,}") as caught:
        world.get(task)
    assert caught.value.reason == "size_mismatch"
    assert not world.store.videos.has(MEDIA, 0)


def test_row_19_a_part_that_came_short_is_got_whole_by_the_next_try(world):
    world.site.on("/1.flv", whole(BODY[:-7]), whole(BODY))
    world.site.serve(PLAYURL, world.offer(world.site.url("/1.flv")))
    (task,) = world.planned()

    with pytest.raises(errors.Truncated):
        world.get(task)
    world.get(task, "t2")

    assert world.content() == BODY


def test_the_video_is_joined_only_when_every_part_is_there(world):
    for number in (1, 2, 3):
        world.site.serve(f"/{number}.flv", BODY)
    urls = [world.site.url(f"/{n}.flv") for n in (1, 2, 3)]
    world.site.serve(PLAYURL, world.offer(*urls))
    tasks = world.planned()

    joins = [len(list(world.step(a_run(task)))) for task in tasks]

    assert joins == [0, 0, 1]


# --- row 32 ---


def test_row_32_a_dead_address_is_never_asked(world):
    world.site.serve("/new.flv", BODY)
    world.site.serve(PLAYURL, world.offer(world.dying("/old.flv", 2)))
    (task,) = world.planned()
    world.clock.advance(5)
    world.site.serve(PLAYURL, world.offer(world.dying("/new.flv", 7200)))

    world.get(task)

    assert world.content() == BODY
    assert world.site.asked("/old.flv") == []
    assert len(world.site.asked(PLAYURL)) == 2


def test_row_32_an_address_that_is_refused_is_renewed_once_and_keeps_its_bytes(world):
    etag = '"1"'
    world.site.on("/old.flv", cut(BODY, after=5000, etag=etag), answer(403))
    world.site.serve("/new.flv", BODY, etag=etag)
    world.site.serve(PLAYURL, world.offer(world.dying("/old.flv", 7200)))
    (task,) = world.planned()
    world.site.serve(PLAYURL, world.offer(world.dying("/new.flv", 7200)))

    with pytest.raises(errors.Truncated):
        world.get(task)
    world.get(task, "t2")

    assert world.content() == BODY
    assert [seen.headers["Range"] for seen in world.site.asked("/new.flv")] == ["bytes=5000-"]


def test_row_32_an_address_that_is_refused_and_not_renewed_ends_as_refused(world):
    world.site.on("/old.flv", answer(403))
    world.site.serve(PLAYURL, world.offer(world.dying("/old.flv", 7200)))
    (task,) = world.planned()

    with pytest.raises(errors.Forbidden):
        world.get(task)
    assert len(world.site.asked(PLAYURL)) == 2


def test_row_32_a_file_that_is_offered_no_more_is_gone(world):
    urls = [world.dying(f"/{n}.flv", 2) for n in (1, 2)]
    world.site.serve(PLAYURL, world.offer(*urls))
    _, second = world.planned()
    world.clock.advance(5)
    world.site.serve(PLAYURL, world.offer(urls[0]))

    with pytest.raises(errors.Gone):
        world.get(second)


def test_a_renewal_that_meets_a_challenge_stops_the_source(world):
    world.site.serve(PLAYURL, world.offer(world.dying("/old.flv", 2)))
    (task,) = world.planned()
    world.clock.advance(5)
    world.site.serve(PLAYURL, b'{"code":0,"data":{"v_voucher":"v"}}')

    with pytest.raises(errors.SignedOut) as caught:
        world.get(task)
    assert caught.value.reason == "challenge"


def test_a_renewed_address_that_does_not_serve_has_backups_too(world):
    world.site.serve("/backup.flv", BODY)
    world.site.serve(PLAYURL, world.offer(world.dying("/old.flv", 2)))
    (task,) = world.planned()
    world.clock.advance(5)
    backups = [world.dying("/backup.flv", 7200)]
    world.site.serve(PLAYURL, world.offer(world.dying("/new.flv", 7200), backup_url=backups))

    world.get(task)

    assert world.content() == BODY
    assert world.site.asked("/old.flv") == []


# --- other addresses ---


@pytest.mark.parametrize(
    "first",
    [answer(403), answer(404), answer(500), whole(b"<html>busy</html>"), whole(BODY[:9])],
    ids=["403", "404", "500", "page", "short"],
)
def test_a_backup_serves_where_the_first_does_not(world, first):
    world.site.on("/1.flv", first)
    world.site.serve("/backup.flv", BODY)
    backups = [world.site.url("/backup.flv")]
    offer = world.offer(world.site.url("/1.flv"), backup_url=backups)
    world.site.serve(PLAYURL, offer)
    (task,) = world.planned()

    world.get(task)

    assert world.content() == BODY
    assert len(world.site.asked("/1.flv")) == 1


def test_where_no_address_serves_the_first_ones_refusal_counts(world):
    world.site.on("/1.flv", answer(404))
    world.site.on("/backup.flv", answer(500))
    offer = world.offer(world.site.url("/1.flv"), backup_url=[world.site.url("/backup.flv")])
    world.site.serve(PLAYURL, offer)
    (task,) = world.planned()

    with pytest.raises(errors.Gone):
        world.get(task)


def test_a_host_that_asks_to_wait_is_not_passed_by(world):
    world.site.on("/1.flv", answer(429))
    world.site.serve("/backup.flv", BODY)
    offer = world.offer(world.site.url("/1.flv"), backup_url=[world.site.url("/backup.flv")])
    world.site.serve(PLAYURL, offer)
    (task,) = world.planned()

    with pytest.raises(errors.Throttled):
        world.get(task)
    assert world.site.asked("/backup.flv") == []


def test_a_refused_machine_waits_for_hours(world):
    world.site.on(PLAYURL, answer(412, body=b"<html>412</html>"))

    with pytest.raises(errors.Throttled) as caught:
        world.planned()
    assert caught.value.delay_s is not None
    assert caught.value.delay_s >= 3600
