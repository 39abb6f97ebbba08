"""The sample site's Weibo, as m.weibo.cn, as weibo.com and as the open API: a cookie or a token
opens lists, a Referer the pictures, a ticket the films. Each refuses once for asking too often."""

from __future__ import annotations

from http.cookies import SimpleCookie

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
from scripts.sample_site.weibo_posts import MEMBER, NAME, NEWEST, NOTES, OLDER, Note, Picture
from scripts.sample_site.weibo_shapes import desktop, mobile, open_api

COOKIE = "SUB=the-millers-own-login; XSRF-TOKEN=said-twice"
TOKEN = "the-millers-own-token"
MOBILE = "/api/container/getIndex"
MOBILE_POST = "/statuses/show"
DESKTOP = "/ajax/statuses/mymblog"
DESKTOP_POST = "/ajax/statuses/show"
OPEN = "/2/statuses/user_timeline.json"
FILMS = "/weibo-films/"
PICTURES = ("/large/", "/orj360/", "/wap180/", "/bmiddle/", "/thumbnail/")
LOGIN = "/sso/signin"
_CONTAINER = f"107603{MEMBER}"
_SINCE = 5310000000000400
_AT_ONCE, _ALL = 3, 2**62  # statuses of the open API, and an id above all
_REFERERS = ("https://m.weibo.cn/", "https://weibo.com/")


class Weibo(Speaking):
    """`address` is the site's."""

    def __init__(self, address: str, started_at: float) -> None:
        super().__init__("weibo", address, Tickets("Expires", "ssig", started_at))
        self.cookie, self.token = COOKIE, TOKEN
        self._lists = {
            MOBILE: self._container,
            MOBILE_POST: self._mobile_post,
            DESKTOP: self._blog,
            DESKTOP_POST: self._desktop_post,
        }

    def answer(self, asked: Asked) -> Answer | None:
        if asked.path.startswith(PICTURES):
            return self._picture(asked)
        if asked.path.startswith(FILMS):
            opens = self._tickets.opens(asked)
            return file_answer(self._files, asked) if opens else refused(403, "expired")
        if asked.path == LOGIN:
            return Answer(200, b"<!doctype html><title>Log in</title>", {"Content-Type": _HTML})
        if asked.path == OPEN:
            return self._timeline(asked)
        answer = self._lists.get(asked.path)
        if answer is None:
            return None
        return answer(asked) if self._is_signed_in(asked) else self._log_in(asked)

    def _is_signed_in(self, asked: Asked) -> bool:
        """weibo.com wants one of the cookies said again, in a header."""
        ours, given = SimpleCookie(self.cookie), SimpleCookie(asked.headers["Cookie"] or "")
        names = {name: morsel.value for name, morsel in given.items()}
        if names.get("SUB") != ours["SUB"].value:
            return False
        mark = asked.headers["X-XSRF-TOKEN"]
        return not asked.path.startswith("/ajax/") or mark == ours["XSRF-TOKEN"].value

    def _log_in(self, asked: Asked) -> Answer:
        """The two sites say it in two ways."""
        if asked.path.startswith("/ajax/"):
            return Answer(302, headers={"Location": f"{self._address}{LOGIN}"})
        return told({"ok": -100, "url": f"https://passport.weibo.com{LOGIN}"})

    # --- m.weibo.cn ---

    def _container(self, asked: Asked) -> Answer:
        """The member's index, and two pages of cards."""
        if "containerid" not in asked.query:
            tab = {"tab_type": "weibo", "containerid": _CONTAINER}
            user = {"id": int(MEMBER), "screen_name": NAME}
            return told({"ok": 1, "data": {"userInfo": user, "tabsInfo": {"tabs": [tab]}}})
        if asked.query.get("since_id") != str(_SINCE):
            return self._cards(NEWEST, {"containerid": _CONTAINER, "since_id": _SINCE})
        if self._once("throttle mobile"):
            return throttled()
        return self._cards(OLDER, {"containerid": _CONTAINER})

    def _cards(self, notes: tuple[Note, ...], info: object) -> Answer:
        cards = [self._card(note) for note in notes]
        group = {"card_type": 11, "card_group": cards[1:]}
        return told({"ok": 1, "data": {"cards": [cards[0], group], "cardlistInfo": info}})

    def _card(self, note: Note) -> object:
        status = mobile(note, self._picture_at, self._film_at, is_listed=True)
        return {
            "card_type": 9,
            "mblog": status,
            "profile_type_id": "proweibotop_" if note.is_pinned else "proweibo_",
        }

    def _mobile_post(self, asked: Asked) -> Answer:
        note = NOTES.get(asked.query.get("id", ""))
        if note is None:
            return told({"ok": 0, "msg": "微博不存在"})
        data = mobile(note, self._picture_at, self._film_at, is_listed=False)
        return told({"ok": 1, "data": data})

    # --- weibo.com ---

    def _blog(self, asked: Asked) -> Answer:
        if "since_id" not in asked.query:
            return self._list(NEWEST, f"{_SINCE}kp2")
        if self._once("throttle desktop"):
            return throttled()
        return self._list(OLDER, "")

    def _list(self, notes: tuple[Note, ...], since_id: str) -> Answer:
        listed = [desktop(one, self._picture_at, self._film_at, is_listed=True) for one in notes]
        return told({"ok": 1, "data": {"since_id": since_id, "list": listed, "total": len(NOTES)}})

    def _desktop_post(self, asked: Asked) -> Answer:
        note = NOTES.get(asked.query.get("id", ""))
        if note is None:
            return told({"ok": 0, "message": "该微博不存在"})
        status = desktop(note, self._picture_at, self._film_at, is_listed=False)
        assert isinstance(status, dict)
        if note.rest and asked.query.get("isGetLongText") == "true":
            status["longText"] = {"content": note.words + note.rest}
        return told(status | {"ok": 1})

    # --- api.weibo.com ---

    def _timeline(self, asked: Asked) -> Answer:
        """Newest first whatever is pinned, three at once, from `max_id` on."""
        if asked.query.get("access_token") != self.token:
            return told({"error": "expired_token", "error_code": 21327, "request": OPEN}, 400)
        if "max_id" in asked.query and self._once("throttle open"):
            return throttled()
        notes = sorted(NOTES.values(), key=lambda note: note.ident, reverse=True)
        following = [
            note for note in notes if int(note.ident) <= int(asked.query.get("max_id", _ALL))
        ]
        shown, left = following[:_AT_ONCE], following[_AT_ONCE:]
        body = {
            "statuses": [open_api(note, self._picture_at) for note in shown],
            "previous_cursor": 0,
            "next_cursor": int(left[0].ident) if left else 0,
            "total_number": len(notes),
        }
        return told(body)

    # --- files ---

    def _picture(self, asked: Asked) -> Answer:
        """Everything but the largest size is one small picture: who gets it asked for the wrong
        one."""
        referer = asked.headers["Referer"] or ""
        if not referer.startswith(_REFERERS):
            return refused(403, "not from here")
        named = {one.ident: one.file for note in NOTES.values() for one in note.pictures}
        ident = asked.path.rpartition("/")[2].rpartition(".")[0]
        name = named.get(ident, "") if asked.path.startswith("/large/") else "small.jpg"
        return file_answer(self._files, Asked(f"/{name}", asked.query, asked.headers))

    def _picture_at(self, picture: Picture, folder: str) -> str:
        extension = picture.file.rpartition(".")[2]
        return f"{self._address}/{folder}/{picture.ident}.{extension}"

    def _film_at(self, name: str, *, is_dead: bool = False) -> str:
        return self._tickets.sign(f"{self._address}{FILMS}{name}", is_dead=is_dead)


_HTML = "text/html; charset=utf-8"
