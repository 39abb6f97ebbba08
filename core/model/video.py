"""What the store keeps of a video while it is being got."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from core.model.plan import Plan
from core.model.task import ManifestPayload


class StagedVideo(BaseModel):
    """A video's plan and what it needs besides. Signed addresses and keys stand in it: it is its
    owner's alone and goes with the staging."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    source: str
    payload: ManifestPayload
    plan: Plan
    keys: dict[str, str] = {}  # address -> 32 hex digits
