"""HLS manifests for tests: the fixtures, and small ones written line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.manifests import (
    ByteRange,
    MediaPlaylist,
    Multivariant,
    Origin,
    SelectionPolicy,
    choose,
    parse,
)
from core.manifests.build import build_plan
from core.model.plan import Plan

FOLDER = Path(__file__).parents[1] / "data" / "hls"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
BASE = "https://media.example.com/hls/"
URL = BASE + "index.m3u8"
ANYTHING = SelectionPolicy()


def no_span(urls: Sequence[str], part: ByteRange) -> bytes:
    """Where no index is to be asked for."""
    raise AssertionError((urls, part))


def fixture(name: str) -> Multivariant | MediaPlaylist:
    return parse((FOLDER / name).read_bytes(), BASE + name)


def text(*lines: str) -> bytes:
    """A manifest of these lines."""
    return "".join(f"{line}\n" for line in ("#EXTM3U", *lines)).encode()


def media(*lines: str, url: str = URL, variables: Mapping[str, str] | None = None) -> MediaPlaylist:
    """An ended media playlist of these lines."""
    body = text("#EXT-X-TARGETDURATION:6", *lines, "#EXT-X-ENDLIST")
    found = parse(body, url, variables=variables or {})
    assert isinstance(found, MediaPlaylist)
    return found


def multivariant(*lines: str, url: str = URL) -> Multivariant:
    found = parse(text(*lines), url)
    assert isinstance(found, Multivariant)
    return found


def segments(*names: str) -> list[str]:
    """Plain segments of six seconds."""
    return [line for name in names for line in ("#EXTINF:6,", name)]


def variant(name: str, **attributes: object) -> list[str]:
    """A variant's two lines; `codecs` is quoted, the others are not."""
    given = {"BANDWIDTH": 1_000_000} | {key.upper(): value for key, value in attributes.items()}
    quoted = ("CODECS", "AUDIO", "SUBTITLES")
    pairs = [
        f'{key}="{value}"' if key in quoted else f"{key}={value}" for key, value in given.items()
    ]
    return [f"#EXT-X-STREAM-INF:{','.join(pairs)}", name]


def origin(manifest_url: str = URL, **changes: Any) -> Origin:
    return Origin(
        media="m" * 32,
        source="feed",
        manifest_url=manifest_url,
        final_url=changes.pop("final_url", manifest_url),
        manifest_sha256="0" * 64,
        **changes,
    )


def planned(playlist: MediaPlaylist, **changes: Any) -> Plan:
    """The plan of a manifest that is a media playlist."""
    return build_plan(origin(playlist.url, **changes), choose(playlist, ANYTHING), [playlist])
