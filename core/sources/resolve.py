"""From what a feed writes to an absolute http address, or the reason why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

MAX_ADDRESS_CHARS = 8192

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # no address has them; a log must not


@dataclass(frozen=True, slots=True)
class Unusable:
    """An address that can't be fetched, and why: the `reason` of what is skipped."""

    reason: str


def base_of(url: str) -> str | None:
    """What relative addresses of a page resolve against. A local file has nothing: resolved against
    its path they would name files of this machine."""
    return url if url.lower().startswith(("http://", "https://")) else None


def resolve(raw: object, base: str | None) -> str | Unusable:
    """`raw` as an absolute http(s) address without its fragment."""
    if not isinstance(raw, str) or not raw.strip():
        return Unusable("no_address")
    text = raw.strip().partition("#")[0].replace(" ", "%20")
    if len(text) > MAX_ADDRESS_CHARS:
        return Unusable("address_too_long")
    if _FORBIDDEN.search(text):
        return Unusable("not_http_url")
    try:
        joined = text if _SCHEME.match(text) else urljoin(base or "", text)
        return _checked(joined)
    except ValueError:  # a bracket without its pair, a port that is no number
        return Unusable("not_http_url")


def nested_base(raw: str, base: str | None) -> str | None:
    """The base inside an element with `xml:base`; one that can't be used changes nothing."""
    inner = resolve(raw, base)
    return base if isinstance(inner, Unusable) else inner


def _checked(url: str) -> str | Unusable:
    parts = urlsplit(url)
    if not parts.scheme:
        return Unusable("relative_without_base")
    _ = parts.port  # raises ValueError for one that no connection can have
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return Unusable("not_http_url")
    return url
