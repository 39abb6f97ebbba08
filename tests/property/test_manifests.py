"""Whatever the bytes are: a manifest, or an error of ours that says why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import HeadraceError
from core.manifests import MediaPlaylist, SelectionPolicy, choose, parse
from core.model.plan import parse_plan
from tests.support.damage import POLICIES, damaged_bytes, refused_by_name
from tests.support.manifests import BASE, FOLDER, URL, planned

BODIES = [path.read_bytes() for path in sorted(FOLDER.glob("*.m3u8"))]
NAMES = [
    "EXTINF",
    "EXT-X-BYTERANGE",
    "EXT-X-KEY",
    "EXT-X-MAP",
    "EXT-X-GAP",
    "EXT-X-DEFINE",
    "EXT-X-MEDIA-SEQUENCE",
    "EXT-X-DISCONTINUITY-SEQUENCE",
    "EXT-X-PROGRAM-DATE-TIME",
    "EXT-X-STREAM-INF",
    "EXT-X-MEDIA",
    "EXT-X-TARGETDURATION",
]
VALUES = [
    "6,",
    "5@0",
    "5",
    'METHOD=AES-128,URI="k",IV=0x1',
    "METHOD=NONE",
    'URI="i",BYTERANGE="5@0"',
    'NAME="n",VALUE="{$n}"',
    'NAME="n",VALUE="v"',
    "2026-05-01T00:00:00Z",
    'BANDWIDTH=1,RESOLUTION=1x1,CODECS="avc1"',
    'TYPE=AUDIO,GROUP-ID="g",URI="a"',
    "18446744073709551616",
]
tags = st.builds(
    "#{}:{}".format, st.sampled_from(NAMES), st.sampled_from(VALUES) | st.text(max_size=30)
)
addresses = st.sampled_from(["a.ts", "{$n}.ts", "//b.test/c", "http://[", "#x"]) | st.text(
    max_size=20
)
lines = st.lists(tags | addresses, max_size=30)


def read(body: bytes, policy: SelectionPolicy, url: str = URL) -> None:
    """All that is done with a manifest; what it raises is an error of ours that names it."""
    with refused_by_name(BASE):
        found = parse(body, url)
        choose(found, policy)
        if isinstance(found, MediaPlaylist):
            plan = planned(found)
            assert parse_plan(plan.to_json()) == plan


@pytest.mark.parametrize("body", BODIES)
def test_a_manifest_cut_anywhere_is_read_or_refused(body: bytes):
    for end in range(len(body)):
        read(body[:end], SelectionPolicy())


@pytest.mark.parametrize("body", BODIES)
def test_a_manifest_cut_anywhere_never_passes_for_a_whole_one(body: bytes):
    """A plan is made of a shorter body only when nothing of what counts is missing."""
    for end in range(len(body)):
        try:
            found = parse(body[:end], URL)
            plan = planned(found) if isinstance(found, MediaPlaylist) else None
        except HeadraceError:
            continue
        if plan is not None:
            assert plan.tracks == planned(parse(body, URL)).tracks  # type: ignore[arg-type]


@given(damaged_bytes(BODIES), POLICIES)
def test_damaged_bytes_are_read_or_refused(body: bytes, policy: SelectionPolicy):
    read(body, policy)


@given(lines, POLICIES)
def test_any_lines_are_read_or_refused(written: list[str], policy: SelectionPolicy):
    body = "\n".join(["#EXTM3U", *written, "#EXT-X-ENDLIST"]).encode("utf-8", "surrogatepass")

    read(body, policy)


@given(st.binary(max_size=200), POLICIES)
def test_any_bytes_are_read_or_refused(body: bytes, policy: SelectionPolicy):
    read(body, policy)
    read(b"#EXTM3U\n" + body, policy)


@pytest.mark.parametrize(
    "line",
    [
        "#EXT-X-KEY:" + " " * 30_000 + "x",
        "#EXT-X-KEY:A=" + " " * 30_000 + '"',
        "#EXT-X-KEY:A=" + "x\t" * 15_000 + '"',
        "#EXT-X-KEY:" + "A" * 30_000,
        "#EXT-X-KEY:" + "A=1," * 7_000 + '"',
        "#EXTINF:" + "1" * 30_000,
        "#EXTINF:6" + " " * 30_000 + "x",
        "#EXT-X-BYTERANGE:" + "1" * 30_000,
        "{$" * 15_000,
        "<!--" * 7_000,
    ],
)
@pytest.mark.timeout(10)
def test_no_line_takes_long(line: str):
    for body in (f"#EXTM3U\n{line}\n" * 20, line, f"#EXTM3U\n#EXTINF:6,\n{line}\n"):
        read(body.encode(), SelectionPolicy())
