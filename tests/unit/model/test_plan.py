"""The plan of a video, as it is kept."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from core.errors import Malformed
from core.model.plan import (
    Container,
    KeyRef,
    Part,
    Piece,
    Plan,
    Segment,
    Track,
    TrackKind,
    parse_plan,
)


def a_plan(**changes: object) -> Plan:
    part = Part(piece=1, key=KeyRef(url="https://k.example/k", iv="0" * 32))
    segment = Segment(part=part, duration_s=6.0, sequence=0, init=Part(piece=0))
    fields: dict[str, object] = {
        "media": "m",
        "source": "feed",
        "manifest_url": "https://v.example/i.m3u8",
        "manifest_sha256": "0" * 64,
        "final_urls": ("https://v.example/i.m3u8",),
        "pieces": (
            Piece(url="https://v.example/i"),
            Piece(url="https://v.example/a", start=0, length=5),
        ),
        "tracks": (Track(kind=TrackKind.VIDEO, container=Container.FMP4, segments=(segment,)),),
        "duration_s": 6.0,
        "chosen": "the only variant",
    }
    return Plan.model_validate(fields | changes)


def test_a_plan_is_what_its_json_says():
    assert parse_plan(a_plan().to_json()) == a_plan()


def test_a_part_is_of_a_piece_that_there_is():
    with pytest.raises(ValidationError, match="piece 1"):
        a_plan(pieces=(Piece(url="https://v.example/i"),))


@pytest.mark.parametrize(
    "fields", [{"start": 0}, {"length": 5}, {"start": -1, "length": 5}, {"start": 0, "length": 0}]
)
def test_a_range_has_a_start_and_a_length(fields: dict[str, int]):
    with pytest.raises(ValidationError):
        Piece(url="https://v.example/a", **fields)


@pytest.mark.parametrize(
    "iv", ["", "0" * 31, "0" * 33, "G" * 32, "0x" + "0" * 30, "A" * 32, "0" * 32 + "\n"]
)
def test_an_iv_is_32_small_hex_digits(iv: str):
    with pytest.raises(ValidationError):
        KeyRef(url="https://k.example/k", iv=iv)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"format": 9}'])
def test_a_damaged_plan_is_malformed(content: bytes):
    with pytest.raises(Malformed) as caught:
        parse_plan(content)

    assert caught.value.reason == "bad_plan"


def test_a_newer_plan_is_not_guessed_at():
    newer = json.loads(a_plan().to_json()) | {"format": 2}

    with pytest.raises(Malformed, match="format 2"):
        parse_plan(json.dumps(newer).encode())
