"""What is remembered about a half got file, so that a later attempt can go on where it stopped."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Validators(BaseModel):
    """The answer whose first bytes the partial holds. Only a strong ETag or a date may guard a
    resume."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str  # the requested address, without credentials
    etag: str | None = None  # as sent, weak ones too
    last_modified: str | None = None
    total_bytes: int | None = None  # of the whole file, where the answer told
    start: int = 0  # the byte of the file that the partial begins with
