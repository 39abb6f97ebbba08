"""How each media ended: one file a generation, created exclusively, so that the first stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict

from core.clock import Clock
from core.model.end import EndState, MediaEnd
from core.model.moment import Moment
from core.store import records
from core.store.files import Disk
from core.store.paths import is_plain, number

_END = ".json"
_GOT = b'\n "state": "got",\n'  # a line of its own: no text in a record has a line's end in it


class Reopened(BaseModel):
    """`media/ab/ID.GENERATION.open`: a person sent a dead media on its way again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    media: str
    generation: int
    reopened_at: Moment
    writer: str


def counted(before: MediaEnd | None, end: MediaEnd) -> MediaEnd:
    """Which of two ends counts, `end` being the later one: the newest got, else the newest."""
    if before is not None and before.state is EndState.GOT and end.state is not EndState.GOT:
        return before
    return end


class Media:
    """`media/ab/`, where ab are the first two of a media's id. `before_end` is called before each
    record of an end."""

    def __init__(
        self, disk: Disk, clock: Clock, before_end: Callable[[], None] = lambda: None
    ) -> None:
        self._disk = disk
        self._paths = disk.paths
        self._clock = clock
        self._before_end = before_end

    def newest(self, media: str) -> MediaEnd | None:
        """The end that counts: the newest that was got, else the newest; None while there is
        none."""
        newest: MediaEnd | None = None
        for end in self.ends(media):
            newest = counted(newest, end)
        return newest

    def was_got_at_once(self, media: str) -> bool:
        """Whether its first generation was got, which then counts for ever. Told by one look at
        the record, a tenth of what reading it costs: a run asks this of all that it knows."""
        content = self._disk.read(self._paths.end(media, 1))
        return content is not None and _GOT in content and content.endswith(b"}\n")

    def generation(self, media: str) -> int:
        """The current one: the highest that ended or was opened again; 1 for a new media."""
        generation = 1
        while self._is_begun(media, generation + 1):
            generation += 1
        return generation

    def open_generation(self, media: str) -> int | None:
        """The one that is still to be got; None when the current one has ended. A new media costs
        one look at the disk."""
        generation = 1
        while self._read(media, generation) is not None:
            if not self._is_begun(media, generation + 1):
                return None
            generation += 1
        return generation

    def ended(self, media: str, generation: int) -> MediaEnd | None:
        """The newest end of this generation or a later one; None while the media is open."""
        newest: MediaEnd | None = None
        for end in self._ends_from(media, generation):
            newest = end
        return newest

    def end(self, end: MediaEnd) -> bool:
        """Write how a generation ended; False when an end of it stands already."""
        self._before_end()
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

    def reopened_at(self, media: str, generation: int) -> float | None:
        """Unix time when a person opened this generation; None for one that nobody did."""
        opened = records.read(self._disk, self._paths.reopened(media, generation), Reopened)
        return opened.reopened_at if opened is not None else None

    def ends(self, media: str) -> Iterator[MediaEnd]:
        """Every end of a media, oldest first."""
        return self._ends_from(media, 1)

    def ids(self) -> Iterator[str]:
        """Every media that ended, sorted."""
        return (media for media, _ in self.ended_generations())

    def ended_generations(self) -> Iterator[tuple[str, set[int]]]:
        """Every media that ended, sorted, and in which generations: by the names of the records,
        none of which is read."""
        folder = self._paths.all_media
        for shelf in sorted(self._disk.names(folder)):
            ended: dict[str, set[int]] = {}
            for media, generation in filter(None, map(_end_of, self._disk.names(folder / shelf))):
                ended.setdefault(media, set()).add(generation)
            yield from sorted(ended.items())

    def all(self) -> Iterator[MediaEnd]:
        """The end that counts of every media, one at a time: memory stays flat."""
        for media in self.ids():
            end = self.newest(media)
            if end is not None:
                yield end

    def _ends_from(self, media: str, generation: int) -> Iterator[MediaEnd]:
        """The ends of this generation and the later ones. A generation is opened only when the one
        before has ended, so the first that is missing is the last that can be: a new media costs
        one look, and no folder of its own."""
        while (end := self._read(media, generation)) is not None:
            yield end
            generation += 1

    def _is_begun(self, media: str, generation: int) -> bool:
        paths = (self._paths.reopened(media, generation), self._paths.end(media, generation))
        return any(self._disk.stat(path) is not None for path in paths)

    def _read(self, media: str, generation: int) -> MediaEnd | None:
        return records.read(self._disk, self._paths.end(media, generation), MediaEnd)


def _end_of(name: str) -> tuple[str, int] | None:
    """Id and generation in `ID.GENERATION.json`; None in any other name."""
    media, _, rest = name.partition(".")
    generation = number(rest, _END)
    return (media, generation) if generation is not None and is_plain(media) else None
