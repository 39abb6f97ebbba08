"""Addresses that died are named anew by id; an image task goes on with the bytes it holds."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import errors
from core.fetch.fetcher import Fetcher
from core.model.end import MediaEnd
from core.model.post import MediaKind
from core.model.source import SourceTerms
from core.settings import FetchSettings
from core.sources.facebook import FacebookAdapter
from core.sources.facebook_ref import Ref
from core.steps.expiry import Renewal
from core.steps.image import ImageStep
from tests.support import media
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.fetching import LOOPBACK
from tests.support.graph import API, Graph, refused, sizes
from tests.support.site import Site, answer, cut, whole
from tests.support.store import open_store
from tests.support.tasks import a_run, an_image_payload, an_image_task

ADAPTER = FacebookAdapter()
PICTURE = Ref(API, "810001", MediaKind.IMAGE).text()
VIDEO = Ref(API, "830001", MediaKind.VIDEO).text()
BODY = media.jpeg(64, 64) + b"trailing" * 4000
NODE = "/v27.0/810001"
EXPIRED = answer(403, {"Content-Type": "text/plain"}, b"URL signature expired")


def test_a_picture_is_named_anew_by_its_id() -> None:
    graph = Graph()
    graph.on(NODE, sizes("810001", 720, 2048))

    assert [r.width for r in ADAPTER.renew(PICTURE, graph)] == [2048, 720]
    assert graph.asked == [f"{API}/810001?fields=id,images,picture"]


def test_a_video_is_named_anew_by_its_id() -> None:
    graph = Graph()
    graph.on("/v27.0/830001", {"id": "830001", "source": "https://video.fbvid.test/b.mp4?oe=7"})

    (found,) = ADAPTER.renew(VIDEO, graph)
    assert found.url == "https://video.fbvid.test/b.mp4?oe=7"


@pytest.mark.parametrize("node", [refused(100, 33), {"id": "810001", "images": []}])
def test_what_the_source_has_no_more_is_gone(node: object) -> None:
    graph = Graph()
    graph.on(NODE, node)

    with pytest.raises(errors.Gone):
        ADAPTER.renew(PICTURE, graph)


def test_a_cut_answer_is_asked_for_again() -> None:
    graph = Graph()
    graph.on(NODE, b'{"id": "8100')

    with pytest.raises(errors.Truncated):
        ADAPTER.renew(PICTURE, graph)


def test_a_limit_met_on_the_way_is_no_end_of_the_media() -> None:
    graph = Graph()
    graph.on(NODE, refused(4))

    with pytest.raises(errors.Throttled):
        ADAPTER.renew(PICTURE, graph)


@pytest.mark.parametrize("ref", ["", "7", "{}", '{"node": 5, "pick": "image"}', "[" * 9999])
def test_a_ref_that_is_none_is_refused(ref: str) -> None:
    with pytest.raises(errors.Malformed):
        ADAPTER.renew(ref, Graph())


# --- row 5: `oe` passed, or 403 «URL signature expired», days after the feed was read ---


class Getting:
    """A store, a site that is both the API and the files, an image step."""

    def __init__(self, root: Path, site: Site) -> None:
        self.site = site
        self.store = open_store(root)
        self.clock = FakeClock()  # at 1,000,000: 0xF4240
        fetcher = Fetcher(
            FetchSettings(allow_networks=LOOPBACK, min_free_bytes=0),
            OpenBudget(),
            self.clock,
            threading.Event(),
            self.store.staging.free_bytes,
        )
        terms = SourceTerms("facebook", 10.0, 20)
        renewal = Renewal(ADAPTER, self.clock)
        self.step = ImageStep(
            self.store, fetcher, lambda _source: terms, self.clock, lambda _source: renewal
        )
        self.ref = Ref(site.url("/v27.0"), "810001", MediaKind.IMAGE).text()

    def names(self, path: str) -> None:
        """The API's address for the picture, from now on."""
        image = {"source": self.site.url(path), "width": 64, "height": 64}
        self.site.serve(NODE, json.dumps({"id": "810001", "images": [image]}).encode())

    def run(self, path: str, token: str = "t1") -> MediaEnd:
        payload = an_image_payload(self.site.url(path), media="m" * 32, ref=self.ref)
        (end,) = self.step(a_run(an_image_task(payload=payload), token))
        assert isinstance(end, MediaEnd)
        return end

    def object_of(self, end: MediaEnd) -> bytes:
        assert end.file is not None
        return self.store.objects.path(end.file.sha256).read_bytes()


@pytest.fixture
def getting(tmp_path: Path) -> Iterator[Getting]:
    with Site() as site:
        found = Getting(tmp_path, site)
        yield found
        found.store.close()


def test_row_5_an_address_whose_time_is_over_is_never_asked(getting: Getting) -> None:
    getting.site.on("/old.jpg", EXPIRED)
    getting.site.serve("/new.jpg", BODY)
    getting.names("/new.jpg?oe=FFFFFFFF")

    end = getting.run("/old.jpg?oe=F4000")

    assert getting.object_of(end) == BODY
    assert getting.site.asked("/old.jpg") == []


def test_row_5_a_refused_address_is_resolved_and_the_held_bytes_go_on(getting: Getting) -> None:
    getting.site.on("/old.jpg", cut(BODY, after=9000, etag='"v1"'), EXPIRED)
    getting.site.on("/new.jpg", whole(BODY, etag='"v1"'))
    getting.names("/new.jpg")

    with pytest.raises(errors.Truncated):
        getting.run("/old.jpg", token="t1")
    end = getting.run("/old.jpg", token="t2")

    assert getting.object_of(end) == BODY
    assert getting.site.asked("/new.jpg")[0].headers["Range"] == "bytes=9000-"
    assert end.media == "m" * 32


def test_row_5_a_run_resolves_once(getting: Getting) -> None:
    for path in ("/old.jpg", "/new.jpg"):
        getting.site.on(path, EXPIRED)
    getting.names("/new.jpg")

    with pytest.raises(errors.Forbidden):
        getting.run("/old.jpg")

    assert len(getting.site.asked(NODE)) == 1


def test_row_5_a_picture_that_was_taken_down_meanwhile_is_gone(getting: Getting) -> None:
    getting.site.on("/old.jpg", EXPIRED)
    body: Any = refused(100, 33)
    getting.site.on(NODE, answer(400, {}, json.dumps(body).encode()))

    with pytest.raises(errors.Gone) as caught:
        getting.run("/old.jpg")

    assert caught.value.reason == "gone_or_forbidden"
