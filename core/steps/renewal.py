"""What a second reading of a video's manifest changes: addresses where it describes the same
pieces, everything where it describes others. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from core.model.plan import Part, Plan
from core.model.video import StagedVideo

RENEWED = "the manifest was read again on the way: earlier pieces came from its earlier addresses"


def renewed(kept: StagedVideo, read: StagedVideo) -> StagedVideo:
    """`read` as it goes on from `kept`: in the same layout, so that its pieces stay, or in one of
    its own, to which none of them belong."""
    if not _same_pieces(kept, read):
        return read.model_copy(update={"layout": read.generation})
    notes = tuple(dict.fromkeys((*read.plan.notes, RENEWED)))
    plan = read.plan.model_copy(update={"notes": notes})
    return read.model_copy(update={"layout": kept.layout, "plan": plan})


def unrenewed(kept: StagedVideo, generation: int) -> StagedVideo:
    """`kept` for a generation in which the manifest can't be had any more."""
    return kept.model_copy(update={"generation": generation, "read_at": None})


def _same_pieces(kept: StagedVideo, read: StagedVideo) -> bool:
    return (
        _ranges(kept.plan) == _ranges(read.plan)
        and _offers(kept.plan) == _offers(read.plan)
        and list(_segments(kept)) == list(_segments(read))
        and _same_places(kept.plan, read.plan)
    )


def _ranges(plan: Plan) -> list[tuple[int | None, ...]]:
    """Where each piece lies in its resource, and how long that is, as far as the plan tells."""
    return [(piece.start, piece.length, piece.size_bytes) for piece in plan.pieces]


def _offers(plan: Plan) -> list[object]:
    """What each track is beyond its segments: two renditions of one video may be cut alike."""
    return [track.model_copy(update={"segments": ()}) for track in plan.tracks]


def _segments(staged: StagedVideo) -> Iterator[object]:
    for track in staged.plan.tracks:
        for one in track.segments:
            yield one.model_copy(update={"part": None, "init": None})
            yield _use(one.part, staged.keys)
            yield _use(one.init, staged.keys)


def _use(part: Part | None, keys: dict[str, str]) -> object:
    """A piece and what opens it. The key itself and not its address, which may be signed: under
    another key the bytes that are there could not be opened, or never could."""
    if part is None or part.key is None:
        return part
    return part.piece, part.key.iv, keys.get(part.key.url)


def _same_places(kept: Plan, read: Plan) -> bool:
    """Signatures stand in queries, or in the folders of one path or the other, but not in both the
    manifest's path and the names of the pieces: else this may be any video cut alike."""
    if urlsplit(kept.manifest_url).path == urlsplit(read.manifest_url).path:
        return True
    return [_name(piece.url) for piece in kept.pieces] == [_name(p.url) for p in read.pieces]


def _name(url: str) -> str:
    return PurePosixPath(urlsplit(url).path).name
