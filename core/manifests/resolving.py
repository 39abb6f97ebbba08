"""An address as a manifest writes it becomes one that may be asked for: absolute, http(s), within
bounds. Every format's addresses go through here."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urljoin, urlsplit

from core.errors import AddressRefused, Malformed

MAX_ADDRESS_CHARS = 8192
MAX_ADDRESSES_CHARS = 64 * 1024**2  # of all: short lines against a long base could fill the memory

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_FORBIDDEN = re.compile("[\x00-\x20\x7f\ufffd\ud800-\udfff]")
_PORTS = {"http": 80, "https": 443}


class NoAddress(Exception):
    """What is written can't be asked for. The reader of its format says where it stands."""

    def __init__(self, words: str, kind: type[Malformed | AddressRefused] = Malformed) -> None:
        super().__init__(words)
        self.kind = kind
        self.reason = "bad_address" if kind is Malformed else kind.reason


def resolved(raw: str, base: str) -> str:
    """`raw` against `base` (RFC 3986), without its fragment. Raises `NoAddress`."""
    given = raw.strip().partition("#")[0].replace(" ", "%20")
    if not given or len(given) > MAX_ADDRESS_CHARS or _FORBIDDEN.search(given):
        raise NoAddress(f"no address: {given[:60]!r}")
    try:
        url = given if _SCHEME.match(given) else urljoin(base, given)
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError for one that no connection can have
    except ValueError as error:
        raise NoAddress(f"no address: {given[:60]!r}") from error
    if parts.scheme not in ("http", "https"):
        words = f"an address with the scheme {parts.scheme[:20]!r}; only http and https are got"
        raise NoAddress(words, AddressRefused)
    if not parts.hostname:
        raise NoAddress(f"no host in {given[:60]!r}")
    return url


def with_query_of(manifest: str, url: str) -> str:
    """`url` with the parameters of the manifest's address that it lacks: some hosts sign the
    manifest only and want its token with every segment. Never to another host, port or scheme."""
    query = urlsplit(manifest).query
    if not query or _origin(urlsplit(manifest)) != _origin(urlsplit(url)):
        return url
    parts = urlsplit(url)
    own = {pair.partition("=")[0] for pair in parts.query.split("&")}
    added = [pair for pair in query.split("&") if pair.partition("=")[0] not in own]
    return parts._replace(query="&".join(filter(None, [parts.query, *added]))).geturl()


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
