"""One shelf of the staging, `staging/ab/`, where what is half got of several media lies side by
side: whose each name is, and how it is cleared. Knows names, never what the files mean.

    ID.TOKEN.part  .handed  .json  .copying     one writer's partial of a file
    ID-000123.TOKEN.part  ...                   and of one piece of a video
    ID.pieces/                                  a video's plan and pieces
    ID.TOKEN.join/                              where a video is put together
    ID.CHANCE.new/  ID.CHANCE.gone/             pieces/ as it comes and as it goes
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from core.store.files import Disk
from core.store.paths import is_plain

# Neither ids nor tokens have a dot.
PART, HANDED, VALIDATORS, COPYING = ".part", ".handed", ".json", ".copying"
PIECES, JOIN, NEW, GONE = ".pieces", ".join", ".new", ".gone"

_OF_PARTIALS = frozenset({PART, HANDED, VALIDATORS, COPYING})
_OWNER = re.compile(r"([A-Za-z0-9_-]+?)(?:-\d{6,})?\.")


def token_name(token: str) -> str:
    """A token as it can stand in a name."""
    return token if is_plain(token) else hashlib.sha256(token.encode()).hexdigest()[:32]


def piece_name(media: str, piece: int) -> str:
    """What stands for the media in the partials of one of its pieces."""
    return f"{media}-{piece:06d}"


def chance(disk: Disk, media: str, suffix: str) -> Path:
    """A folder of the media that nobody else has."""
    return disk.paths.staging(media, secrets.token_hex(8) + suffix)


def owner(name: str) -> str:
    """The media that a name on a shelf belongs to; "" for a name that is none of ours."""
    match = _OWNER.match(name)
    return match[1] if match else ""


def names_of(disk: Disk, shelf: Path, ident: str, *, make: bool = False) -> list[str]:
    """What is there of `ident`, a media or a piece; with `make`, the shelf is there afterwards."""
    begin = ident + "."
    return [name for name in disk.names(shelf, make=make) if name.startswith(begin)]


def partials(names: Iterable[str]) -> list[str]:
    """Which of these names are partials'."""
    return [name for name in names if _suffix(name) in _OF_PARTIALS]


def clear_partials(disk: Disk, shelf: Path, ident: str) -> None:
    """Remove the partials of `ident`, everybody's. Bytes go before the answer beside them: no bytes
    ever stand beside a wrong one."""
    staged = partials(names_of(disk, shelf, ident))
    for name in sorted(staged, key=lambda name: name.endswith(VALIDATORS)):
        disk.remove(shelf / name)


def clear(disk: Disk, media: str) -> None:
    """Remove all that is staged of a media. A video's pieces go at once, plan and all: none can be
    added any more, and none can outlive the plan that it is a piece of."""
    shelf = disk.paths.shelf(media)
    names = [name for name in disk.names(shelf) if name.startswith(media) and owner(name) == media]
    if media + PIECES in names:
        gone = chance(disk, media, GONE)
        if disk.rename(disk.paths.pieces(media), gone):
            names.append(gone.name)
        names.remove(media + PIECES)
    for name in sorted(names, key=lambda name: name.endswith(VALIDATORS)):
        if _suffix(name) in _OF_PARTIALS:
            disk.remove(shelf / name)
        else:
            disk.remove_tree(shelf / name)


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]
