"""What a step asks the fetcher for. Built by adapters, without credentials: those are added when
it goes out."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.errors import Malformed


@dataclass(frozen=True, slots=True)
class Request:
    """One GET. `headers` hold nothing secret."""

    url: str
    referer: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    read_also: frozenset[int] = frozenset()  # statuses whose body says more than they do
    identity: str | None = None  # what is asked for, whichever address it has today


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a file. Raises `Malformed` for one that no file has."""

    start: int  # its first byte
    length: int  # bytes

    def __post_init__(self) -> None:
        if self.start < 0 or self.length < 1:
            raise Malformed(
                f"{self.length} bytes from byte {self.start} on are no part of a file",
                reason="bad_range",
            )

    def __str__(self) -> str:
        return f"bytes {self.start:,} to {self.end - 1:,}"

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that went out, as the budget knows it."""

    host: str
    bucket: str  # the narrowest that it was paid from: its source's, or its host's
    era: int  # of that bucket, when it was granted
    answered: bool = False  # and not by trouble on the other side, nor by «slower»
