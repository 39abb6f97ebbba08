"""What is half got of a video: its plan, and its pieces, each of which is there whole or not at
all. Never looks into a piece."""

from __future__ import annotations

import fcntl
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from core.clock import Clock
from core.errors import StorageDown
from core.model.end import Failure
from core.model.video import StagedVideo
from core.store import records, shelf
from core.store.files import Disk
from core.store.paths import number

logger = logging.getLogger(__name__)

_OWNERS_ALONE = 0o600  # the plan has keys and signed addresses
_READ_ONLY = 0o444
_IDLE_S = 900.0  # a workspace in which nothing happened for so long has no living writer
_RENEWED = re.compile(r"plan\.(\d+)\.json")
_DOUBTED = re.compile(r"(\d{6,})\.(\d+)\.(\d+)\.short")  # piece, layout, size in bytes
_PIECE = re.compile(r"(\d{6,})(?:\.(\d+))?")  # its number, and its layout but for the first


class DeadPiece(BaseModel):
    """`000123.GENERATION.dead.json`: one piece can't be had, in one generation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    media: str
    piece: int
    generation: int
    failure: Failure


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a video is in one generation. Each piece is in just one of the three."""

    present: frozenset[int]
    dead: dict[int, Failure]
    missing: tuple[int, ...]  # neither, in order


class Videos:
    """`staging/ab/ID.pieces/`: `plan.json`, `plan.GENERATION.json` for each later reading of the
    manifest, `000123` a piece (`000123.LAYOUT` if such a reading found others than before),
    `000123.GENERATION.dead.json` a mark. The folder comes with its plan in it and goes with it, so
    whatever is put where none stands belongs to a video that has ended: it is dropped, and that is
    no error."""

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self._disk = disk
        self._paths = disk.paths
        self._clock = clock

    # --- letting in ---

    @contextmanager
    def admission(self, source: str) -> Iterator[bool]:
        """Whether this caller alone, of all threads and processes, lets a video of `source` in. The
        lock goes with the process that holds it, however that ends."""
        path = self._paths.admission(source)
        self._disk.make_folder(path.parent)
        with self._disk.told("open", path):
            lock = path.open("ab")
        with lock:
            taken = self._take(lock, path)
            try:
                yield taken
            finally:  # said, and not left to closing: a forked process may have a copy
                if taken:
                    fcntl.flock(lock, fcntl.LOCK_UN)

    def _take(self, lock: BinaryIO, path: Path) -> bool:
        with self._disk.told("lock", path):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    # --- the plan ---

    def put_plan(self, staged: StagedVideo) -> bool:
        """Keep the plan of a video; the first durable one stands. False when there is one already:
        read it back. Either way what stands there is durable when this returns."""
        media = staged.payload.media
        fresh = shelf.chance(self._disk, media, shelf.NEW)
        try:
            self._fill(fresh, records.encode_compact(staged))
            made = self._disk.name_folder(fresh, self._paths.pieces(media))
        except BaseException:
            self._discard(fresh)
            raise
        if not made:
            self._discard(fresh)
        self._disk.sync(fresh.parent)
        return made

    def renew_plan(self, staged: StagedVideo) -> None:
        """Keep what a later generation read of the manifest: the plan from here on. The first
        durable one of a generation stands: read it back."""
        media = staged.payload.media
        path = self._paths.video_plan(media, staged.generation)
        file = self._disk.write_unnamed([records.encode_compact(staged)], mode=_OWNERS_ALONE)
        try:
            with self._unless_ended(media):
                self._disk.place(file, path, make_folder=False)
                self._disk.sync(path.parent)
        finally:
            self._disk.discard(file)

    def plan(self, media: str) -> StagedVideo | None:
        """What was planned, by the newest reading; None when nothing is, or not any more."""
        names = self._disk.names(self._paths.pieces(media))
        readings = [int(found[1]) for name in names if (found := _RENEWED.fullmatch(name))]
        path = self._paths.video_plan(media, max(readings, default=None))
        return records.read(self._disk, path, StagedVideo)

    # --- pieces ---

    def path(self, media: str, piece: int, layout: int = 1) -> Path:
        """Where a piece lies, or would lie."""
        return self._paths.piece(media, piece, layout)

    def has(self, media: str, piece: int, layout: int = 1) -> bool:
        """Whether it is there."""
        return self._disk.stat(self.path(media, piece, layout)) is not None

    def put(
        self, media: str, piece: int, partial: Path, layout: int = 1, *, clear: bool = True
    ) -> None:
        """Make `partial` the piece, durably, unless it is there already; then `clear` the partials
        of it, everybody's. One that comes late, of an earlier layout, is nobody's piece."""
        path = self.path(media, piece, layout)
        with self._unless_ended(media):
            if self._disk.stat(path) is None and self._is_there(partial, path):
                self._disk.seal(partial, _READ_ONLY)
                self._disk.place(partial, path, make_folder=False)
            self._disk.sync(path.parent)
        if clear:
            ident = shelf.piece_name(media, piece)
            shelf.clear_partials(self._disk, self._paths.shelf(media), ident)

    def discard(self, media: str, piece: int, layout: int = 1) -> None:
        """Remove a piece that is not what its plan says: it is missing from here on."""
        self._disk.remove(self.path(media, piece, layout))

    def doubt(self, media: str, piece: int, size_bytes: int, layout: int = 1) -> None:
        """Remember, before it is discarded, that a piece of so many bytes seemed to be cut."""
        path = self._paths.doubted_piece(media, piece, layout, size_bytes)
        with self._unless_ended(media):
            self._disk.create_exclusive(path, b"{}\n", make_folder=False)

    def doubted(self, media: str, layout: int = 1) -> dict[int, set[int]]:
        """The sizes in bytes with which pieces seemed to be cut."""
        doubted: dict[int, set[int]] = {}
        for name in self._disk.names(self._paths.pieces(media)):
            if (found := _DOUBTED.fullmatch(name)) and int(found[2]) == layout:
                doubted.setdefault(int(found[1]), set()).add(int(found[3]))
        return doubted

    def drop_others(self, media: str, layout: int) -> int:
        """Remove the pieces of every other layout, of which nothing can be made any more; how many
        they were."""
        folder = self._paths.pieces(media)
        pieces = (name for name in self._disk.names(folder) if _PIECE.fullmatch(name))
        others = [name for name in pieces if _number(name, layout) is None]
        for name in others:
            self._disk.remove(folder / name)
        return len(others)

    def bury(self, media: str, piece: int, generation: int, failure: Failure) -> None:
        """Mark that a piece can't be had in this generation, durably; the first word stands."""
        path = self._paths.dead_piece(media, piece, generation)
        mark = DeadPiece(media=media, piece=piece, generation=generation, failure=failure)
        with self._unless_ended(media):
            self._disk.create_exclusive(path, records.encode(mark), make_folder=False)

    def buried(self, media: str, piece: int, generation: int) -> Failure | None:
        """Why it can't be had in this generation; None when it may still come."""
        path = self._paths.dead_piece(media, piece, generation)
        mark = records.read(self._disk, path, DeadPiece)
        return None if mark is None else mark.failure

    def standing(self, media: str, pieces: int, generation: int, layout: int = 1) -> Standing:
        """Which of so many pieces are present, which are dead in this generation, and which are
        neither. A piece that came in spite of its mark is present."""
        names = self._disk.names(self._paths.pieces(media))
        found = (piece for name in names if (piece := _number(name, layout)) is not None)
        present = frozenset(found).intersection(range(pieces))
        ending = f".{generation}.dead.json"
        marked = {piece for name in names if (piece := number(name, ending)) is not None}
        dead = {}
        for piece in sorted(marked.intersection(range(pieces)) - present):
            failure = self.buried(media, piece, generation)
            if failure is not None:  # else the video was cleared meanwhile
                dead[piece] = failure
        missing = (piece for piece in range(pieces) if piece not in present and piece not in dead)
        return Standing(present, dead, tuple(missing))

    def standing_of(self, staged: StagedVideo, generation: int) -> Standing:
        """The same of every piece of a plan."""
        pieces = len(staged.plan.pieces)
        return self.standing(staged.payload.media, pieces, generation, staged.layout)

    # --- the join ---

    def workspace(self, media: str, token: str) -> Path:
        """An empty folder for the run that holds `token`; it goes when the media is cleared. What
        crashed runs left goes now: each may be as large as the video."""
        folder = self._workspace(media, token)
        for name in self._disk.names(folder.parent):
            left = folder.parent / name
            if left.suffix == shelf.JOIN and shelf.owner(name) == media and self._is_idle(left):
                self._disk.remove_tree(left)
        self._disk.remove_tree(folder)
        self._disk.make_folder(folder)
        return folder

    def leave(self, media: str, token: str) -> None:
        """Remove the workspace of a run whose join came to nothing: the next begins in its own."""
        self._discard(self._workspace(media, token))

    def clear(self, media: str) -> None:
        """Remove all that is staged of a video. Twice is harmless."""
        shelf.clear(self._disk, media)

    def _workspace(self, media: str, token: str) -> Path:
        return self._paths.staging(media, shelf.token_name(token) + shelf.JOIN)

    def _fill(self, folder: Path, plan: bytes) -> None:
        self._disk.make_folder(folder)
        file = self._disk.write_unnamed([plan], mode=_OWNERS_ALONE)
        try:
            self._disk.rename(file, folder / self._paths.video_plan("x").name)
        except BaseException:
            self._disk.discard(file)
            raise
        self._disk.sync(folder)

    def _discard(self, folder: Path) -> None:
        """What stays in spite of this goes when the media is cleared."""
        try:
            self._disk.remove_tree(folder)
        except StorageDown as error:
            logger.debug("%s stays for now: %s", folder, error)

    def _is_there(self, partial: Path, path: Path) -> bool:
        """Whether the partial is; another worker that got the same piece may have cleared it, and
        then that one's stands for both."""
        if self._disk.stat(partial) is not None:
            return True
        if self._disk.stat(path) is None:
            raise StorageDown(
                f"{partial} is gone before it was kept: was the staging folder cleared by hand? "
                "the piece will be fetched again"
            )
        return False

    def _is_idle(self, folder: Path) -> bool:
        paths = [folder, *(folder / name for name in self._disk.names(folder))]
        held = [found for path in paths if (found := self._disk.stat(path)) is not None]
        since = max((found.st_mtime for found in held), default=0.0)
        return self._clock.now() - since >= _IDLE_S

    @contextmanager
    def _unless_ended(self, media: str) -> Iterator[None]:
        """Let a fault pass that comes of the video's folder being gone, unless the whole store is
        out of reach: an open one has a folder for unnamed files."""
        try:
            yield
        except StorageDown:
            gone = self._disk.stat(self._paths.pieces(media)) is None
            if not gone or self._disk.stat(self._paths.unnamed) is None:
                raise
            logger.info("video %s has ended: what comes late of it is dropped", media)


def _number(name: str, layout: int) -> int | None:
    """The number of a piece of this layout; None for any other name."""
    if layout == 1:  # asked for each of many thousand names
        return int(name) if name.isdigit() else None
    return number(name, f".{layout}")
