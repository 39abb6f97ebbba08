"""The sample site answers as a correct server does, and holds what the demo tells of it."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from collections.abc import Iterator
from email.message import Message
from urllib.parse import urlsplit

import pytest

from core.manifests import Origin, build_plan, choose, parse, read_wanted
from core.settings import SourceSettings
from core.steps.terms import selection_policy
from scripts.sample_site.answers import LAST_MODIFIED, Answer, Resource, answer
from scripts.sample_site.site import DEAD_LINK, PLACEHOLDER, VIDEOS, SampleSite
from tests.support.manifests import no_span

RESOURCE = Resource(b"0123456789", "image/png")


def ask(**headers: str) -> Answer:
    """The answer to a GET with these headers; `_` stands for `-` in their names."""
    asked = Message()
    for name, value in headers.items():
        asked[name.replace("_", "-")] = value
    return answer(RESOURCE, asked)


def test_a_plain_get_gets_everything_with_both_validators():
    reply = ask()

    assert (reply.status, reply.body) == (200, RESOURCE.body)
    assert reply.headers["ETag"] == RESOURCE.etag
    assert reply.headers["Last-Modified"] == LAST_MODIFIED


@pytest.mark.parametrize(
    ("asked", "body", "told"),
    [
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=-99", b"0123456789", "bytes 0-9/10"),
    ],
)
def test_a_range_gets_its_part(asked: str, body: bytes, told: str):
    reply = ask(Range=asked)

    assert (reply.status, reply.body) == (206, body)
    assert reply.headers["Content-Range"] == told


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_past_the_end_is_told_the_size(asked: str):
    reply = ask(Range=asked)

    assert (reply.status, reply.body) == (416, b"")
    assert reply.headers["Content-Range"] == "bytes */10"


@pytest.mark.parametrize(
    "asked", ["bytes=4-2", "bytes=-", "bytes=0-1,3-4", "lines=1-2", "bytes=x-"]
)
def test_what_is_no_single_range_is_ignored(asked: str):
    assert ask(Range=asked).status == 200


@pytest.mark.parametrize("guard", [RESOURCE.etag, LAST_MODIFIED])
def test_a_range_holds_while_the_file_is_the_same(guard: str):
    assert ask(Range="bytes=2-4", If_Range=guard).status == 206


@pytest.mark.parametrize(
    "guard", ['"other"', f"W/{RESOURCE.etag}", "Mon, 04 May 2026 08:00:00 GMT"]
)
def test_a_range_of_another_file_gets_everything(guard: str):
    assert ask(Range="bytes=2-4", If_Range=guard).status == 200


@pytest.mark.parametrize(
    "validator",
    [
        {"If_None_Match": RESOURCE.etag},
        {"If_None_Match": f'"other", {RESOURCE.etag}'},
        {"If_None_Match": "*"},
        {"If_Modified_Since": LAST_MODIFIED},
    ],
)
def test_what_is_unchanged_is_not_sent_again(validator: dict[str, str]):
    reply = ask(**validator)

    assert (reply.status, reply.body) == (304, b"")


def test_another_tag_wins_over_the_same_date():
    assert ask(If_None_Match='"other"', If_Modified_Since=LAST_MODIFIED).status == 200


# --- over the wire ---


@pytest.fixture
def site() -> Iterator[SampleSite]:
    with SampleSite() as running:
        yield running


def fetch(site: SampleSite, path: str, method: str = "GET") -> tuple[int, bytes, Message]:
    connection = http.client.HTTPConnection(urlsplit(site.address).netloc, timeout=5)
    try:
        connection.request(method, path)
        reply = connection.getresponse()
        return reply.status, reply.read(), reply.headers
    finally:
        connection.close()


def linked(site: SampleSite) -> set[str]:
    """Every media address that stands in a feed."""
    feeds = [body.body for path, body in site.resources.items() if "media" not in path]
    found = re.findall(rb"http://[0-9.:]+(/(?:media|archive)/[^\"\s]+)", b"\n".join(feeds))
    return {path.decode() for path in found}


def test_head_tells_the_size_and_sends_nothing(site: SampleSite):
    status, body, headers = fetch(site, "/media/dawn.jpg", "HEAD")

    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == len(site.resources["/media/dawn.jpg"].body)


def test_one_connection_serves_many_requests(site: SampleSite):
    connection = http.client.HTTPConnection(urlsplit(site.address).netloc, timeout=5)
    bodies = []
    for path in ("/media/dawn.jpg", "/media/nothing.jpg", "/walk.txt"):
        connection.request("GET", path)
        bodies.append(connection.getresponse().read())
    connection.close()

    assert [len(body) for body in bodies] == [entry.sent_bytes for entry in site.requests]
    assert [entry.status for entry in site.requests] == [200, 404, 200]


def test_a_client_that_stays_connected_does_not_keep_the_site_open():
    with SampleSite() as site:
        connection = http.client.HTTPConnection(urlsplit(site.address).netloc, timeout=5)
        connection.request("GET", "/walk.txt")
        connection.getresponse().read()

    assert connection.sock.recv(1) == b""
    connection.close()


def test_the_feeds_name_the_port_of_the_day(site: SampleSite):
    for path, resource in site.resources.items():
        assert PLACEHOLDER.encode() not in resource.body, path


def test_the_pages_of_a_feed_lead_to_each_other(site: SampleSite):
    first = fetch(site, "/pictures.rss")[1].decode()
    note = json.loads(fetch(site, "/notebook.json")[1])

    assert f'rel="next" type="application/rss+xml" href="{site.address}/pictures-2.rss"' in first
    assert note["next_url"] == f"{site.address}/notebook-2.json"


def test_every_linked_media_is_there_but_the_dead_link(site: SampleSite):
    missing = {path for path in linked(site) if fetch(site, path)[0] != 200}

    assert missing == {DEAD_LINK}


def test_the_same_bytes_stand_at_another_address(site: SampleSite):
    digests: dict[str, set[str]] = {}
    for path in linked(site) - {DEAD_LINK}:
        digest = hashlib.sha256(site.resources[path].body).hexdigest()
        digests.setdefault(digest, set()).add(path)

    assert sorted(sorted(paths) for paths in digests.values() if len(paths) > 1) == [
        ["/archive/reeds.webp", "/media/reeds.webp"],
        ["/media/dawn-again.jpg", "/media/dawn.jpg"],
    ]


@pytest.mark.parametrize("path", VIDEOS)
def test_every_piece_of_a_video_is_there(path: str, site: SampleSite):
    body, url = fetch(site, path)[1], site.address + path
    offer = parse(body, url)
    choice = choose(offer, selection_policy(SourceSettings()))

    def got(found: str) -> tuple[bytes, str]:
        return fetch(site, urlsplit(found).path)[1], found

    origin = Origin("m", "feed", url, url, hashlib.sha256(body).hexdigest())
    plan = build_plan(origin, choice, read_wanted(offer, choice, got, no_span))

    wanted = [piece.url for piece in plan.pieces] + list(plan.key_urls)
    assert {fetch(site, urlsplit(found).path)[0] for found in wanted} == {200}
    assert len(plan.pieces) == VIDEOS[path]


def test_the_videos_stand_in_the_feeds(site: SampleSite):
    assert set(VIDEOS) <= linked(site)
