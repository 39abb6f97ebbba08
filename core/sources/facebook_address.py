"""Addresses of the Graph API: from what a person knows or from a page's `paging.next`, without a
token in any of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from core.errors import Unsupported
from core.model.addresses import strike
from core.sources.resolve import Unusable, base_of, resolve

GRAPH_HOST = "graph.facebook.com"
VERSION = "v27.0"  # the newest that the stored documentation describes
EDGE = "published_posts"  # the only one whose history is complete
POSTS_AT_ONCE = 25
MOST_AT_ONCE = 100  # above it the feed edges refuse

# Without `fields` an edge names little more than ids.
_POST_FIELDS = (
    "id,created_time,updated_time,message,story,status_type,permalink_url,parent_id,is_hidden,"
    "is_published,is_expired,timeline_visibility,from{id,name},attachments{media_type,type,title,"
    "description,url,unshimmed_url,target,media,subattachments}"
)
PHOTO_FIELDS = (
    "id,created_time,updated_time,name,link,from{id,name},page_story_id,width,height,picture,"
    "images,webp_images"
)
_VIDEO_FIELDS = (
    "id,created_time,updated_time,title,description,length,source,picture,permalink_url,published,"
    "status,live_status,from{id,name},post_id,format"
)
_FIELDS = {"photos": PHOTO_FIELDS, "videos": _VIDEO_FIELDS, "video_reels": _VIDEO_FIELDS}

SECRET = frozenset(["access_token", "appsecret_proof", "client_secret"])
_VERSIONED = re.compile(r"(?P<root>(?:/[^/]+)*?/v\d+\.\d+)(?:/.*)?")
_NODE = re.compile(r"/(?P<node>[^/]+)(?:/(?P<edge>[a-z_]+))?/?")
_ID_AT_END = re.compile(r".+-(\d{8,})")  # «Harbour-Lantern-Club-900100200300401»
_PAGE_NAME = re.compile(r"[A-Za-z0-9.-]+")
# Parts of the site that are no page.
_NO_PAGES = re.compile(
    "events|gaming|groups|hashtag|login|marketplace|media|photo|plugins|reel|share|sharer|watch|"
    r".*\.php"
)
_SITE_EDGES = {
    "": EDGE,
    "posts": EDGE,
    "photos": "photos?type=uploaded",
    "photos_by": "photos?type=uploaded",
    "videos": "videos",
    "reels": "video_reels",
    "reels_tab": "video_reels",
}


def first_address(address: str) -> str:
    """Where a feed's first page is. Raises `Unsupported` for an address that names no page."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        raise _no_page(address) from None
    if host != GRAPH_HOST and re.fullmatch(r"(?:.+\.)?(?:facebook|fb)\.com", host):
        return asked(_of_site(address, parts))
    root = _root(parts.path)
    named = _NODE.fullmatch(parts.path[len(root) :])
    if parts.scheme not in ("http", "https") or named is None or not (root or host == GRAPH_HOST):
        raise _no_page(address)
    path = f"{root}/{named['node']}/{named['edge'] or EDGE}"
    return asked(urlunsplit(parts._replace(path=path)))


def is_of_site(address: str) -> bool:
    """Whether a host of Facebook's own is asked, the Graph API's among them."""
    host = (urlsplit(address).hostname or "").lower()
    return re.fullmatch(r"(?:.+\.)?(?:facebook|fb)\.com", host) is not None


def asked(url: str, at_once: int = POSTS_AT_ONCE) -> str:
    """An edge's address with what it has to name: the fields and, where it does not say, how many
    at once."""
    query = _query(url)
    query.setdefault("fields", _FIELDS.get(edge_of(url), _POST_FIELDS))
    query["limit"] = str(_limit(query, at_once))
    return _with_query(url, query)


def next_address(raw: object, page_url: str) -> str | Unusable:
    """The next page's address on this page's own host: what the page names holds the token, and is
    trusted for path and parameters only."""
    found = resolve(raw, page_url)
    if isinstance(found, Unusable):
        return found
    own = urlsplit(page_url)
    following = urlsplit(found)._replace(scheme=own.scheme, netloc=own.netloc)
    return _with_query(urlunsplit(following), _query(found))


def half_as_many(url: str) -> str | None:
    """The same page with half its posts; None where one was asked for already."""
    query = _query(url)
    limit = _limit(query) // 2
    return _with_query(url, query | {"limit": str(limit)}) if limit else None


def edge_of(url: str) -> str:
    """`published_posts`, `photos`, ..."""
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


def api_of(url: str) -> str | None:
    """What stands before every node of the API that a page came from, version included."""
    base = base_of(url)
    if base is None:
        return None
    parts = urlsplit(base)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{_root(parts.path)}"


def node_address(api: str, node: str, fields: str) -> str:
    """One node, or an edge of it."""
    return f"{api}/{node}?{urlencode({'fields': fields}, safe=',')}"


def nodes_address(api: str, nodes: Iterable[str], fields: str) -> str:
    """Many nodes in one answer."""
    query = {"ids": ",".join(nodes), "fields": fields}
    return f"{api}/?{urlencode(query, safe=',')}"


def _of_site(address: str, parts: SplitResult) -> str:
    """From the page as browsers show it."""
    segments = [segment for segment in parts.path.split("/") if segment]
    query = dict(parse_qsl(parts.query))
    match segments:
        case ["profile.php"]:
            page, tab = query.get("id", ""), query.get("sk", "")
        case ["pages" | "people", _, page, *rest] | ["pg" | "p", page, *rest] | [page, *rest]:
            tab = rest[0] if rest else ""
        case _:
            page, tab = "", ""
    numbered = _ID_AT_END.fullmatch(page)
    page = numbered[1] if numbered else page
    if _NO_PAGES.fullmatch(page) or not _PAGE_NAME.fullmatch(page) or tab not in _SITE_EDGES:
        raise _no_page(address)
    return f"https://{GRAPH_HOST}/{VERSION}/{page}/{_SITE_EDGES[tab]}"


def _no_page(address: str) -> Unsupported:
    return Unsupported(
        f"{strike(address)} names no page whose posts can be read; write "
        f"https://www.facebook.com/PAGE, or https://{GRAPH_HOST}/{VERSION}/PAGE/{EDGE}",
        reason="unsupported_address",
    )


def _root(path: str) -> str:
    """The version and what stands before it; empty where none is named."""
    found = _VERSIONED.fullmatch(path)
    return found["root"] if found else ""


def _limit(query: Mapping[str, str], default: int = POSTS_AT_ONCE) -> int:
    told = query.get("limit", "")
    limit = int(told) if re.fullmatch(r"[0-9]{1,9}", told) else default
    return min(max(1, limit), MOST_AT_ONCE)


def _query(url: str) -> dict[str, str]:
    """The parameters that are no secret."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return {name: value for name, value in pairs if name.lower() not in SECRET}


def _with_query(url: str, query: Mapping[str, str]) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    encoded = urlencode(query, safe=",")
    return urlunsplit(parts._replace(netloc=host, query=encoded, fragment=""))
