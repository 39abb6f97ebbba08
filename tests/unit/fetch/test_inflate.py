"""Compressed bodies in members, however they are cut on their way."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Truncated
from core.fetch.inflate import inflate, unzipped

ONE, TWO = b"<rss>one ", b"two</rss>"


def read(*chunks: bytes, is_gzip: bool = True) -> bytes:
    return b"".join(inflate(chunks, is_gzip=is_gzip, what="it"))


def cut(body: bytes, places: list[int]) -> list[bytes]:
    """The body in chunks that end there."""
    ends = sorted({min(place, len(body)) for place in places} | {len(body)})
    return [body[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def test_a_member_that_begins_with_a_chunk_is_read_too() -> None:
    assert read(gzip.compress(ONE), gzip.compress(TWO)) == ONE + TWO


def test_a_member_that_breaks_off_behind_a_whole_one_is_truncated() -> None:
    second = gzip.compress(TWO)

    with pytest.raises(Truncated, match="breaks off"):
        read(gzip.compress(ONE), second[: len(second) // 2])


@pytest.mark.parametrize("behind", [b"\0" * 9, b"junk", b"\0" + gzip.compress(TWO, mtime=0)])
def test_what_is_no_member_ends_the_file_wherever_it_is_cut(behind: bytes) -> None:
    body = gzip.compress(ONE) + behind

    assert read(body) == ONE
    assert read(gzip.compress(ONE), behind) == ONE
    assert read(*(body[n : n + 1] for n in range(len(body)))) == ONE


def test_what_follows_on_a_zlib_stream_is_padding() -> None:
    stream = zlib.compress(ONE)

    assert read(stream, stream, is_gzip=False) == ONE


@given(
    members=st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    places=st.lists(st.integers(0, 600), max_size=30),
    padding=st.integers(0, 3),
)
def test_any_cut_of_any_members_gives_the_whole(
    members: list[bytes], places: list[int], padding: int
) -> None:
    body = b"".join(map(gzip.compress, members)) + bytes(padding)

    assert read(*cut(body, places)) == b"".join(members)
    assert b"".join(unzipped(cut(body, places), "it")) == b"".join(members)


@given(
    members=st.lists(st.binary(max_size=300), min_size=1, max_size=4),
    places=st.lists(st.integers(0, 600), max_size=30),
    missing=st.integers(1, 8),
)
def test_any_cut_of_a_file_without_its_end_is_truncated(
    members: list[bytes], places: list[int], missing: int
) -> None:
    body = b"".join(map(gzip.compress, members))[:-missing]

    with pytest.raises(Truncated):
        read(*cut(body, places))
