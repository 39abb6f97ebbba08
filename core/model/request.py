"""What a step asks the fetcher for. Built by adapters, without credentials: those are added when
it goes out."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    """One GET. `headers` hold nothing secret."""

    url: str
    referer: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
