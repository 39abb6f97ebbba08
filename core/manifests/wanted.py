"""How much an offer is wanted, by the names that a person gives: of qualities and of codecs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from core.manifests.codecs import VIDEO, families

_LINES = re.compile(r"(\d{2,5})p\d{0,3}")  # «1080p», «720p60»
Size = tuple[int | None, int | None]  # width and height in pixels


def rank(found: Iterable[str], codecs: Sequence[str]) -> int:
    """0 for the most wanted, less for others."""
    return -min((codecs.index(family) for family in found if family in codecs), default=len(codecs))


def picture_rank(told: str | None, codecs: Sequence[str]) -> int:
    """The same of the picture that a CODECS attribute tells."""
    return rank(families(told) & VIDEO, codecs)


def quality_rank(name: str | None, size: Size, wanted: Sequence[str]) -> int:
    """0 for the most wanted quality, less for others: by its source's own name for it, or where a
    wanted one is of so many lines («720p»), by its size."""
    return -next((place for place, one in enumerate(wanted) if _is(one, name, size)), len(wanted))


def _is(wanted: str, name: str | None, size: Size) -> bool:
    if name is not None and name.strip().casefold() == wanted.casefold():
        return True
    lines = _LINES.fullmatch(wanted.casefold())
    if lines is None or size[1] is None:
        return False
    # A picture that stands upright is called by its shorter side.
    return int(lines[1]) in (size[1], min(size[1], size[0] or size[1]))
