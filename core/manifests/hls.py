"""HLS (RFC 8216 and the later drafts): bytes and their address become what a manifest says. No
I/O; whatever the bytes are, the result is a playlist or an error that names the rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from core.manifests.hls_media import MediaReader
from core.manifests.hls_multivariant import MultivariantReader
from core.manifests.hls_text import read_text
from core.manifests.playlists import MediaPlaylist, Multivariant

_NOTHING: Mapping[str, str] = MappingProxyType({})
_VARIANTS = re.compile(
    r"^[ \t]*+#EXT-X-(?:STREAM-INF|MEDIA|I-FRAME-STREAM-INF)[ \t]*+:", re.MULTILINE
)
_SEGMENTS = re.compile(r"^[ \t]*+#(?:EXTINF|EXT-X-TARGETDURATION)[ \t]*+:", re.MULTILINE)


def parse(
    body: bytes, url: str, *, variables: Mapping[str, str] = _NOTHING
) -> Multivariant | MediaPlaylist:
    """What the manifest at `url`, its final address, says. `variables` are the multivariant
    playlist's, for a playlist that imports some.

    Raises `Malformed`, `Unsupported`, `AddressRefused`, `TooLarge`, or `Truncated` where only the
    end is missing. A live playlist is read as it is: `ended` tells."""
    text = read_text(body, url)
    if not _VARIANTS.search(text.content):
        return MediaReader(text, variables).read()
    if _SEGMENTS.search(text.content):
        raise text.malformed(1, "mixed_manifest", "variants and segments in one manifest")
    return MultivariantReader(text).read()
