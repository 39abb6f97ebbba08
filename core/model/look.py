"""What a page's second looks were answered: kept while the page is not read to its end, so that the
run after a long one goes on where that stopped."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from core.model.moment import Moment


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeptAnswer(_Frozen):
    """One answer, or one refusal with which its adapter went on."""

    at: Moment
    url: str = ""  # the final address, without credentials
    content_type: str | None = None
    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    body: str = ""  # its bytes in base64
    error: str | None = None  # the class of a refusal
    reason: str | None = None
    message: str = ""
    http_status: int | None = None


class KeptLooks(_Frozen):
    """`walks/FEED/WALK/000001.looks`. By what was asked, and for how many times."""

    format: int = 1
    answers: dict[str, KeptAnswer] = Field(default_factory=dict)
