from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import EmptyBody, HeadraceError, NotMedia, Truncated
from core.fetch import inspect as inspection
from core.fetch.inspect import Inspected
from tests.support.media import SAMPLES, gif, jpeg, mp4, png, webp

_NAMES = st.sampled_from(sorted(SAMPLES))


def _inspect(body: bytes) -> Inspected:
    return inspection._inspect(io.BytesIO(body), len(body))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_truncation_of_a_valid_file_passes(name: str) -> None:
    body = SAMPLES[name]
    for length in range(len(body)):
        with pytest.raises((Truncated, NotMedia, EmptyBody)):
            _inspect(body[:length])


@settings(max_examples=200, deadline=None)
@given(
    name=_NAMES,
    edits=st.lists(
        st.tuples(st.integers(0, 3000), st.binary(max_size=6), st.integers(0, 6)), max_size=5
    ),
)
def test_damage_raises_nothing_but_our_own_errors(
    name: str, edits: list[tuple[int, bytes, int]]
) -> None:
    """Bytes are replaced, inserted and removed anywhere; it ends, and ends in our own terms."""
    body = bytearray(SAMPLES[name])
    for place, inserted, removed in edits:
        at = place % len(body)
        body[at : at + removed] = inserted
        if not body:
            break
    try:
        found = _inspect(bytes(body))
    except HeadraceError:
        return

    assert 0 <= found.trailing_bytes <= len(body)


@settings(max_examples=200, deadline=None)
@given(
    magic=st.sampled_from([body[:16] for body in SAMPLES.values()] + [b""]),
    rest=st.binary(max_size=400),
)
def test_any_bytes_raise_nothing_but_our_own_errors(magic: bytes, rest: bytes) -> None:
    try:
        _inspect(magic + rest)
    except HeadraceError:
        return


@settings(max_examples=60, deadline=None)
@given(
    make=st.sampled_from([jpeg, png, gif, webp, mp4]),
    width=st.integers(1, 70),
    height=st.integers(1, 50),
    seed=st.integers(0, 1000),
    trailing=st.binary(max_size=40),
)
def test_what_was_made_whole_is_found_whole(
    make: object, width: int, height: int, seed: int, trailing: bytes
) -> None:
    body = make(width, height, seed=seed)  # type: ignore[operator]
    found = _inspect(body)

    assert (found.width, found.height, found.trailing_bytes) == (width, height, 0)
    if make is not mp4:  # whose appended bytes may look like a further box
        assert _inspect(body + trailing).trailing_bytes == len(trailing)
