"""How each media ended: one file a generation, created exclusively, so that the first stands."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from core.clock import Clock
from core.model.end import EndState, MediaEnd
from core.store import records
from core.store.files import Disk
from core.store.paths import is_plain, number

_END = ".json"
_OPEN = ".open"


class Reopened(BaseModel):
    """`media/ID/GENERATION.open`: a person sent a dead media on its way again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    media: str
    generation: int
    reopened_at: float  # Unix seconds
    writer: str


def counted(before: MediaEnd | None, end: MediaEnd) -> MediaEnd:
    """Which of two ends counts, `end` being the later one: the newest got, else the newest."""
    if before is not None and before.state is EndState.GOT and end.state is not EndState.GOT:
        return before
    return end


class Media:
    """`media/ab/ID/`."""

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self._disk = disk
        self._paths = disk.paths
        self._clock = clock

    def newest(self, media: str) -> MediaEnd | None:
        """The end that counts: the newest that was got, else the newest; None while there is
        none."""
        newest: MediaEnd | None = None
        for generation in reversed(self._ends(media)):
            end = self._read(media, generation)
            if end is not None and end.state is EndState.GOT:
                return end
            newest = newest or end
        return newest

    def generation(self, media: str) -> int:
        """The current one: the highest that ended or was opened again; 1 for a new media."""
        names = self._disk.names(self._paths.media(media))
        found = (number(name, suffix) for name in names for suffix in (_END, _OPEN))
        return max((generation for generation in found if generation is not None), default=1)

    def ended(self, media: str, generation: int) -> MediaEnd | None:
        """The newest end of this generation or a later one; None while the media is open."""
        ends = self._ends(media)
        return self._read(media, ends[-1]) if ends and ends[-1] >= generation else None

    def end(self, end: MediaEnd) -> bool:
        """Write how a generation ended; False when an end of it stands already."""
        path = self._paths.end(end.media, end.generation)
        return self._disk.create_exclusive(path, records.encode(end))

    def reopen(self, media: str, generation: int) -> int:
        """A person's requeue of the ended `generation`: open the next one, durably, before anything
        is published. Returns the current generation, also when that is another one already."""
        current = self.generation(media)
        if generation != current or self.ended(media, generation) is None:
            return current
        opened = Reopened(
            media=media,
            generation=generation + 1,
            reopened_at=self._clock.now(),
            writer=self._disk.writer,
        )
        path = self._paths.reopened(media, opened.generation)
        self._disk.create_exclusive(path, records.encode(opened))
        return self.generation(media)

    def ends(self, media: str) -> Iterator[MediaEnd]:
        """Every end of a media, oldest first."""
        for generation in self._ends(media):
            end = self._read(media, generation)
            if end is not None:
                yield end

    def ids(self) -> Iterator[str]:
        """Every media that ended or was opened again, sorted."""
        folder = self._paths.all_media
        for shelf in sorted(self._disk.names(folder)):
            yield from filter(is_plain, sorted(self._disk.names(folder / shelf)))

    def all(self) -> Iterator[MediaEnd]:
        """The end that counts of every media, one at a time: memory stays flat."""
        for media in self.ids():
            end = self.newest(media)
            if end is not None:
                yield end

    def _ends(self, media: str) -> list[int]:
        names = self._disk.names(self._paths.media(media))
        found = (number(name, _END) for name in names)
        return sorted(generation for generation in found if generation is not None)

    def _read(self, media: str, generation: int) -> MediaEnd | None:
        return records.read(self._disk, self._paths.end(media, generation), MediaEnd)
