"""The one place that runs ffmpeg: found once, always without re-encoding, reading nothing but files
of the folder that it works in."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.clock import Clock, SystemClock
from core.errors import HeadraceError, Malformed, Misconfigured, StorageDown, Unexpected
from core.model.plan import Container
from core.video.child import Ended, Limits, run

_MEMORY_BYTES = 4 * 1024**3  # the index of a day of video takes about one
_SPARE_BYTES = 64 * 1024**2  # what a container may add to its streams
_LEAST_S = 120.0
_LEAST_BYTES_PER_S = 4 * 1024**2  # an old disk with other work reads and writes as much
_PROBE_BYTES = 32 * 1024**2  # how far streams are looked for: sound may begin late
_PROBE_US = 30_000_000
_LAST_WORDS = 300  # characters

DEMUXERS = {
    Container.TS: "mpegts",
    Container.FMP4: "mov",
    Container.WEBM: "matroska",
    Container.AAC: "aac",
    Container.MP3: "mp3",
    Container.AC3: "ac3",
    Container.EAC3: "eac3",
    Container.VTT: "webvtt",
    Container.FLV: "flv",
}


@dataclass(frozen=True, slots=True)
class Input:
    """A file of the folder, and as what it is read: nothing is guessed from its bytes."""

    name: str
    demuxer: str
    size_bytes: int
    inner: tuple[str, ...] = ()  # what the files that it lists may be

    def options(self) -> list[str]:
        """What stands before it on the command line. `file` is the only protocol: no manifest
        within a manifest leads anywhere else."""
        formats = ",".join(dict.fromkeys([self.demuxer, *self.inner]))
        whitelists = ["-protocol_whitelist", "file", "-format_whitelist", formats]
        far = ["-probesize", str(_PROBE_BYTES), "-analyzeduration", str(_PROBE_US)]
        return [*whitelists, *far, "-f", self.demuxer]


@dataclass(frozen=True, slots=True)
class Ffmpeg:
    """An ffmpeg that runs. `ffprobe` comes with most installations, not with all."""

    ffmpeg: Path
    ffprobe: Path | None
    version: str  # "ffmpeg 5.1.6"
    clock: Clock
    memory_bytes: int = _MEMORY_BYTES
    least_s: float = _LEAST_S

    @classmethod
    def find(cls, clock: Clock | None = None) -> Ffmpeg:
        """The system's, else the one of the package imageio-ffmpeg. Raises `Misconfigured` when
        there is none that runs."""
        clock = clock or SystemClock()
        if (found := shutil.which("ffmpeg")) is not None:
            probe = shutil.which("ffprobe")
            return cls.at(Path(found), Path(probe) if probe else None, clock)
        return cls.at(_packaged(), None, clock)

    @classmethod
    def at(cls, ffmpeg: Path, ffprobe: Path | None, clock: Clock) -> Ffmpeg:
        """The one that lies there."""
        found = cls(ffmpeg, ffprobe, "ffmpeg", clock)
        command = [str(ffmpeg), "-version"]
        ended = run(command, Path("/"), found._limits(0), clock, lambda: None)
        version = re.match(r"ffmpeg version (\S{1,60})", ended.out)
        if ended.status or version is None:
            raise Misconfigured(
                f"{ffmpeg} does not run: {last_words(ended.words)}; install ffmpeg again",
                reason="ffmpeg_missing",
            )
        return cls(ffmpeg, ffprobe, f"ffmpeg {version[1]}", clock)

    def run(
        self, arguments: Sequence[str], folder: Path, check: Callable[[], None], size_bytes: int = 0
    ) -> Ended:
        """Run it on about `size_bytes` of input. Raises `Malformed` with its last words."""
        command = [str(self.ffmpeg), "-nostdin", "-hide_banner", "-nostats", *arguments]
        return self._ended(run(command, folder, self._limits(size_bytes), self.clock, check))

    def run_telling(
        self, arguments: Sequence[str], folder: Path, check: Callable[[], None], size_bytes: int
    ) -> tuple[str, str]:
        """The same; what it says of its inputs, and what it complains of."""
        command = [str(self.ffmpeg), "-nostdin", "-hide_banner", "-nostats"]
        command += ["-loglevel", "level+info", *arguments]
        ended = run(command, folder, self._limits(size_bytes), self.clock, check)
        complaints = "".join(_said(ended.words, _COMPLAINTS))
        self._ended(Ended(ended.status, ended.out, complaints))
        return "".join(_said(ended.first_words, _TOLD)), complaints

    def look(
        self, arguments: Sequence[str], folder: Path, check: Callable[[], None], size_bytes: int
    ) -> Ended:
        """Run its ffprobe, which must be there."""
        command = [str(self.ffprobe), "-hide_banner", *arguments]
        return self._ended(run(command, folder, self._limits(size_bytes), self.clock, check))

    def _limits(self, size_bytes: int) -> Limits:
        wall_s = self.least_s + size_bytes / _LEAST_BYTES_PER_S
        return Limits(wall_s, int(wall_s) + 1, self.memory_bytes, 2 * size_bytes + _SPARE_BYTES)

    def _ended(self, ended: Ended) -> Ended:
        # When the disk is full as it writes a file's last part, it says so and ends with 0.
        if ended.status or _is_disk_full(ended):
            raise _fault(ended)
        return ended


def _packaged() -> Path:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe  # noqa: PLC0415 - an extra, not always there

        return Path(get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise Misconfigured(
            "videos in pieces need ffmpeg, and none was found: install it (on Debian: apt-get "
            "install ffmpeg; without a system's: pip install 'headrace[ffmpeg]')",
            reason="ffmpeg_missing",
        ) from error


def last_words(words: str) -> str:
    """The end of what it said, on one line."""
    lines = [" ".join(line.split()) for line in words.splitlines()]
    return "; ".join(line for line in lines if line)[-_LAST_WORDS:] or "not a word"


_LEVEL = re.compile(r"((?:\[[^\]]* @ 0x[0-9a-f]+\] )?)\[([a-z]+)\] ?")
_COMPLAINTS = frozenset(["panic", "fatal", "error"])
_TOLD = frozenset(["info"])


def _said(words: str, levels: frozenset[str]) -> Iterator[str]:
    """The lines of some levels, as they would stand there without the names of levels."""
    is_wanted = False
    for line in words.splitlines(keepends=True):
        if (named := _LEVEL.match(line)) is not None:
            is_wanted = named[2] in levels
        if is_wanted:
            yield line if named is None else named[1] + line[named.end() :]


_LIMITS = {signal.SIGXCPU: "time", signal.SIGXFSZ: "output"}


def _is_disk_full(ended: Ended) -> bool:
    return any(os.strerror(code) in ended.words for code in (errno.ENOSPC, errno.EDQUOT))


def _fault(ended: Ended) -> HeadraceError:
    """Whose fault it was that it ended in disorder."""
    words = last_words(ended.words)
    if _is_disk_full(ended):
        return StorageDown(f"ffmpeg: {words}: free space on the disk of the store")
    limit = next((name for number, name in _LIMITS.items() if ended.status == -number), None)
    if limit is not None or "File too large" in ended.words:
        return Malformed(
            f"ffmpeg went past its {limit or 'output'} limit: {words}; see whether the video plays "
            "at its source",
            reason="ffmpeg_limit",
        )
    if ended.status < 0:
        name = signal.Signals(-ended.status).name
        return Unexpected(
            f"ffmpeg was ended by {name}: {words}; will try again", reason="ffmpeg_killed"
        )
    return Malformed(
        f"ffmpeg can't read or join the video: {words}; see whether it plays at its source",
        reason="ffmpeg_failed",
    )
