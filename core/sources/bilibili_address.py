"""Bilibili's addresses: from what a person knows to the API's, and from one page to what belongs to
it. Only endpoints that answer without the signature which the site's pages compute."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from core.errors import Malformed, Unsupported
from core.manifests.playurl_signals import REFUSING
from core.model.addresses import strike
from core.model.request import Request

REFERER = "https://www.bilibili.com/"  # its API and its stream hosts want it
API_HOST = "api.bilibili.com"

_API = f"https://{API_HOST}"
_FEED = "/x/polymer/web-dynamic/v1/feed/space"
_DETAIL = "/x/polymer/web-dynamic/v1/detail"
_VIEW = "/x/web-interface/view"
_PLAYURL = "/x/player/playurl"
_KNOWN = (_FEED, _DETAIL, _VIEW)
_SHAPE = {"features": "itemOpusStyle", "timezone_offset": "-480", "platform": "web"}
# Every bit but the first: DASH with all that the account may see; `qn` counts where there is none.
_EVERYTHING = {"qn": "127", "fnval": "4048", "fnver": "0", "fourk": "1"}
_DEATHS = frozenset(["deadline", "expires"])
_UNIX = re.compile(r"\d{9,11}")

_MEMBER = re.compile(
    r"https?://(?:space\.bilibili\.com|m\.bilibili\.com/space)/(\d{1,20})(?:[/?#]|$)"
)
_POST = re.compile(
    r"https?://(?:t\.bilibili\.com|(?:www|m)\.bilibili\.com/opus)/(\d{1,20})(?:[/?#]|$)"
)
_VIDEO = re.compile(
    r"https?://(?:www|m)\.bilibili\.com/video/(?:(BV[0-9A-Za-z]{1,20})|av(\d{1,20}))(?:[/?#]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class VideoId:
    """By either of its two names."""

    bvid: str | None
    aid: str | None

    @property
    def known(self) -> str:
        """The one that stands in keys."""
        return self.bvid or f"av{self.aid}"

    @property
    def parameters(self) -> dict[str, str]:
        """As the view endpoint wants it; playurl calls the second «avid»."""
        return {"bvid": self.bvid} if self.bvid else {"aid": self.aid or ""}


def api_request(url: str) -> Request:
    """A request to the API."""
    return Request(url, REFERER, read_also=REFUSING)


def first_address(address: str) -> str:
    """The API's address of a feed: a member's space, one post, one video, or the API's own address
    on any host. Raises `Unsupported`."""
    if (member := _MEMBER.match(address)) is not None:
        return _with(_API + _FEED, {"host_mid": member[1], **_SHAPE})
    if (post := _POST.match(address)) is not None:
        return _with(_API + _DETAIL, {"id": post[1], **_SHAPE})
    if (video := _VIDEO.match(address)) is not None:
        named = VideoId(video[1] and f"BV{video[1][2:]}", video[2])
        return _with(_API + _VIEW, named.parameters)
    if urlsplit(address).path.endswith(_KNOWN):
        return address
    raise Unsupported(
        f"{strike(address)}: no address of Bilibili that can be read; name a member's space "
        "(https://space.bilibili.com/NUMBER/dynamic), a video or a post",
        reason="bad_address",
    )


def following_address(address: str, offset: str) -> str:
    """The API's address of the page of a feed that begins behind `offset`."""
    return _with(first_address(address), {"offset": offset})


def view_address(page_url: str, video: VideoId) -> str:
    """Where a video's parts are told, on the host that the page came from."""
    return _with(_root(page_url) + _VIEW, video.parameters)


def playurl_address(page_url: str, video: VideoId, cid: str) -> str:
    """Where a part's files are told. It holds nothing that dies."""
    named = {"bvid": video.bvid} if video.bvid else {"avid": video.aid or ""}
    return _with(_root(page_url) + _PLAYURL, {**named, "cid": cid, **_EVERYTHING})


def expires_at(url: str) -> float | None:
    """When a stream address dies: it says so itself."""
    pairs = (pair.partition("=") for pair in urlsplit(url).query.split("&"))
    told = (value for name, _, value in pairs if name.lower() in _DEATHS)
    times = [float(value) for value in told if _UNIX.fullmatch(value)]
    return min(times, default=None)


def reference_of(ref: str) -> tuple[str, str]:
    """The playurl answer's address, and which of its files is meant. Raises `Malformed`."""
    try:
        match json.loads(ref):
            case {"playurl": str(url), "pick": str(pick)}:
                return url, pick
            case _:
                pass
    except (ValueError, RecursionError):
        pass
    raise Malformed(f"not a reference of Bilibili's: {ref[:60]!r}", reason="bad_reference")


def _root(page_url: str) -> str:
    """All before the API's own path; pages from elsewhere (a file) lead to the site's API."""
    parts = urlsplit(page_url)
    before, found, _ = parts.path.partition("/x/")
    if parts.scheme not in ("http", "https") or not found:
        return _API
    return urlunsplit((parts.scheme, parts.netloc, before, "", ""))


def _with(url: str, parameters: dict[str, str]) -> str:
    parts = urlsplit(url)
    told = dict(parse_qsl(parts.query, keep_blank_values=True)) | parameters
    return urlunsplit(parts._replace(query=urlencode(told), fragment=""))
