"""Damage for Hypothesis to do to what a source answers: something else at any place of a JSON body,
other bytes anywhere in any body."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st

from core.errors import HeadraceError
from core.manifests import SelectionPolicy

Place = tuple[Any, ...]
"""The keys and indexes that lead to a value."""

POLICIES = st.builds(
    SelectionPolicy,
    max_height=st.none() | st.integers(1, 2000),
    language=st.none() | st.sampled_from(["en", "cs"]),
    subtitles=st.booleans(),
)


def wrong_values(
    *more: st.SearchStrategy[Any], texts: Sequence[str] = ()
) -> st.SearchStrategy[Any]:
    """What no field means: every type, and `more` that is wrong in a source's own way."""
    addresses = ["https://a.example.com/x.jpg", "https://[", "\ud800", "http://a/" + "x" * 9999]
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=30),
        st.builds(list),
        st.builds(dict),
        *more,
        st.sampled_from([*addresses, *texts]),
    )


def places(value: object, path: Place = ()) -> list[Place]:
    """Every place in a body, the body itself first."""
    inside: Any = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    return [path, *(place for key, one in inside for place in places(one, (*path, key)))]


def damaged_at(body: Any, place: Place, value: object) -> Any:
    """A copy of `body` with something else at one place."""
    if not place:
        return value
    body = copy.deepcopy(body)
    put(body, place, value)
    return body


def put(body: Any, place: Place, value: object) -> None:
    """Something else at one place, unless an earlier damage took that away."""
    *parents, last = place
    try:
        for key in parents:
            body = body[key]
        body[last] = value
    except (TypeError, KeyError, IndexError):
        return


@st.composite
def damaged_bodies(
    draw: st.DrawFn, bodies: Mapping[str, Any], wrong: st.SearchStrategy[Any]
) -> tuple[str, Any, list[Place]]:
    """The name of a body, the body with wrong values in up to three places, and these."""
    name = draw(st.sampled_from(sorted(bodies)))
    body = copy.deepcopy(bodies[name])
    within = places(body)[1:]
    hit = draw(st.lists(st.sampled_from(within), min_size=1, max_size=3))
    for place in hit:
        put(body, place, draw(wrong))
    return name, body, hit


@st.composite
def damaged_bytes(draw: st.DrawFn, bodies: Sequence[bytes]) -> bytes:
    """One of the bodies with other bytes, more or fewer, in up to eight places."""
    damaged = bytearray(draw(st.sampled_from(bodies)))
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, max(0, len(damaged) - 1)))
        damaged[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    return bytes(damaged)


@contextmanager
def refused_by_name(base: str) -> Iterator[None]:
    """What is raised within is an error of ours that says where it happened."""
    refused: HeadraceError | None = None
    try:
        yield
    except HeadraceError as error:
        refused = error

    assert refused is None or (refused.reason and base in str(refused))
