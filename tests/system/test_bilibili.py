"""A loopback site that speaks Bilibili's protocol, crawled by the command: cookie, Referer and
range required, addresses that die, videos in tracks and in FLV parts."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support import media
from tests.support.command import LOOPBACK, checked, headrace, objects, told
from tests.support.rendered import Rendered, ffmpeg, frames
from tests.support.site import Exchange, Site, whole

pytestmark = pytest.mark.system

COOKIE = "SESSDATA=invented%2Csession"
REFERER = "https://www.bilibili.com/"
FEED = "/x/polymer/web-dynamic/v1/feed/space"
STILL, GIF, LIVE = media.jpeg(40, 30), media.gif(), media.mp4()


@pytest.fixture(autouse=True)
def _ffmpeg() -> None:
    if which("ffmpeg") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("ffmpeg is missing")


class Bilibili:
    """Its feed, its videos, and its stream hosts, all in one place."""

    def __init__(self, site: Site, folder: Path, rendered: Rendered) -> None:
        self.site = site
        self.flv = [
            self._flv(folder / f"{n}.flv", film)
            for n, film in enumerate((rendered.film, rendered.other), 1)
        ]
        self.files: dict[str, bytes] = {
            "/bfs/still.jpg": STILL,
            "/bfs/moving.gif": GIF,
            "/bfs/live.mp4": LIVE,
            "/up/video.m4s": rendered.picture_fmp4.joined(),
            "/up/audio.m4s": rendered.sound_fmp4.joined(),
            "/up/1.flv": self.flv[0].read_bytes(),
            "/up/2.flv": self.flv[1].read_bytes(),
        }
        self.lives_s = 7200.0  # by the marks of its addresses
        self.grace_s = 0.0  # for which an address serves beyond its mark
        self.answers = 0
        for path, body in self.files.items():
            site.on(path, self._stream(body) if path.startswith("/up/") else whole(body))
        site.on(FEED, self._page)
        site.on("/x/web-interface/view", self._view)
        site.on("/x/player/playurl", self._playurl)

    def settings(self, folder: Path, cookie: str = COOKIE) -> None:
        """A headrace.toml with the member's feed."""
        address = self.site.url(f"{FEED}?host_mid=7")
        (folder / "headrace.toml").write_text(
            f'[sources.member]\nadapter = "bilibili"\nrate = 500\nburst = 50\ncookie = "{cookie}"\n'
            f'secret_hosts = ["127.0.0.1"]\n[feeds.all]\nsource = "member"\n'
            f'address = "{address}"\n[retries]\nbase_s = 0.1\nfloor_s = 0.1\n'
        )

    def stream_address(self, path: str) -> str:
        """One that dies."""
        return self.site.url(f"{path}?deadline={int(time.time() + self.lives_s)}&upsig=s")

    def _flv(self, path: Path, film: Path) -> Path:
        ffmpeg("-i", film, "-c", "copy", "-f", "flv", path)
        return path

    def _stream(self, body: bytes) -> Any:
        serve = whole(body, etag='"1"')

        def behave(exchange: Exchange) -> None:
            dies_at = float(_query(exchange).get("deadline", "0"))
            right = exchange.headers["Referer"] == REFERER and exchange.headers["Range"]
            if not right or dies_at + self.grace_s < time.time():
                exchange.answer(403)
            else:
                serve(exchange)

        return behave

    def _json(self, exchange: Exchange, data: object) -> None:
        if exchange.headers["Cookie"] != COOKIE:
            answer: dict[str, object] = {"code": -101, "message": "账号未登录"}
        else:
            answer = {"code": 0, "message": "0", "data": data}
        told = {"Content-Type": "application/json"}
        exchange.answer(200, told, json.dumps(answer).encode())

    def _page(self, exchange: Exchange) -> None:
        first = "offset" not in _query(exchange)
        items = [self._pictures()] if first else [self._video("BV1tracks"), self._video("BV1parts")]
        self._json(exchange, {"items": items, "has_more": first, "offset": "1" if first else ""})

    def _pictures(self) -> dict[str, object]:
        pics = [
            {"url": self.site.url("/bfs/still.jpg"), "live_url": self.site.url("/bfs/live.mp4")},
            {"url": self.site.url("/bfs/moving.gif") + "@480w.webp"},
        ]
        return self._item("1", {"type": "MAJOR_TYPE_OPUS", "opus": {"pics": pics}})

    def _video(self, bvid: str) -> dict[str, object]:
        return self._item(bvid, {"type": "MAJOR_TYPE_ARCHIVE", "archive": {"bvid": bvid}})

    def _item(self, ident: str, major: object) -> dict[str, object]:
        return {"id_str": ident, "modules": {"module_dynamic": {"major": major}}}

    def _view(self, exchange: Exchange) -> None:
        bvid = _query(exchange)["bvid"]
        self._json(exchange, {"bvid": bvid, "videos": 1, "pages": [{"cid": 1, "part": bvid}]})

    def _playurl(self, exchange: Exchange) -> None:
        self.answers += 1
        offers = {"BV1tracks": self._tracks, "BV1parts": self._parts}
        self._json(exchange, offers[_query(exchange)["bvid"]]())

    def _tracks(self) -> dict[str, object]:
        gone = self.site.url("/nowhere.m4s")
        return {
            "timelength": 4000,
            "dash": {
                "video": [
                    {"id": 80, "codecid": 7, "codecs": "avc1.4d400b", "width": 160, "height": 90}
                    | {"base_url": gone, "backup_url": [self.stream_address("/up/video.m4s")]}
                ],
                "audio": [
                    {"id": 30280, "codecs": "mp4a.40.2", "bandwidth": 64000}
                    | {"baseUrl": self.stream_address("/up/audio.m4s")}
                ],
            },
        }

    def _parts(self) -> dict[str, object]:
        return {
            "timelength": 8000,
            "format": "flv",
            "durl": [
                {"order": n, "length": 4000, "size": len(self.files[f"/up/{n}.flv"])}
                | {"url": self.stream_address(f"/up/{n}.flv")}
                for n in (2, 1)
            ],
        }


def _query(exchange: Exchange) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(exchange.path).query).items()}


@pytest.fixture
def bilibili(tmp_path: Path, rendered: Rendered) -> Iterator[Bilibili]:
    with Site() as site:
        yield Bilibili(site, tmp_path, rendered)


def pictures_of(store: Path) -> set[tuple[str, ...]]:
    """What a player shows of each video in the store."""
    files = [path for path in (store / "objects").rglob("*") if path.is_file()]
    films = [path for path in files if path.read_bytes()[4:8] == b"ftyp"]
    return {frames(path).video for path in films if path.read_bytes() != LIVE}


def test_a_members_posts_end_in_verified_files(
    bilibili: Bilibili, tmp_path: Path, rendered: Rendered
):
    bilibili.settings(tmp_path)

    run = headrace("crawl", "all", "--to", "store", *LOOPBACK, "--json", cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert told(run)["got"] == 5
    assert {STILL, GIF, LIVE} <= set(objects(tmp_path / "store").values())
    parts = [frames(path).video for path in bilibili.flv]
    assert {frames(rendered.film).video, parts[0] + parts[1]} <= pictures_of(tmp_path / "store")
    assert checked(tmp_path / "store").returncode == 0


def test_the_cookie_is_in_nothing_that_is_kept(bilibili: Bilibili, tmp_path: Path):
    bilibili.settings(tmp_path)

    headrace("crawl", "all", "--to", "store", *LOOPBACK, cwd=tmp_path)

    kept = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert kept
    assert not any(COOKIE.encode() in path.read_bytes() for path in kept)


def test_addresses_that_die_at_once_are_asked_for_anew(bilibili: Bilibili, tmp_path: Path):
    """Each is within its last seconds when its turn comes: one answer a plan, one a piece, but for
    the one whose first address has no mark and whose second serves."""
    bilibili.lives_s, bilibili.grace_s = 4.0, 60.0  # no 403 may hurry it
    bilibili.settings(tmp_path)

    run = headrace("crawl", "all", "--to", "store", *LOOPBACK, "--json", cwd=tmp_path)

    assert told(run)["got"] == 5
    assert bilibili.answers == 2 + 3
