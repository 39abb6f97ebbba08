"""The lines of checksum lists: what an end changes about what counts, and the counts. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from core.model.end import EndState, MediaEnd
from core.store.media import counted

_LINE = re.compile(
    r"([+-])\t([a-z0-9_-]+)\t(got|dead|incomplete|refused)\t"
    r"([0-9]+)\t([0-9a-f]{64}|-)\t([\w-]+)\t([0-9]+)\n"
)


class Line(NamedTuple):
    """`+ source state bytes sha256 media generation`: an end that counts from now on; `-`: one that
    no longer does, because a newer one of the same media follows."""

    sign: str
    source: str
    state: EndState
    size_bytes: int
    sha256: str  # "-" where nothing was got
    media: str
    generation: int


@dataclass(slots=True)
class Tally:
    """What became of a source's media, each counted by the end that counts."""

    got: int = 0
    dead: int = 0
    refused: int = 0
    incomplete: int = 0
    bytes: int = 0  # of what was got, equal bytes counted for each media

    def add(self, line: Line) -> None:
        """Count one line."""
        by = 1 if line.sign == "+" else -1
        match line.state:
            case EndState.GOT:
                self.got += by
                self.bytes += by * line.size_bytes
            case EndState.DEAD:
                self.dead += by
            case EndState.REFUSED:
                self.refused += by
            case EndState.INCOMPLETE:
                self.incomplete += by
            case _ as never:
                assert_never(never)


def lines_of(ends: Iterable[MediaEnd], wanted: Collection[int]) -> Iterator[Line]:
    """What the `wanted` generations change about which end of a media counts."""
    before: MediaEnd | None = None
    for end in ends:
        after = counted(before, end)
        if after is end and end.generation in wanted:
            if before is not None:
                yield _line("-", before)
            yield _line("+", end)
        before = after


def _line(sign: str, end: MediaEnd) -> Line:
    size_bytes, sha256 = (end.file.size_bytes, end.file.sha256) if end.file else (0, "-")
    return Line(sign, end.source, end.state, size_bytes, sha256, end.media, end.generation)


def encode(line: Line) -> bytes:
    """As it stands in a list."""
    return "\t".join(map(str, line)).encode() + b"\n"


def decode(line: bytes) -> Line | None:
    """What it says; None where it is no whole line."""
    found = _LINE.fullmatch(line.decode(errors="replace"))
    if found is None:
        return None
    sign, source, state, size_bytes, sha256, media, generation = found.groups()
    return Line(sign, source, EndState(state), int(size_bytes), sha256, media, int(generation))
