"""A member's posts on Weibo, by any of its three interfaces: the open API with a token, or what the
mobile and the desktop site ask themselves, with the user's own cookie.

Read otherwise than one might: a list that ends in HTML, or away from its interface, is taken for a
lost login and never for an empty page; the open API's `next_cursor` of 0 is believed only where it
was filled before; the best size of a picture is not made up where the web interfaces leave it out.
"""

from __future__ import annotations

import re

from core.errors import Misconfigured, Unsupported
from core.model.post import FeedPage, Rendition
from core.model.request import Request
from core.sources.adapter import Ask, PageInput, Secrets
from core.sources.body import malformed
from core.sources.pasted import refuse_secrets
from core.sources.weibo_address import (
    Shape,
    first_address,
    page_address,
    shape_of,
    weibo_request,
)
from core.sources.weibo_ajax import read_blog
from core.sources.weibo_answer import read_answer
from core.sources.weibo_draft import expires_at, place_of
from core.sources.weibo_look import completed, renewed
from core.sources.weibo_mobile import read_container
from core.sources.weibo_open import read_timeline
from core.sources.weibo_pictures import is_stand_in

_TOKEN = ("access_token",)
_API_HOSTS = ("api.weibo.com", "c.api.weibo.com")
_WEB_HOSTS = ("weibo.com", "www.weibo.com", "m.weibo.cn")
_READERS = {
    Shape.OPEN: read_timeline,
    Shape.MOBILE: read_container,
    Shape.AJAX: read_blog,
}
_WORD = re.compile(r"[!-~]+")
_COOKIE = re.compile(r"[!-~]+=[ -~]*")


class WeiboAdapter:
    """Members' posts. The cursor is the next page's own parameters."""

    name = "weibo"
    many_hosts = True  # files lie on a delivery network of many names
    stop_after_known = 20  # lists are now and then out of order
    repeats = 10  # unrelated posts with the same bytes: a picture that stands for removed ones
    about = "a member's posts on Weibo: pictures, live photos, videos"
    example = "https://weibo.com/u/NUMBER"
    needs = (
        "cookie, for weibo.com and m.weibo.cn: the Cookie header of your own login there, as the "
        "browser's network tools show it (SUB, SUBP, XSRF-TOKEN; each site has its own); "
        "token, for api.weibo.com: an access token of your app, from open.weibo.com"
    )

    def reads(self, address: str) -> bool:
        try:
            return bool(first_address(address))
        except Unsupported:
            return False

    def check(self, address: str) -> None:
        refuse_secrets(address, _TOKEN)

    def request(self, address: str, cursor: str | None) -> Request | None:
        if cursor is None:
            self.check(address)
        url = page_address(address, cursor)
        shape = shape_of(url)
        assert shape is not None  # noqa: S101 - `page_address` gives no other
        return weibo_request(url, shape)

    def parse(self, page: PageInput) -> FeedPage:
        shape = shape_of(page.url) or _shape_of_feed(page.feed)
        body = read_answer(page, shape)
        if shape is None:
            raise malformed(page, "not_a_feed", "it is at no address of an interface of Weibo's")
        return _READERS[shape](page, body, place_of(page, shape))

    def complete(self, page: FeedPage, ask: Ask) -> FeedPage:
        return completed(page, ask)

    def expires_at(self, url: str) -> float | None:
        return expires_at(url)

    def renew(self, ref: str, ask: Ask) -> tuple[Rendition, ...]:
        return renewed(ref, ask)

    def is_placeholder(self, url: str) -> bool:
        return is_stand_in(url)

    def secrets(self, *, token: str | None, cookie: str | None) -> Secrets:
        if token is not None and cookie is not None:
            raise Misconfigured(
                "weibo: a source has a token or a cookie, since each would go to the hosts of "
                "the other; make two sources"
            )
        if token is not None:
            return _with_token(token)
        return _with_cookie(cookie) if cookie is not None else Secrets()


def _shape_of_feed(feed: str) -> Shape | None:
    """What was asked for, where the answer came from elsewhere."""
    try:
        return shape_of(first_address(feed))
    except Unsupported:
        return None


def _with_token(token: str) -> Secrets:
    if not _WORD.fullmatch(token):
        raise Misconfigured("weibo: the token has blanks or other letters; write it alone")
    return Secrets(query=dict.fromkeys(_TOKEN, token), hosts=_API_HOSTS)


def _with_cookie(cookie: str) -> Secrets:
    """The site wants one of the cookies said once more, by a header that no form can send."""
    told = re.sub(r"(?i)^cookie:\s*", "", cookie).strip().rstrip(";")
    if not _COOKIE.fullmatch(told):
        raise Misconfigured(
            "weibo: the cookie is not what a browser sends, NAME=VALUE; NAME=VALUE, on one line"
        )
    pairs = (pair.strip().partition("=") for pair in told.split(";"))
    mark = next((value for name, _, value in pairs if name == "XSRF-TOKEN" and value), None)
    headers = {"Cookie": told} | ({"X-XSRF-TOKEN": mark} if mark else {})
    return Secrets(headers=headers, hosts=_WEB_HOSTS)
