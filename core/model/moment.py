"""A moment in a record: Unix seconds to the microsecond in here, ISO 8601 in UTC where people and
other programs read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer


def _seconds(value: object) -> object:
    if isinstance(value, str):
        return datetime.fromisoformat(value).timestamp()
    return round(value, 6) if isinstance(value, float) else value


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


Moment = Annotated[
    float, BeforeValidator(_seconds), PlainSerializer(_iso, return_type=str, when_used="json")
]
