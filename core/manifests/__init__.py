"""Manifests: what they say (`parse`), what is got of it (`choose`), and of what it is made
(`build_plan`). A format a file; no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from core.errors import Unsupported
from core.manifests.build import Origin, build_plan, check_on_demand
from core.manifests.hls import parse as parse_hls
from core.manifests.playlists import MediaPlaylist, Multivariant
from core.manifests.select import Choice, SelectionPolicy, Wanted, choose
from core.model.addresses import strike

__all__ = [
    "Choice",
    "MediaPlaylist",
    "Multivariant",
    "Origin",
    "SelectionPolicy",
    "Wanted",
    "build_plan",
    "check_on_demand",
    "choose",
    "parse",
    "parse_media",
    "read_wanted",
]

Got = tuple[bytes, str]  # a body and its final address

_NOTHING: Mapping[str, str] = MappingProxyType({})


def parse(
    body: bytes, url: str, *, variables: Mapping[str, str] = _NOTHING
) -> Multivariant | MediaPlaylist:
    """What the manifest in `body` says, whose final address is `url`; as `hls.parse`, and raises
    `Unsupported` for another format."""
    if b"<MPD" in body[:4096] and not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"#"):
        raise Unsupported(
            f"{strike(url)}: a DASH manifest: this version reads HLS",
            reason="unsupported_manifest",
        )
    return parse_hls(body, url, variables=variables)


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
    found: Multivariant | MediaPlaylist, choice: Choice, get: Callable[[str], Got]
) -> list[MediaPlaylist]:
    """The media playlists that `choice` needs, in its order; `get` fetches one. The manifest
    itself is not asked for twice."""
    if isinstance(found, MediaPlaylist):
        return [found]
    return [parse_media(*get(wanted.url), variables=found.variables) for wanted in choice.wanted]
