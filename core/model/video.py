"""What the store keeps of a video while it is being got, and what its pieces are called."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import BaseModel, ConfigDict

from core.model.plan import Plan
from core.model.task import ManifestPayload

_NUMBERS_SHOWN = 20  # of a list in a message; records have them all


class StagedVideo(BaseModel):
    """A video's plan and what it needs besides. Signed addresses and keys stand in it: it is its
    owner's alone and goes with the staging."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    source: str
    payload: ManifestPayload
    plan: Plan
    keys: dict[str, str] = {}  # address -> 32 hex digits
    generation: int = 1  # the media's, in which the manifest was last read
    layout: int = 1  # the generation whose reading gave this order of pieces: theirs are named so
    read_at: float | None = None  # Unix seconds; None: a later reading failed, so these are old


def pieces_in_words(pieces: Collection[int]) -> str:
    """`pieces 4, 8`: for people, who count from 1."""
    noun = "piece" if len(pieces) == 1 else "pieces"
    return f"{noun} {listed([piece + 1 for piece in pieces])}"


def listed(numbers: Collection[int]) -> str:
    """`4, 8, 9 and 12 more`, in their order."""
    shown = ", ".join(map(str, sorted(numbers)[:_NUMBERS_SHOWN]))
    more = len(numbers) - _NUMBERS_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
