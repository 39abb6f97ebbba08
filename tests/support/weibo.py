"""Weibo's three interfaces as tests speak them: addresses, answers, posts as short as can be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from io import BytesIO
from typing import Any

from core.model.post import FeedPage, MediaRecord, Post
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.weibo import WeiboAdapter

ADAPTER = WeiboAdapter()
UID = "7600100200"
OPEN = "https://api.weibosite.test/2/statuses/user_timeline.json?uid=7600100200&count=100"
INDEX = f"https://m.weibosite.test/api/container/getIndex?type=uid&value={UID}"
MOBILE = f"{INDEX}&containerid=107603{UID}"
AJAX = f"https://weibosite.test/ajax/statuses/mymblog?uid={UID}&page=1&feature=0"
ADDRESSES = {"weibo_open": OPEN, "weibo_mobile": MOBILE, "weibo_ajax": AJAX}
READ_AT = datetime.fromisoformat("2026-06-20T10:00:00+08:00").timestamp()
PLAYER = "https://v.test/show?fid=1034:5"
SIGNED = "https://f.weibovid.test/a.mp4?label=mp4_hd&template=852x480.25.0&Expires=1781924400"
FILM = {"type": "video", "page_url": PLAYER, "urls": {"mp4_hd_mp4": SIGNED}}


def answer(body: object, url: str, *, feed: str = "", **told: Any) -> PageInput:
    """An answer from `url`; a body that is no text is written as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return PageInput(BytesIO(raw), url, feed=feed or url, **{"read_at": READ_AT} | told)


def read(body: object, url: str, **told: Any) -> FeedPage:
    return ADAPTER.parse(answer(body, url, **told))


def mobile(*posts: object, info: Mapping[str, object] | None = None, **told: Any) -> FeedPage:
    """A page of m.weibo.cn with these posts."""
    cards = [{"card_type": 9, "mblog": post} for post in posts]
    data = {"cards": cards, "cardlistInfo": info or {}}
    return read({"ok": 1, "data": data}, MOBILE, **told)


def ajax(*posts: object, since_id: str = "", **told: Any) -> FeedPage:
    """A page of weibo.com with these posts."""
    return read({"ok": 1, "data": {"since_id": since_id, "list": posts}}, AJAX, **told)


def timeline(*posts: object, next_cursor: object = 0, **told: Any) -> FeedPage:
    """A page of the open API with these posts."""
    return read({"statuses": posts, "next_cursor": next_cursor}, OPEN, **told)


def pic(name: str, **told: object) -> dict[str, object]:
    """A picture as m.weibo.cn lists it."""
    large = {"url": f"https://wx1.weiboimg.test/large/{name}.jpg"}
    return {"pid": name, "url": f"https://wx1.weiboimg.test/orj360/{name}.jpg", "large": large} | (
        told
    )


def info(name: str, **told: object) -> dict[str, object]:
    """A picture as weibo.com lists it."""
    return {"largest": {"url": f"https://wx1.weiboimg.test/large/{name}.jpg"}} | told


def only(page: FeedPage) -> Post:
    """A page's one post."""
    (post,) = page.posts
    return post


def media_of(page: FeedPage) -> tuple[MediaRecord, ...]:
    """The media of a page's one post."""
    return only(page).media


def keys_of(page: FeedPage) -> list[str | None]:
    """By what they are known."""
    return [media.key for media in media_of(page)]


def reasons_of(page: FeedPage) -> list[str]:
    """Why something was skipped."""
    return [skipped.reason for skipped in page.skipped]


def played(**told: object) -> dict[str, object]:
    """A film of weibo.com's list of qualities."""
    play_info = {"mime": "video/mp4", "url": SIGNED} | told
    return {"meta": {"quality_index": 720}, "play_info": play_info}


def video(*entries: object, **media_info: object) -> dict[str, object]:
    """A `page_info` with these qualities."""
    card = {"type": "11", "object_id": "1034:5"}
    return card | {"media_info": {"playback_list": list(entries)} | media_info}


class Site:
    """Answers what is asked, and remembers it: a body, or an error to raise."""

    def __init__(self, reply: Callable[[int, Request], object]) -> None:
        self._reply = reply
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> PageInput:
        self.asked.append(request)
        found = self._reply(len(self.asked), request)
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, PageInput) else answer(found, request.url)


def always(body: object) -> Site:
    """A site that says one thing."""
    return Site(lambda _number, _request: body)
