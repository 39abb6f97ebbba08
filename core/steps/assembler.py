"""Joins a video with the machine's ffmpeg, which is looked for when it is first needed: who has no
videos needs none."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Protocol

from core.errors import HeadraceError, Misconfigured, Transient
from core.model.video import StagedVideo
from core.video.assemble import Assembled, assemble
from core.video.ffmpeg import Ffmpeg
from core.video.shortfall import Doubts


class Assembler(Protocol):
    """Decrypts, joins, remuxes and probes in `workspace`; `check` raises when it has to stop, and
    `doubts` holds the pieces that seem to be cut."""

    def __call__(
        self,
        staged: StagedVideo,
        piece_path: Callable[[int], Path],
        workspace: Path,
        check: Callable[[], None],
        doubts: Doubts,
    ) -> Assembled: ...


class ToolAssembler:
    """An `Assembler` for a process."""

    _asked = False

    def prepare(self) -> Callable[[], None]:
        """A video is on its way: look for ffmpeg while its manifest comes, for that takes 0.07 s.
        What this returns waits for the answer, and raises as the join would: pieces that nobody
        here can join need not be fetched."""
        if not self._asked:
            self._asked = True
            threading.Thread(target=self._look, name="headrace-ffmpeg", daemon=True).start()
        return self._insist

    def _look(self) -> None:
        with contextlib.suppress(HeadraceError):  # who needs it looks once more, and says so
            _ = self._ffmpeg

    def _insist(self) -> None:
        self._found()

    def __call__(
        self,
        staged: StagedVideo,
        piece_path: Callable[[int], Path],
        workspace: Path,
        check: Callable[[], None],
        doubts: Doubts,
    ) -> Assembled:
        return assemble(staged, piece_path, workspace, self._found(), check, doubts)

    def _found(self) -> Ffmpeg:
        """A machine without ffmpeg counts as an attempt: other workers may have it, and a run in
        one process must not wait for ever for somebody to install it."""
        try:
            return self._ffmpeg
        except Misconfigured as error:
            raise Transient(str(error), reason="no_ffmpeg") from error

    @cached_property
    def _ffmpeg(self) -> Ffmpeg:
        return Ffmpeg.find()
