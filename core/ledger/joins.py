"""Which pieces of a video are known to be present or dead, in a single process. The same rules as
join.lua; not safe for threads by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.ledger.record import KEPT_US

_SWEPT_FROM = 64  # videos: below it nobody minds those that were left over


@dataclass(slots=True)
class _Join:
    """One video's pieces in its newest generation."""

    generation: int
    pieces: set[int] = field(default_factory=set)
    expires_at: int = 0


class Joins:
    """Pieces by media. What nobody forgets goes after a week without a word."""

    def __init__(self) -> None:
        self._of_media: dict[str, _Join] = {}
        self._sweep_at = _SWEPT_FROM

    def add(self, media: str, generation: int, piece: int, now: int) -> int:
        """How many distinct pieces are known with this one; 0 for a generation that is over."""
        join = self._current(media, generation, now)
        if join.generation > generation:
            return 0
        join.pieces.add(piece)
        join.expires_at = now + KEPT_US
        return len(join.pieces)

    def forget(self, media: str) -> None:
        """Every generation of a video."""
        self._of_media.pop(media, None)

    def _current(self, media: str, generation: int, now: int) -> _Join:
        join = self._of_media.get(media)
        if join is None or join.generation < generation or join.expires_at <= now:
            self._sweep(now)
            join = self._of_media[media] = _Join(generation)
        return join

    def _sweep(self, now: int) -> None:
        if len(self._of_media) >= self._sweep_at:
            self._of_media = {m: j for m, j in self._of_media.items() if j.expires_at > now}
            self._sweep_at = max(_SWEPT_FROM, 2 * len(self._of_media))
