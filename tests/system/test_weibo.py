"""A loopback site that speaks Weibo's three interfaces, crawled by the command: cookie or token and
Referer required, more pictures than the list shows, addresses that die."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support import media
from tests.support.command import LOOPBACK, checked, headrace, objects, told
from tests.support.site import Exchange, Site, whole

pytestmark = pytest.mark.system

COOKIE = "SUB=invented-session; XSRF-TOKEN=mark"
TOKEN = "2.00invented"
REFERERS = ("https://weibo.com/", "https://m.weibo.cn/")
INDEX = "/api/container/getIndex"
BLOG = "/ajax/statuses/mymblog"
TIMELINE = "/2/statuses/user_timeline.json"
STILLS = [media.jpeg(40 + number, 30, seed=number) for number in range(12)]
GIF, LIVE, FILM = media.gif(), media.mp4(seed=1), media.mp4(seed=2)


class Weibo:
    """Its interfaces and its file hosts, all in one place."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.lives_s = 3600.0  # by the marks of its addresses
        self.grace_s = 0.0  # for which an address serves beyond its mark
        self.detours = 0
        files = {f"/large/p{number}.jpg": still for number, still in enumerate(STILLS)}
        files |= {"/large/moving.gif": GIF, "/o0/live.mov": LIVE, "/o0/film.mp4": FILM}
        for path, body in files.items():
            site.on(path, self._file(body))
        site.redirect("/moved/p0.jpg", site.url("/large/p0.jpg"))
        site.on(INDEX, self._signed(self._container))
        site.on("/statuses/show", self._signed(self._show))
        site.on(BLOG, self._signed(self._blog))
        site.on("/ajax/statuses/show", self._signed(self._ajax_show))
        site.on(TIMELINE, self._timeline)

    def settings(self, folder: Path, address: str, secret: str = f'cookie = "{COOKIE}"') -> None:
        """A headrace.toml with the member's feed."""
        (folder / "headrace.toml").write_text(
            f'[sources.member]\nadapter = "weibo"\nrate = 500\nburst = 50\n{secret}\n'
            f'secret_hosts = ["127.0.0.1"]\n[feeds.all]\nsource = "member"\n'
            f'address = "{self.site.url(address)}"\n[retries]\nbase_s = 0.1\nfloor_s = 0.1\n'
        )

    def dying(self, path: str) -> str:
        """An address that dies."""
        return self.site.url(f"{path}?Expires={int(time.time() + self.lives_s)}&ssig=s")

    def _file(self, body: bytes) -> Callable[[Exchange], None]:
        serve = whole(body, etag='"1"')

        def behave(exchange: Exchange) -> None:
            dies_at = float(_query(exchange).get("Expires", "inf"))
            right = (exchange.headers["Referer"] or "").startswith(REFERERS)
            if right and dies_at + self.grace_s >= time.time():
                serve(exchange)
            else:
                exchange.answer(403)

        return behave

    def _signed(self, answer: Callable[[dict[str, str]], object]) -> Callable[[Exchange], None]:
        """To the cookie, said twice, and from a page of its own."""

        def behave(exchange: Exchange) -> None:
            headers = exchange.headers
            known = headers["Cookie"] == COOKIE and headers["X-XSRF-TOKEN"] == "mark"
            if known and (headers["Referer"] or "").startswith(REFERERS):
                _json(exchange, answer(_query(exchange)))
            else:
                _json(exchange, {"ok": -100, "url": "https://passport.example.com/"})

        return behave

    # --- the mobile site ---

    def _container(self, asked: dict[str, str]) -> object:
        if "containerid" not in asked:
            tab = {"tab_type": "weibo", "containerid": "1076037"}
            return {"ok": 1, "data": {"tabsInfo": {"tabs": [tab]}}}
        if asked.get("since_id") == "5":
            posts, following = [self._moving()], {}
        elif asked.get("since_id"):
            return {"ok": 0, "msg": "这里还没有内容", "data": {"cards": []}}
        else:
            posts, following = [self._twelve(9)], {"since_id": 5}
        cards = [{"card_type": 9, "mblog": post} for post in posts]
        return {"ok": 1, "data": {"cards": cards, "cardlistInfo": following}}

    def _show(self, asked: dict[str, str]) -> object:
        self.detours += 1
        post = {"Ltwelve": lambda: self._twelve(12), "Lmoving": self._moving}[asked["id"]]()
        return {"ok": 1, "data": post}

    def _twelve(self, shown: int) -> dict[str, object]:
        pics = [self._pic(f"p{number}.jpg") for number in range(shown)]
        pics[0]["large"] = {"url": self.site.url("/moved/p0.jpg")}
        return {"id": "12", "bid": "Ltwelve", "pic_num": 12, "pics": pics}

    def _moving(self) -> dict[str, object]:
        gif = self._pic("moving.gif")
        live = self._pic("p1.jpg") | {"type": "livephoto", "videoSrc": self.dying("/o0/live.mov")}
        film = self._pic("p2.jpg") | {"type": "video", "videoSrc": self.dying("/o0/film.mp4")}
        return {"id": "4", "bid": "Lmoving", "pic_num": 3, "pics": {"0": gif, "1": live, "2": film}}

    def _pic(self, name: str) -> dict[str, Any]:
        return {"pid": name.partition(".")[0], "large": {"url": self.site.url(f"/large/{name}")}}

    # --- the desktop site ---

    def _blog(self, asked: dict[str, str]) -> object:
        posts = {"1": [self._video_post()], "2": [self._pictures_post()]}.get(asked["page"], [])
        since = "5kp2" if asked["page"] == "1" else ""
        return {"ok": 1, "data": {"list": posts, "since_id": since}}

    def _ajax_show(self, _asked: dict[str, str]) -> object:
        self.detours += 1
        return {"ok": 1} | self._video_post()

    def _video_post(self) -> dict[str, object]:
        sheet = {"mime": "image/jpeg", "url": self.site.url("/large/p0.jpg")}
        film = {"mime": "video/mp4", "url": self.dying("/o0/film.mp4"), "size": len(FILM)}
        listed = [{"play_info": sheet}, {"play_info": film}]
        card = {"object_id": "1034:5", "media_info": {"playback_list": listed}}
        return {"id": 9, "mblogid": "Rz9", "page_info": card}

    def _pictures_post(self) -> dict[str, object]:
        infos = {f"p{n}": {"largest": {"url": self.site.url(f"/large/p{n}.jpg")}} for n in (3, 4)}
        return {"id": 8, "mblogid": "Rz8", "pic_ids": ["p4", "p3"], "pic_infos": infos}

    # --- the open API ---

    def _timeline(self, exchange: Exchange) -> None:
        asked = _query(exchange)
        if asked.get("access_token") != TOKEN:
            _json(exchange, {"error": "expired_token", "error_code": 21327}, status=400)
            return
        before = int(asked.get("max_id", "9"))
        ids = [number for number in (8, 7, 6, 5) if number <= before][:2]
        _json(exchange, {"statuses": [self._status(number) for number in ids], "next_cursor": 0})

    def _status(self, number: int) -> dict[str, object]:
        return {
            "idstr": str(number),
            "pic_urls": [{"thumbnail_pic": self.site.url(f"/thumbnail/p{number}.jpg")}],
        }


def _json(exchange: Exchange, body: object, status: int = 200) -> None:
    exchange.answer(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


def _query(exchange: Exchange) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(exchange.path).query).items()}


@pytest.fixture
def weibo() -> Iterator[Weibo]:
    with Site() as site:
        yield Weibo(site)


def crawl(folder: Path) -> Any:
    return headrace("crawl", "all", "--to", "store", *LOOPBACK, "--json", cwd=folder)


def test_the_mobile_sites_posts_end_in_verified_files(weibo: Weibo, tmp_path: Path) -> None:
    """Rows 1, 3, 13 and 31: Referer through a redirect, nine of twelve, a live photo, a GIF."""
    weibo.settings(tmp_path, f"{INDEX}?type=uid&value=7")

    run = crawl(tmp_path)

    assert run.returncode == 0, run.stderr
    assert {*STILLS, GIF, LIVE, FILM} == set(objects(tmp_path / "store").values())
    assert weibo.detours == 1
    assert checked(tmp_path / "store").returncode == 0


def test_the_desktop_sites_posts_end_in_verified_files(weibo: Weibo, tmp_path: Path) -> None:
    weibo.settings(tmp_path, f"{BLOG}?uid=7")

    run = crawl(tmp_path)

    assert run.returncode == 0, run.stderr
    assert {STILLS[3], STILLS[4], FILM} == set(objects(tmp_path / "store").values())


def test_the_open_apis_posts_end_in_verified_files(weibo: Weibo, tmp_path: Path) -> None:
    weibo.settings(tmp_path, f"{TIMELINE}?uid=7", f'token = "{TOKEN}"')

    run = crawl(tmp_path)

    assert run.returncode == 0, run.stderr
    assert {*STILLS[5:9]} == set(objects(tmp_path / "store").values())


@pytest.mark.parametrize(
    ("address", "secret"),
    [(f"{INDEX}?type=uid&value=7", COOKIE), (f"{TIMELINE}?uid=7", TOKEN)],
    ids=["cookie", "token"],
)
def test_a_secret_is_in_nothing_that_is_kept(
    weibo: Weibo, tmp_path: Path, address: str, secret: str
) -> None:
    weibo.settings(tmp_path, address, f'{"token" if secret == TOKEN else "cookie"} = "{secret}"')

    crawl(tmp_path)

    kept = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert kept
    assert not any(secret.encode() in path.read_bytes() for path in kept)


def test_addresses_that_die_at_once_are_asked_for_anew(weibo: Weibo, tmp_path: Path) -> None:
    # Within their last seconds when their turn comes; no 403 may hurry it.
    weibo.lives_s, weibo.grace_s = 4.0, 60.0
    weibo.settings(tmp_path, f"{BLOG}?uid=7")

    run = crawl(tmp_path)

    assert told(run)["got"] == 3
    assert weibo.detours == 1
