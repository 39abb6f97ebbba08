"""Sorting more lines than memory should hold: runs of them are sorted and put aside in unnamed
files, then read side by side."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

_HELD = 100_000  # lines in memory: 13 MB of such as hold a digest
_MOST_FILES = 64  # open at once


def sorted_lines(
    lines: Iterable[bytes], folder: Path | None = None, *, held: int = _HELD
) -> Iterator[bytes]:
    """Each distinct line once, in order. What does not fit is put aside in `folder`, else where the
    system has its temporary files. Raises OSError."""
    with ExitStack() as kept:
        runs: list[BinaryIO] = []
        waiting: set[bytes] = set()
        for line in lines:
            waiting.add(line)
            if len(waiting) == held:
                if len(runs) == _MOST_FILES:
                    runs = [kept.enter_context(_made_one(runs, folder))]
                runs.append(kept.enter_context(_put_aside(sorted(waiting), folder)))
                waiting.clear()
        yield from _distinct([sorted(waiting), *runs])


def _distinct(runs: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    return (line for line, _ in groupby(heapq.merge(*runs)))


def _made_one(runs: Iterable[BinaryIO], folder: Path | None) -> BinaryIO:
    made = _put_aside(_distinct(runs), folder)
    for run in runs:
        run.close()
    return made


def _put_aside(lines: Iterable[bytes], folder: Path | None) -> BinaryIO:
    file: BinaryIO = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - whoever reads it closes it
    file.writelines(lines)
    file.seek(0)
    return file
