"""The sample site's named sources refuse as the real ones do: who brings no token, no cookie, no
Referer, no living ticket; and once whoever asks at all."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from core.model.addresses import with_parameters
from core.settings import load
from core.sources import adapter
from core.steps.terms import source_terms
from scripts.sample_site import bilibili, facebook, settings, weibo
from scripts.sample_site.site import SampleSite
from scripts.sample_site.speaking import GUARDED

SECOND_PAGES = (
    f"{facebook.EDGE}?after=third",
    f"{weibo.MOBILE}?containerid=1&since_id=5310000000000400",
    f"{weibo.DESKTOP}?uid=1&since_id=1",
    f"{weibo.OPEN}?uid=1&max_id=5310000000000150&access_token={weibo.TOKEN}",
    f"{bilibili.DYNAMICS}?offset=1",
)
SIGNED = {
    "Authorization": f"Bearer {facebook.TOKEN}",
    "Cookie": f"{weibo.COOKIE}",
    "X-XSRF-TOKEN": "said-twice",
}
POST = "/statuses/show?id=Qa2sluice"


@pytest.fixture(scope="module")
def running() -> Iterator[SampleSite]:
    with SampleSite() as site:
        yield site


@pytest.fixture
def site(running: SampleSite) -> SampleSite:
    running.begin_anew()
    return running


def ask(site: SampleSite, url: str, **headers: str) -> tuple[int, Any]:
    """Status and body; `_` stands for `-` in the headers' names."""
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection = http.client.HTTPConnection(urlsplit(site.address).netloc, timeout=5)
    try:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", target, headers=told)
        reply = connection.getresponse()
        body = reply.read()
    finally:
        connection.close()
    is_json = (reply.headers["Content-Type"] or "").startswith("application/json")
    return reply.status, json.loads(body) if is_json else body


def ask_signed(site: SampleSite, url: str) -> tuple[int, Any]:
    cookie = bilibili.COOKIE if url.startswith("/x/") else weibo.COOKIE
    return ask(site, url, **SIGNED | {"Cookie": cookie})


def film(site: SampleSite) -> str:
    """Its address today, as its post's own page tells it."""
    _, post = ask_signed(site, POST)
    return str(post["data"]["page_info"]["urls"]["mp4_720p_mp4"])


# --- who asks ---


def test_without_a_token_the_graph_says_so_in_the_body(site: SampleSite):
    status, body = ask(site, f"{facebook.EDGE}?access_token={facebook.TOKEN}")

    assert (status, body["error"]["code"]) == (400, 190)


def test_without_a_cookie_weibo_asks_to_log_in(site: SampleSite):
    assert ask(site, weibo.MOBILE)[1]["ok"] == -100
    assert ask(site, weibo.DESKTOP)[0] == 302
    assert ask(site, weibo.DESKTOP, Cookie=weibo.COOKIE)[0] == 302  # nor without its second word


def test_without_a_token_the_open_api_says_so_in_the_body(site: SampleSite):
    status, body = ask(site, f"{weibo.OPEN}?uid=1&access_token=another")

    assert (status, body["error_code"]) == (400, 21327)


def test_without_a_cookie_bilibili_says_so_with_status_200(site: SampleSite):
    status, body = ask(site, bilibili.DYNAMICS)

    assert (status, body["code"]) == (200, -101)


# --- how often ---


@pytest.mark.parametrize("page", SECOND_PAGES)
def test_each_list_throttles_once(site: SampleSite, page: str):
    statuses = [ask_signed(site, page)[0] for _ in range(3)]
    site.begin_anew()

    assert statuses[0] in (400, 429)
    assert statuses[1:] == [200, 200]
    assert ask_signed(site, page)[0] == statuses[0]


# --- files ---


@pytest.mark.parametrize(("referer", "status"), [("https://m.weibo.cn/", 200), ("", 403)])
def test_weibos_pictures_want_a_referer(site: SampleSite, referer: str, status: int):
    assert ask(site, "/large/00pinnedly1h8quern.jpg", Referer=referer)[0] == status


def test_smaller_sizes_are_other_pictures(site: SampleSite):
    small = ask(site, "/orj360/00pinnedly1h8quern.jpg", Referer="https://weibo.com/")[1]

    assert small == (GUARDED / "weibo" / "small.jpg").read_bytes()


def test_a_ticket_opens_its_own_file_for_its_own_time(site: SampleSite):
    url = film(site)
    other = url.replace("sluice.mp4", "lantern.mov")
    longer = url.replace("Expires=1", "Expires=2")

    assert [ask(site, one)[0] for one in (url, other, longer)] == [200, 403, 403]


def test_a_lists_address_of_a_film_is_dead(site: SampleSite):
    ask_signed(site, SECOND_PAGES[1])
    _, listed = ask_signed(site, SECOND_PAGES[1])
    cards = [card["mblog"] for card in listed["data"]["cards"][1]["card_group"]]
    dead = next(post["page_info"] for post in cards if "page_info" in post)

    assert ask(site, dead["urls"]["mp4_720p_mp4"])[0] == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Referer": bilibili.REFERER, "Range": "bytes=0-"}, 206),
        ({"Range": "bytes=0-"}, 403),
        ({"Referer": bilibili.REFERER}, 403),
    ],
)
def test_streams_want_a_referer_and_a_range(site: SampleSite, headers: dict[str, str], status: int):
    _, told = ask_signed(site, f"{bilibili.PLAYURL}?bvid={bilibili.BANK}&cid=88002")
    [_, first] = told["data"]["durl"]

    assert ask(site, first["url"], **headers)[0] == status


def test_guarded_files_are_at_no_open_address(site: SampleSite):
    bodies = {resource.body for resource in site.resources.values()}

    assert not [file for file in GUARDED.rglob("*.*") if file.read_bytes() in bodies]


# --- the settings ---


def test_the_settings_name_a_feed_of_each_source_and_sign_it(site: SampleSite, tmp_path: Path):
    given = load(settings.write(tmp_path, site.address))

    assert set(given.feeds) == {one.feed for one in settings.NAMED}
    for feed in given.feeds.values():
        source = given.source(feed.source)
        terms = source_terms(feed.source, source)
        request = adapter(source.adapter).request(feed.address, None)
        assert request is not None
        signed = {name.replace("-", "_"): value for name, value in terms.secret_headers.items()}
        status, told = ask(site, with_parameters(request.url, terms.secret_query), **signed)
        assert status == 200
        assert told.get("ok", 1) == 1
        assert told.get("code", 0) == 0


def test_secrets_are_for_their_owner_only(site: SampleSite, tmp_path: Path):
    settings.write(tmp_path, site.address)

    modes = {file.stat().st_mode & 0o777 for file in tmp_path.glob("*.secret")}
    assert modes == {0o600}
