"""A part of a file, as its host gives it or does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from core.clock import SystemClock
from core.errors import Gone, Malformed, Truncated
from core.fetch.fetcher import Fetcher
from core.manifests import ByteRange, Spans
from core.model.request import Request
from core.settings import FetchSettings
from core.steps.part_of_file import spans_of
from tests.support import media
from tests.support.budget import OpenBudget
from tests.support.fetching import LOOPBACK, terms_of
from tests.support.site import Site, answer

FILM = media.mp4(size_bytes=50_000)
PART = ByteRange(30_000, 68)
BYTES = FILM[PART.start : PART.end]


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def spans() -> Iterator[Spans]:
    fetcher = Fetcher(
        FetchSettings(allow_networks=LOOPBACK, min_free_bytes=0),
        OpenBudget(),
        SystemClock(),
        threading.Event(),
        lambda: 10**12,
    )
    with fetcher.visit(terms_of()) as visit:
        yield spans_of(visit, lambda url: Request(url, "https://pond.example/", {"X-Own": "yes"}))
    fetcher.close()


def partial(body: bytes, told: str) -> object:
    return answer(206, {"Content-Range": told}, body)


def test_just_these_bytes_are_asked_for_and_given(site: Site, spans: Spans):
    site.serve("/film.mp4", FILM)

    assert spans([site.url("/film.mp4")], PART) == BYTES
    [seen] = site.requests
    assert seen.headers["Range"] == "bytes=30000-30067"
    assert seen.headers["Accept-Encoding"] == "identity"
    assert (seen.headers["Referer"], seen.headers["X-Own"]) == ("https://pond.example/", "yes")


def test_the_first_address_that_serves_is_enough(site: Site, spans: Spans):
    site.serve("/film.mp4", FILM)

    assert spans([site.url("/gone.mp4"), site.url("/film.mp4")], PART) == BYTES
    with pytest.raises(Gone):
        spans([site.url("/gone.mp4"), site.url("/also.mp4")], PART)


@pytest.mark.parametrize(
    "told", ["", "bytes 0-67/50000", "bytes 30000-30066/50000", "bytes 30000-300670/50000"]
)
def test_other_bytes_than_asked_for_are_refused_by_name(site: Site, spans: Spans, told: str):
    site.on("/film.mp4", partial(BYTES, told))

    with pytest.raises(Malformed) as caught:
        spans([site.url("/film.mp4")], PART)
    assert caught.value.reason == "range_ignored"


def test_a_host_that_sends_the_whole_file_is_refused_by_name(site: Site, spans: Spans):
    site.on("/film.mp4", answer(200, {}, FILM))

    with pytest.raises(Malformed) as caught:
        spans([site.url("/film.mp4")], PART)
    assert caught.value.reason == "range_ignored"


def test_fewer_bytes_than_told_are_asked_for_again(site: Site, spans: Spans):
    site.on("/film.mp4", partial(BYTES[:-1], "bytes 30000-30067/50000"))

    with pytest.raises(Truncated):
        spans([site.url("/film.mp4")], PART)
