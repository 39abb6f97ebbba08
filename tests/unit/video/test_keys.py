"""Encrypted segments: each is opened with the key and IV of its place (rows 15, 16 and 35)."""

from __future__ import annotations

import pytest

from core.errors import DamagedPiece
from tests.support.assembling import encrypted, segment
from tests.support.rendered import frames

KEY, OTHER_KEY = b"0123456789abcdef", b"fedcba9876543210"


def test_without_an_iv_the_sequence_number_is_the_iv(film, rendered):
    film.track(*encrypted(film, rendered.ts, KEY, 7))

    made = film.assembled()

    assert frames(made.path) == rendered.frames_of("ts.ts", rendered.ts.joined())


def test_a_key_that_rotates_opens_the_segments_it_was_given_for(film, rendered):
    given = [(KEY, 1), (KEY, b"\x0a" * 16), (OTHER_KEY, 3), (None, 0)]
    parts = [
        film.part(content, key, iv)
        for content, (key, iv) in zip(rendered.ts.segments, given, strict=True)
    ]
    film.track(*map(segment, parts))

    made = film.assembled()

    assert frames(made.path) == rendered.frames_of("ts.ts", rendered.ts.joined())


def test_a_wrong_iv_is_not_taken_for_a_good_piece(film, rendered):
    good = film.part(rendered.ts.segments[0], KEY, 7)
    wrong = good.key.model_copy(update={"iv": "f" * 32})
    film.track(segment(good.model_copy(update={"key": wrong})))

    with pytest.raises(DamagedPiece, match="piece 0 should be ts"):
        film.assembled()


def test_a_cut_encrypted_piece_is_named_to_be_got_again(film, rendered):
    film.track(*encrypted(film, rendered.ts, KEY, 7))
    film.path(2).write_bytes(film.path(2).read_bytes()[:-5])

    with pytest.raises(DamagedPiece, match="piece 2") as caught:
        film.assembled()
    assert caught.value.piece == 2
