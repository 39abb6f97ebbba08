"""A manifest that is read again: what of the plan before it stays."""

from __future__ import annotations

import pytest

from core.model.plan import KeyRef, Part, Piece
from core.model.video import StagedVideo
from core.steps.renewal import RENEWED, renewed, unrenewed
from tests.support.videos import a_staged

KEPT = a_staged(3)


def changed(staged: StagedVideo = KEPT, **plan: object) -> StagedVideo:
    return staged.model_copy(update={"plan": staged.plan.model_copy(update=plan)})


def read_in(staged: StagedVideo, generation: int = 2) -> StagedVideo:
    return staged.model_copy(update={"generation": generation, "read_at": 5.0})


def signed(sign: str, folder: str = "v") -> tuple[Piece, ...]:
    return tuple(Piece(url=f"https://media.example/{folder}/{n}.ts?{sign}") for n in range(3))


def track(**changes: object) -> StagedVideo:
    return changed(tracks=(KEPT.plan.tracks[0].model_copy(update=changes),))


def first_segment(**changes: object) -> StagedVideo:
    first, *others = KEPT.plan.tracks[0].segments
    return track(segments=(first.model_copy(update=changes), *others))


def encrypted(address: str, key: str, iv: str = "0" * 32) -> StagedVideo:
    part = Part(piece=0, key=KeyRef(url=address, iv=iv))
    return first_segment(part=part).model_copy(update={"keys": {address: key}})


def test_the_same_pieces_at_other_addresses_stay_and_the_addresses_are_the_new_ones():
    read = read_in(changed(pieces=signed("b")))

    following = renewed(KEPT, read)

    assert (following.layout, following.generation, following.read_at) == (1, 2, 5.0)
    assert following.plan.pieces == signed("b")
    assert following.plan.notes == (RENEWED,)


def test_a_layout_lasts_over_several_readings():
    second = renewed(KEPT, read_in(changed(duration_s=1.0, pieces=signed("b")[:2], tracks=()), 2))
    third = renewed(second, read_in(second.model_copy(update={"layout": 1}), 3))

    assert (second.layout, third.layout) == (2, 2)


OTHERS = {
    "one piece more": changed(pieces=(*KEPT.plan.pieces, Piece(url="https://media.example/3.ts"))),
    "ranges": changed(pieces=tuple(Piece(url=p.url, start=0, length=9) for p in KEPT.plan.pieces)),
    "duration": first_segment(duration_s=2.5),
    "discontinuity": first_segment(discontinuity=1),
    "init part": first_segment(init=Part(piece=2)),
    "gap": first_segment(part=None),
    "order": first_segment(part=Part(piece=1)),
    "size": track(height=360),
    "codecs": track(codecs="hvc1"),
    "encrypted": encrypted("k", "ab" * 16),
}


@pytest.mark.parametrize("other", OTHERS)
def test_any_other_structure_is_a_layout_of_its_own(other):
    assert renewed(KEPT, read_in(OTHERS[other])).layout == 2


def test_a_key_that_only_moved_changes_nothing():
    kept, read = encrypted("k?a", "ab" * 16), encrypted("k?b", "ab" * 16)

    assert renewed(kept, read_in(read)).layout == 1
    assert renewed(kept, read_in(read)).keys == {"k?b": "ab" * 16}


@pytest.mark.parametrize(("key", "iv"), [("cd" * 16, "0" * 32), ("ab" * 16, "1" * 32)])
def test_bytes_under_another_key_are_other_pieces(key, iv):
    read = encrypted("k", key, iv)

    assert renewed(encrypted("k", "ab" * 16), read_in(read)).layout == 2


def test_a_manifest_elsewhere_with_the_same_names_is_the_same_video():
    moved = changed(manifest_url="https://other.example/t0k3n/index.m3u8", pieces=signed("b", "t2"))

    assert renewed(KEPT, read_in(moved)).layout == 1


def test_a_manifest_elsewhere_with_other_names_is_another_video():
    pieces = tuple(Piece(url=f"https://media.example/w/x{n}.ts") for n in range(3))
    other = changed(manifest_url="https://media.example/w/index.m3u8", pieces=pieces)

    assert renewed(KEPT, read_in(other)).layout == 2


def test_a_plan_whose_manifest_is_gone_goes_on_as_it_was():
    following = unrenewed(read_in(KEPT, 2), 3)

    assert (following.generation, following.read_at, following.layout) == (3, None, 1)
    assert following.plan == KEPT.plan
