"""No text that a feed may send leads out of the store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Refused
from core.store import names
from core.store.paths import Paths
from tests.support.store import MEDIA, got

ROOT = Path("/store")
PATHS = Paths(ROOT)
ANY = st.text(st.characters(), max_size=300) | st.sampled_from(
    ["..", "../../x", "C:\\x", "a/../../b", "\0", "/etc/passwd", "CON", "aux.jpg", "水" * 99]
)
DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(DIGESTS)
def test_an_objects_path_tells_its_digest(digest):
    path = PATHS.object(digest)

    assert path.name == digest
    assert path.relative_to(PATHS.objects).parts == (digest[:2], digest[2:4], digest)


@given(ANY, ANY)
def test_row_28_an_id_stays_in_the_store_or_is_refused(one, other):
    for make in (
        lambda: PATHS.object(one),
        lambda: PATHS.end(one, 1),
        lambda: PATHS.mark(one, other),
        lambda: PATHS.page(one, other, 1),
        lambda: PATHS.feed(one),
        lambda: PATHS.staging(one, "t"),
    ):
        try:
            path = make()
        except Refused:
            continue
        assert Path(os.path.normpath(path)) == path
        assert ROOT in path.parents


@given(ANY)
def test_row_28_a_component_is_one_component(text):
    made = names.component(text, "fallback")

    assert made not in {"", ".", ".."}
    assert not set(made) & set('/\\\0:*?"<>|')
    assert not any(ord(char) < 32 for char in made)
    assert len(made.encode()) <= names.MAX_BYTES
    assert made[0] not in ". " and made[-1] not in ". "  # noqa: PT018 - two ends of one rule


@given(ANY)
def test_a_component_made_twice_is_the_same(text):
    once = names.component(text, "fallback")

    assert names.component(once, "fallback") == once


@given(ANY, ANY, ANY)
def test_a_name_keeps_the_id_and_the_extension_whatever_the_title(title, author, date):
    end = got(title=title, author=author, created_at=date)
    made = names.name(end)

    assert made.endswith(f"_{MEDIA[:8]}.jpg")
    assert len(made.encode()) <= names.MAX_BYTES
    assert "/" not in made
    for folder in names.folders(end):
        assert folder not in {"", ".", ".."}
        assert len(Path(folder).parts) == 1


@given(st.text(max_size=100), st.integers(0, 400))
def test_a_cut_is_the_longest_beginning_that_fits(text, max_bytes):
    made = names.cut(text, max_bytes)

    assert text.startswith(made)
    assert len(made.encode()) <= max_bytes
    if made != text:
        assert len(text[: len(made) + 1].encode()) > max_bytes


@pytest.mark.parametrize("text", ["水車" * 100, "é" * 200, "🎡" * 90])
def test_a_cut_title_is_still_text(text):
    assert "\ufffd" not in names.component(text, "fallback")
