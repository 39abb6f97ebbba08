"""Manifests: what they say (`parse`), what is got of it (`choose`), and of what it is made
(`build_plan`). A format a file; no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from core.errors import HeadraceError, Unsupported
from core.manifests.build import Origin, build_plan, check_on_demand
from core.manifests.dash import begins_one as begins_dash
from core.manifests.dash import parse as parse_dash
from core.manifests.hls import parse as parse_hls
from core.manifests.playlists import ByteRange, MediaPlaylist, Multivariant, Spans
from core.manifests.playurl import is_one as is_playurl
from core.manifests.playurl import parse as parse_playurl
from core.manifests.playurl_signals import REFUSING, address_refused
from core.manifests.resolving import with_query_of
from core.manifests.select import PREFERRED_CODECS, Choice, SelectionPolicy, Wanted, choose
from core.manifests.wanted import picture_rank, quality_rank
from core.model.addresses import strike

__all__ = [
    "PREFERRED_CODECS",
    "READABLE",
    "ByteRange",
    "Choice",
    "MediaPlaylist",
    "Multivariant",
    "Origin",
    "SelectionPolicy",
    "Spans",
    "Wanted",
    "build_plan",
    "check_on_demand",
    "choose",
    "parse",
    "parse_media",
    "picture_rank",
    "quality_rank",
    "read_wanted",
    "refusal_of",
    "refusing_statuses",
]

READABLE = ("hls", "dash", "playurl")  # what `Rendition.manifest` may name
Got = tuple[bytes, str]  # a body and its final address

_NOTHING: Mapping[str, str] = MappingProxyType({})


def parse(
    body: bytes, url: str, *, variables: Mapping[str, str] = _NOTHING
) -> Multivariant | MediaPlaylist:
    """What the manifest in `body` says, whose final address is `url`; as the `parse` of its format,
    which its address or its first bytes tell."""
    if is_playurl(url):
        return parse_playurl(body, url)
    if begins_dash(body):
        return parse_dash(body, url)
    return parse_hls(body, url, variables=variables)


def refusing_statuses(url: str) -> frozenset[int]:
    """Those that mean something of their own where the manifest at `url` lies: `refusal_of`."""
    return REFUSING if is_playurl(url) else frozenset()


def refusal_of(url: str) -> HeadraceError:
    """What such a status means."""
    return address_refused(url)


def parse_media(body: bytes, url: str, *, variables: Mapping[str, str] = _NOTHING) -> MediaPlaylist:
    """The media playlist that a variant or rendition leads to. Raises `Unsupported` when it is
    another multivariant one: a nest of them has no end."""
    found = parse(body, url, variables=variables)
    if isinstance(found, Multivariant):
        raise Unsupported(
            f"{strike(url)}: a multivariant manifest where a variant's segments should be",
            reason="nested_manifest",
        )
    return found


def read_wanted(
    found: Multivariant | MediaPlaylist,
    choice: Choice,
    get: Callable[[str], Got],
    spans: Spans,
    *,
    query_of: Sequence[str] = (),
) -> list[MediaPlaylist]:
    """The media playlists that `choice` needs, in its order; `get` fetches one, and `spans` a part
    of a file, with the query of the addresses `query_of` where it is of their host. What stands in
    the manifest itself is not asked for. Raises as `parse`."""
    if isinstance(found, MediaPlaylist):
        return [found]

    def asked(url: str) -> str:
        for manifest in query_of:
            url = with_query_of(manifest, url)
        return url

    def span(urls: Sequence[str], part: ByteRange) -> bytes:
        return spans([asked(url) for url in urls], part)

    def read(wanted: Wanted) -> MediaPlaylist:
        if wanted.inline is not None:
            return wanted.inline(span)
        return parse_media(*get(asked(wanted.url)), variables=found.variables)

    return [read(wanted) for wanted in choice.wanted]
