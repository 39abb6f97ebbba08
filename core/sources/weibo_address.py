"""Addresses of Weibo's three interfaces: which of them an address speaks, its first page, its next
one, and one post's own. All lie on the host that the feed names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from core.errors import Malformed, Unsupported
from core.model.addresses import strike
from core.model.request import Request

MOST_AT_ONCE = "100"  # statuses in one answer of the open API

_MOBILE_LIST = "/api/container/getIndex"
_MOBILE_POST = "/statuses/show"
_AJAX_LIST = "/ajax/statuses/mymblog"
_AJAX_POST = "/ajax/statuses/show"
_OPEN_LIST = re.compile(r"/2/statuses/user_timeline(?:/biz|/other)?\.json")
_OPEN_HOSTS = frozenset(["api.weibo.com", "c.api.weibo.com"])
_MOBILE_SITE = frozenset(["m.weibo.cn", "weibo.cn", "www.weibo.cn"])
_DESKTOP_SITE = frozenset(["weibo.com", "www.weibo.com"])
_USER = re.compile(r"/(?:u/|profile/)?(?P<uid>\d{5,20})/?")
_CONTAINER = re.compile(r"/p/(?:107603|100505)(?P<uid>\d{5,20})(?:/.*)?")  # the member's own pages
_WEIBO_CONTAINER = "107603"  # before a member's id: what the member posted
_CURSOR_NAMES = frozenset(["containerid", "since_id", "page", "max_id", "told"])
_WHOLE_TEXT = {"isGetLongText": "true"}
_SECRET = frozenset(["access_token", "source"])  # `source` was the application's key


class Shape(StrEnum):
    """Which interface is spoken."""

    OPEN = "open"  # with a token
    MOBILE = "mobile"  # m.weibo.cn's containers
    AJAX = "ajax"  # weibo.com's own pages


# What the picture hosts want to be called from; without it they answer 403.
REFERERS = {
    Shape.OPEN: "https://weibo.com/",
    Shape.MOBILE: "https://m.weibo.cn/",
    Shape.AJAX: "https://weibo.com/",
}
# The open API says why beside these; a web page that is refused may say so in a body, or with none.
_READ_ALSO = {
    Shape.OPEN: frozenset([400, 401, 403, 404, 500]),
    Shape.MOBILE: frozenset([400, 401, 403, 404, 418, 432]),
    Shape.AJAX: frozenset([400, 401, 403, 404, 418, 432]),
}
_WEB_HEADERS = {
    "Accept": "application/json, text/plain, */*",
    "X-Requested-With": "XMLHttpRequest",
}


def shape_of(url: str) -> Shape | None:
    """By the path of an interface's list or post; None for every other address."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return None
    if path in (_MOBILE_LIST, _MOBILE_POST):
        return Shape.MOBILE
    if path in (_AJAX_LIST, _AJAX_POST):
        return Shape.AJAX
    return Shape.OPEN if _OPEN_LIST.fullmatch(path) else None


def first_address(address: str) -> str:
    """Where a feed's first page is. Raises `Unsupported` for what names no member's posts."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        raise _no_feed(address) from None
    if parts.scheme not in ("http", "https") or not host:
        raise _no_feed(address)
    if shape_of(address) is not None:
        return _of_interface(address, parts)
    named = _USER.fullmatch(parts.path) or _CONTAINER.fullmatch(parts.path)
    if named is None or host not in _MOBILE_SITE | _DESKTOP_SITE:
        raise _no_feed(address)
    uid = named["uid"]
    if host in _MOBILE_SITE:
        return f"https://m.weibo.cn{_MOBILE_LIST}?type=uid&value={uid}"
    return f"https://weibo.com{_AJAX_LIST}?uid={uid}&page=1&feature=0"


def page_address(address: str, cursor: str | None) -> str:
    """A feed's page: the first one, or the one that `cursor` names."""
    first = first_address(address)
    return first if cursor is None else _with(first, read_cursor(cursor))


def read_cursor(cursor: str) -> dict[str, str]:
    """The parameters that lead to a page. Raises `Malformed` for what no page of ours gave."""
    try:
        found = dict(parse_qsl(cursor, strict_parsing=True, max_num_fields=len(_CURSOR_NAMES)))
    except ValueError:
        found = {}
    if not found or not found.keys() <= _CURSOR_NAMES:
        words = f"{cursor[:60]!r} is no cursor of a Weibo feed; start a new walk"
        raise Malformed(words, reason="bad_cursor")
    return found


def cursor_of(parameters: Mapping[str, str]) -> str:
    """The other way round."""
    return urlencode(parameters)


def asked_by(url: str) -> dict[str, str]:
    """The parameters of a page's address."""
    try:
        return dict(parse_qsl(urlsplit(url).query, max_num_fields=100))
    except ValueError:
        return {}


def container_of(uid: str) -> str:
    """The container of what a member posted, where the index page does not name it."""
    return _WEIBO_CONTAINER + uid


def post_address(link: str) -> str | None:
    """Where the interface tells one post, from the link that `link_of` gave it."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    before, _, ident = parts.path.rpartition("/")
    if parts.scheme not in ("http", "https") or not before or not ident:
        return None
    path = _MOBILE_POST if before == "/status" else _AJAX_POST
    return urlunsplit(parts._replace(path=path, query=urlencode({"id": ident}), fragment=""))


def with_whole_text(address: str) -> str:
    """One post's own address, asked so that a long text comes with it. The mobile site's gives it
    without being asked."""
    return _with(address, _WHOLE_TEXT) if shape_of(address) is Shape.AJAX else address


def link_of(shape: Shape, page_url: str, ident: str, uid: str | None) -> str | None:
    """A post's page for people, on the host that its own page came from."""
    parts = urlsplit(page_url)
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"\w{1,40}", ident):
        return None
    host = "weibo.com" if parts.hostname in _OPEN_HOSTS else parts.netloc.rpartition("@")[2]
    if shape is Shape.MOBILE:
        return f"{parts.scheme}://{host}/status/{ident}"
    named = uid if uid and uid.isdecimal() else "detail"
    return f"{parts.scheme}://{host}/{named}/{ident}"


def weibo_request(url: str, shape: Shape) -> Request:
    """How an interface is asked."""
    if shape is Shape.OPEN:
        headers = {"Accept": "application/json"}
        return Request(url, headers=headers, read_also=_READ_ALSO[shape])
    uid = _uid_of(asked_by(url))
    referer = REFERERS[shape] + (f"u/{uid}" if uid else "")
    own = {"MWeibo-Pwa": "1"} if shape is Shape.MOBILE else {}
    return Request(url, referer, _WEB_HEADERS | own, read_also=_READ_ALSO[shape])


def is_of_site(host: str) -> bool:
    """Whether a host is Weibo's own."""
    return re.fullmatch(r"(?:[\w-]+\.)*weibo\.(?:com|cn)", host) is not None


def _uid_of(query: Mapping[str, str]) -> str | None:
    contained = query.get("containerid", "").removeprefix(_WEIBO_CONTAINER)
    uid = query.get("uid") or query.get("value") or contained
    return uid if uid.isdecimal() else None


def _of_interface(address: str, parts: SplitResult) -> str:
    query = {name: value for name, value in asked_by(address).items() if name not in _SECRET}
    if _OPEN_LIST.fullmatch(parts.path):
        query.setdefault("count", MOST_AT_ONCE)
    elif parts.path == _AJAX_LIST:
        query = query | {"page": "1", "feature": query.get("feature", "0")}
        query.pop("since_id", None)
    elif parts.path == _MOBILE_LIST:
        query.pop("since_id", None)
    else:  # one post is no feed
        raise _no_feed(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host, query=urlencode(query), fragment=""))


def _with(url: str, parameters: Mapping[str, str]) -> str:
    query = asked_by(url) | {name: v for name, v in parameters.items() if name != "told"}
    return urlunsplit(urlsplit(url)._replace(query=urlencode(query)))


def _no_feed(address: str) -> Unsupported:
    return Unsupported(
        f"{strike(address)} names no member's posts; write https://weibo.com/u/NUMBER, "
        "https://m.weibo.cn/u/NUMBER, or an address of the open API "
        "(https://api.weibo.com/2/statuses/user_timeline.json?uid=NUMBER)",
        reason="unsupported_address",
    )
