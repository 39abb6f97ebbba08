"""AES-128 as HLS uses it."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DamagedPiece
from core.video.decrypt import decrypted
from tests.support.rendered import encrypt

SAMPLE = Path(__file__).parents[2] / "data" / "hls" / "aes_sample"
TOLD = json.loads((SAMPLE / "expected.json").read_text(encoding="utf-8"))
KEY, IV = b"k" * 16, b"i" * 16


@pytest.mark.parametrize("one", TOLD["segments"], ids=lambda one: one["file"])
def test_the_sample_is_opened_to_its_known_bytes(one):
    key = (SAMPLE / TOLD["key"]).read_bytes()
    cipher = (SAMPLE / one["file"]).read_bytes()

    plain = b"".join(decrypted([cipher], key, bytes.fromhex(one["iv_used"]), 0))

    assert len(plain) == one["plain_len"]
    assert hashlib.sha256(plain).hexdigest() == one["plain_sha256"]


@given(st.binary(max_size=200), st.lists(st.integers(0, 250)))
def test_chunks_of_any_size_give_the_same_bytes(plain, cuts):
    cipher = encrypt(plain, KEY, IV)
    places = [0, *sorted(min(cut, len(cipher)) for cut in cuts), len(cipher)]
    chunks = [cipher[a:b] for a, b in pairwise(places)]

    assert b"".join(decrypted(chunks, KEY, IV, 0)) == plain


@given(st.binary(min_size=1, max_size=100), st.integers(1, 15))
def test_what_is_cut_within_a_block_names_its_piece(plain, cut):
    cipher = encrypt(plain, KEY, IV)[:-cut]

    with pytest.raises(DamagedPiece, match="piece 12 can't be decrypted") as caught:
        list(decrypted([cipher], KEY, IV, 12))
    assert caught.value.piece == 12


def test_nothing_is_no_encrypted_piece():
    with pytest.raises(DamagedPiece):
        list(decrypted([], KEY, IV, 0))


def test_another_key_is_told_by_the_padding():
    cipher = encrypt(b"x" * 100, KEY, IV)

    with pytest.raises(DamagedPiece, match="under another key"):
        list(decrypted([cipher], b"o" * 16, IV, 0))
