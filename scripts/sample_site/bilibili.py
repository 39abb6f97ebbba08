"""The sample site's Bilibili: a member with pictures, a video in tracks and one in parts. A cookie
opens the lists; streams want a Referer, a range and a ticket. It refuses once for asking too often,
and names one address that is dead already."""

from __future__ import annotations

from collections.abc import Mapping

from scripts.sample_site.answers import Answer
from scripts.sample_site.speaking import (
    Asked,
    Speaking,
    Tickets,
    file_answer,
    refused,
    throttled,
    told,
)

COOKIE = "SESSDATA=the-weir-keepers%2Csession"
REFERER = "https://www.bilibili.com/"
MEMBER = "7300500"
DYNAMICS = "/x/polymer/web-dynamic/v1/feed/space"
VIEW = "/x/web-interface/view"
PLAYURL = "/x/player/playurl"
PICTURES = "/bfs/"
STREAMS = "/upgcxcode/"
TIDE, BANK = "BV1tideAAAAA", "BV1bankAAAAA"  # in tracks, and in parts
_CIDS = {TIDE: 88001, BANK: 88002}
_TITLES = {TIDE: "The tide at the lower weir", BANK: "Along the bank, in two parts"}
_NEWEST, _OLDER = "1100000000000000300", "1100000000000000200"


class Bilibili(Speaking):
    """`address` is the site's."""

    def __init__(self, address: str, started_at: float) -> None:
        super().__init__("bilibili", address, Tickets("deadline", "upsig", started_at))
        self.cookie = COOKIE
        self._endpoints = {
            DYNAMICS: self._dynamics,
            VIEW: self._view,
            PLAYURL: self._playurl,
        }

    def answer(self, asked: Asked) -> Answer | None:
        if asked.path.startswith(PICTURES):
            return file_answer(self._files, asked)
        if asked.path.startswith(STREAMS):
            opens = self._tickets.opens(asked) and _is_from_the_site(asked)
            return file_answer(self._files, asked) if opens else refused(403, "not for you")
        answer = self._endpoints.get(asked.path)
        if answer is None:
            return None
        if asked.headers["Cookie"] != self.cookie:
            return _envelope(-101, "账号未登录")
        return answer(asked)

    # --- posts ---

    def _dynamics(self, asked: Asked) -> Answer:
        if "offset" not in asked.query:
            newest = [self._pictures(), _video(TIDE, _NEWEST, 1777800000)]
            return _envelope(data={"items": newest, "has_more": True, "offset": _NEWEST})
        if self._once("throttle"):
            return throttled()
        older = [_video(BANK, _OLDER, 1777600000)]
        return _envelope(data={"items": older, "has_more": False, "offset": ""})

    def _pictures(self) -> object:
        """A pinned post. The second address asks for a smaller copy that does not move."""
        pics = [
            {"url": f"{self._address}{PICTURES}notice.jpg", "width": 320, "height": 212},
            {"url": f"{self._address}{PICTURES}vane.gif@96w.webp", "width": 96, "height": 96},
        ]
        opus = {"title": "Notice of the weir keeper", "pics": pics}
        post = _item("1100000000000000100", 1772000000, {"type": "MAJOR_TYPE_OPUS", "opus": opus})
        modules = post["modules"]
        assert isinstance(modules, dict)
        modules["module_tag"] = {"text": "置顶"}
        return post

    # --- videos ---

    def _view(self, asked: Asked) -> Answer:
        bvid = asked.query.get("bvid", "")
        if bvid not in _CIDS:
            return _envelope(-404, "啥都木有")
        part = {"cid": _CIDS[bvid], "page": 1, "part": _TITLES[bvid], "duration": 4}
        return _envelope(data={"bvid": bvid, "title": _TITLES[bvid], "videos": 1, "pages": [part]})

    def _playurl(self, asked: Asked) -> Answer:
        bvid = asked.query.get("bvid", "")
        if asked.query.get("cid") != str(_CIDS.get(bvid)):
            return _envelope(-404, "啥都木有")
        return _envelope(data=self._tracks() if bvid == TIDE else self._parts())

    def _tracks(self) -> Mapping[str, object]:
        """The picture's first host has lost it, the sound's address is dead in the first answer."""
        picture = {
            "id": 80,
            "codecid": 7,
            "codecs": "avc1.64000B",
            "width": 160,
            "height": 90,
            "bandwidth": 38000,
            "baseUrl": self._stream("lost.m4s"),
            "backupUrl": [self._stream("tide-picture.m4s")],
        }
        sound = {
            "id": 30280,
            "codecs": "mp4a.40.2",
            "bandwidth": 32000,
            "base_url": self._stream("tide-sound.m4s", is_dead=self._once("dead sound")),
        }
        return {"timelength": 3000, "dash": {"video": [picture], "audio": [sound]}}

    def _parts(self) -> Mapping[str, object]:
        """In their order by number only."""
        parts = [
            {"order": number, "length": 2000, "size": len(self._files[name].body)}
            | {"url": self._stream(name)}
            for number, name in ((2, "bank-2.flv"), (1, "bank-1.flv"))
        ]
        return {"timelength": 4000, "format": "flv", "durl": parts}

    def _stream(self, name: str, *, is_dead: bool = False) -> str:
        return self._tickets.sign(f"{self._address}{STREAMS}{name}", is_dead=is_dead)


def _is_from_the_site(asked: Asked) -> bool:
    return asked.headers["Referer"] == REFERER and asked.headers["Range"] is not None


def _video(bvid: str, ident: str, at: int) -> object:
    archive = {"bvid": bvid, "title": _TITLES[bvid]}
    return _item(ident, at, {"type": "MAJOR_TYPE_ARCHIVE", "archive": archive})


def _item(ident: str, at: int, major: object) -> dict[str, object]:
    author = {"mid": int(MEMBER), "name": "Tomas Reed", "pub_ts": at}
    modules = {"module_author": author, "module_dynamic": {"major": major}}
    return {"id_str": ident, "type": "DYNAMIC_TYPE_AV", "modules": modules}


def _envelope(code: int = 0, message: str = "0", data: object = None) -> Answer:
    """HTTP says 200 to everything: the code in the body tells."""
    return told({"code": code, "message": message, "ttl": 1, "data": data})
