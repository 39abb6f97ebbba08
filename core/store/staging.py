"""What is half got. A partial has one writer, named by its lease's token: nobody else ever writes
to that file, so a worker that was thought dead can't spoil what its successor does."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

from core.errors import StorageDown
from core.model.partial import Validators
from core.store import records, shelf
from core.store.files import Disk
from core.store.shelf import COPYING, HANDED, PART, PIECES, VALIDATORS

logger = logging.getLogger(__name__)

_WRITABLE = 0o644


class StagedPartial:
    """`staging/ab/ID.TOKEN.part` and, beside it, the answer its bytes belong to. The file is there
    once something was written to it; no folder is made for it, nor a file that is soon removed:
    ext4 goes around every inode that was freed within the last minute, one by one."""

    def __init__(
        self, disk: Disk, stem: Path, validators: Validators | None, *, alone: bool = False
    ) -> None:
        self._disk = disk
        self._stem = stem
        self.path = _with(stem, PART)
        self.validators = validators
        self.alone = alone  # nobody else had left anything of the media
        self.has_pieces = False  # it is known as a video in pieces
        self._removed = False

    def keep(self, validators: Validators) -> None:
        """Remember the answer, for a successor."""
        self._disk.write_careless(_with(self._stem, VALIDATORS), records.encode(validators))
        self.validators = validators

    def restart(self) -> None:
        """Drop the bytes and what is remembered. An object that shares the bytes keeps them."""
        self._disk.remove(_with(self._stem, VALIDATORS))
        self.validators = None
        held = self._disk.stat(self.path)
        if held is not None and held.st_nlink > 1:
            self._disk.remove(self.path)
        self._disk.write_careless(self.path, b"")

    def hand_over(self) -> None:
        """This writer is done with it: the next one renames it instead of copying. Bytes whose
        answer nobody remembers are dropped."""
        if self.validators is None:
            self._disk.remove(self.path)
        else:
            self._disk.rename(self.path, _with(self._stem, HANDED))

    def remove(self) -> None:
        """The media is committed: clear every partial of it, also those that others left."""
        if self.alone:  # then there is no folder to list, which is five system calls
            self._drop()
        else:
            ident = self._stem.name.partition(".")[0]
            shelf.clear_partials(self._disk, self._stem.parent, ident)
        self._removed = True

    def _drop(self) -> None:
        """Bytes go before the answer beside them: no bytes ever stand beside a wrong one."""
        self._disk.remove(self.path)
        if self.validators is not None:
            self._disk.remove(_with(self._stem, VALIDATORS))

    def close(self) -> None:
        """Whoever gets here did not crash, so what is left is handed over. Never raises: a partial
        that can't be renamed is copied by its successor, like after a crash."""
        if self._removed:
            return
        try:
            self.hand_over()
        except StorageDown as error:
            logger.warning("%s stays where it is: %s", self.path, error)


class Staging:
    """`staging/ab/`, where ab are the first two of a media's id. A piece of a video has partials
    like a media: its id is `ID-000123`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths = disk.paths

    def take(self, media: str, token: str) -> StagedPartial:
        """The partial of a media for the one writer that holds `token`: what was handed over in
        good order, else a copy of the most that others left, else an empty one."""
        stem = self._paths.staging(media, shelf.token_name(token))
        names = shelf.names_of(self._disk, stem.parent, media, make=True)
        staged = shelf.partials(names)
        if staged and stem.name + PART not in staged:
            self._inherit(stem, staged)
        partial = self._ready(stem) if staged else StagedPartial(self._disk, stem, None, alone=True)
        partial.has_pieces = media + PIECES in names
        return partial

    def media(self) -> Iterator[str]:
        """Every media of which something is staged, be it one piece's partial."""
        for folder in self._disk.names(self._paths.all_staging):
            if folder != self._paths.unnamed.name:
                names = self._disk.names(self._paths.all_staging / folder)
                yield from {shelf.owner(name) for name in names} - {""}

    def clear(self, media: str) -> None:
        """Remove all that is staged of a media: partials, and a video's plan and pieces."""
        shelf.clear(self._disk, media)

    def free_bytes(self) -> int:
        """What may still be written to the store's disk."""
        return self._disk.free_bytes()

    def _inherit(self, stem: Path, staged: list[str]) -> None:
        left = self._left(stem.parent, staged)
        for path, validators in left:
            if path.suffix == HANDED and self._rename(path, validators, stem):
                return
        for path, validators in left:
            if path.suffix == PART and self._copy(path, validators, stem):
                return

    def _left(self, folder: Path, staged: list[str]) -> list[tuple[Path, Validators]]:
        """What others left and can be gone on with, the largest first."""
        sizes: dict[Path, int] = {}
        for path in (folder / name for name in staged):
            held = self._disk.stat(path) if path.suffix in {PART, HANDED} else None
            if held is not None and held.st_size > 0:
                sizes[path] = held.st_size
        candidates = sorted(sizes, key=lambda path: (-sizes[path], path.name))
        found = ((path, _validators(self._disk, path)) for path in candidates)
        return [(path, validators) for path, validators in found if validators is not None]

    def _rename(self, handed: Path, validators: Validators, stem: Path) -> bool:
        """Make what was handed over ours; False when another writer was quicker."""
        answer = _with(stem, VALIDATORS)
        self._disk.write_careless(answer, records.encode(validators))
        if not self._disk.rename(handed, _with(stem, PART)):
            self._disk.remove(answer)
            return False
        self._disk.remove(handed.with_suffix(VALIDATORS))
        return True

    def _copy(self, abandoned: Path, validators: Validators, stem: Path) -> bool:
        """Copy what another writer left. It may still be alive: only what it held when we looked is
        copied, and nothing counts if it began anew meanwhile."""
        held = self._disk.stat(abandoned)
        if held is None or not self._copy_bytes(abandoned, _with(stem, PART), held.st_size):
            return False
        if _validators(self._disk, abandoned) != validators:
            self._disk.remove(_with(stem, PART))
            return False
        # Last: a copy that a crash cuts short has no answer beside it and is never gone on with.
        self._disk.write_careless(_with(stem, VALIDATORS), records.encode(validators))
        return True

    def _copy_bytes(self, path: Path, target: Path, size_bytes: int) -> bool:
        try:
            return self._disk.copy(path, target, max_bytes=size_bytes)
        except StorageDown:
            self._disk.discard(target)  # a full disk is not helped by half a copy
            raise

    def _ready(self, stem: Path) -> StagedPartial:
        path = _with(stem, PART)
        partial = StagedPartial(self._disk, stem, _validators(self._disk, path))
        held = self._disk.stat(path)
        if held is None or (held.st_size > 0 and partial.validators is None):
            partial.restart()
        elif held.st_nlink > 1:
            self._own(path, held.st_size)
        elif not held.st_mode & stat.S_IWUSR:  # a commit stopped just before it shared them
            with self._disk.told("make writable", path):
                path.chmod(_WRITABLE)
        return partial

    def _own(self, path: Path, size_bytes: int) -> None:
        """A commit that stopped half way left the bytes shared with an object, which nobody may
        write to."""
        copy = path.with_suffix(COPYING)
        self._copy_bytes(path, copy, size_bytes)
        self._disk.rename(copy, path)


def _with(stem: Path, suffix: str) -> Path:
    return Path(f"{stem}{suffix}")


def _validators(disk: Disk, path: Path) -> Validators | None:
    """What is remembered of the answer that a partial's bytes belong to; None when nothing readable
    is: such bytes are of no use."""
    answer = path.with_suffix(VALIDATORS)
    content = disk.read(answer)
    try:
        return None if content is None else records.decode(Validators, answer, content)
    except StorageDown:
        logger.debug("%s was torn by a crash and does not count", answer)
        return None
