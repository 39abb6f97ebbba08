"""What a media file holds, by ffprobe or, where there is none, by what ffmpeg says of its input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import Malformed
from core.video.child import Ended
from core.video.ffmpeg import Ffmpeg, Input, last_words

_MANY = 4  # from here on files are looked at together
_TOGETHER = 24  # of what ffmpeg says the last 64 KB are kept
_TO_NOWHERE = ("-f", "null", "-progress", "pipe:1", "-")


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of a file."""

    index: int
    kind: str  # "video", "audio", "subtitle", "data"; pictures that are covers are "data"
    codec: str
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    rate_hz: int | None = None  # of sound
    channels: str | None = None  # of sound: their number, or the name of their layout
    end_s: float | None = None  # on the file's time, as its container says


@dataclass(frozen=True, slots=True)
class Probed:
    """A file's own testimony."""

    streams: tuple[Stream, ...]
    start_s: float = 0.0  # of the stream that begins first

    def of(self, kind: str) -> tuple[Stream, ...]:
        """Its streams of one kind."""
        return tuple(stream for stream in self.streams if stream.kind == kind)


@dataclass(frozen=True, slots=True)
class Prober:
    """Looks at files of one folder."""

    ffmpeg: Ffmpeg
    folder: Path
    check: Callable[[], None]

    def look(self, file: Input) -> Probed:
        """The streams of a file. Raises `Malformed` when it has none that can be read."""
        if self.ffmpeg.ffprobe is None:
            return _read(_of_inputs(self._ask_ffmpeg(file)))
        show = "format=start_time:stream_disposition=attached_pic:stream=" + ",".join(_SHOWN)
        arguments = ["-v", "error", "-show_entries", show, "-of", "json"]
        ended = self.ffmpeg.look(
            [*file.options(), *arguments, file.name], self.folder, self.check, file.size_bytes
        )
        return _parse(ended)

    def look_all(self, files: Sequence[Input]) -> list[Probed]:
        """The same of many, a few in each run: to start one for a file takes fifty times as long as
        its look at a short one, and a video may have a thousand stretches."""
        if len(files) < _MANY:
            return [self.look(file) for file in files]
        batches = (files[at : at + _TOGETHER] for at in range(0, len(files), _TOGETHER))
        return [probed for batch in batches for probed in self._look_together(batch)]

    def _look_together(self, files: Sequence[Input]) -> list[Probed]:
        try:
            told = _INPUT.split(_of_inputs(self._ask_ffmpeg(*files)))[1:]
        except Malformed:
            told = []
        if len(told) == len(files):
            return [_read(words) for words in told]
        return [self.look(file) for file in files]  # one of them can't be read: which, and why?

    def measured_s(self, file: Input, stream: Stream) -> float:
        """From the file's start to the last packets of `stream`, by reading every packet of it:
        what a container in pieces says of itself is an estimate."""
        return self._read_through(file, stream)

    def filled_s(self, file: Input, stream: Stream, most_pause_s: float) -> float:
        """The same, but that no pause between two packets counts for more than `most_pause_s`.
        Raises `Malformed` (`ffmpeg_old`) where ffmpeg can't tell."""
        step = f"min(max(DTS-PREV_INDTS\\,0)\\,{most_pause_s:.3f}/TB)"
        try:
            return self._read_through(
                file, stream, "-bsf", f"setts=ts=if(N\\,PREV_OUTDTS+{step}\\,0)"
            )
        except Malformed as error:
            if "setts" not in str(error):
                raise
            raise Malformed("setts came with ffmpeg 4.4", reason="ffmpeg_old") from error

    def _read_through(self, file: Input, stream: Stream, *ways: str) -> float:
        only = ["-map", f"0:{stream.index}", "-c", "copy", *ways]
        ended = self.ffmpeg.run(
            ["-loglevel", "error", *file.options(), "-i", file.name, *only, *_TO_NOWHERE],
            self.folder,
            self.check,
            file.size_bytes,
        )
        ends = re.findall(r"^out_time_us=(\d+)", ended.out, re.MULTILINE)
        if not ends:
            raise Malformed(
                f"stream {stream.index} ({stream.kind}) of the joined video has no packets: "
                f"{last_words(ended.words)}",
                reason="missing_stream",
            )
        return int(ends[-1]) / 1_000_000

    def _ask_ffmpeg(self, *files: Input) -> str:
        """What it says of its inputs, and then of its output."""
        nothing = ["-map", "0:v?", "-map", "0:a?", "-c", "copy", "-t", "0", "-f", "null", "-"]
        inputs = [word for file in files for word in (*file.options(), "-i", file.name)]
        size = sum(file.size_bytes for file in files)
        command = ["-loglevel", "info", *inputs, *nothing]
        return self.ffmpeg.run(command, self.folder, self.check, size).words


# --- ffprobe's JSON ---

_SHOWN = (
    *("index", "codec_type", "codec_name", "width", "height", "sample_rate", "channels"),
    *("start_time", "duration"),
)


class _Tolerant(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Disposition(_Tolerant):
    attached_pic: int = 0


class _Stream(_Tolerant):
    index: int
    codec_type: str = "data"
    codec_name: str = "unknown"
    width: int | None = None
    height: int | None = None
    sample_rate: int | None = None
    channels: int | None = None
    start_time: float | None = None
    duration: float | None = None
    disposition: _Disposition = _Disposition()


class _Format(_Tolerant):
    start_time: float = 0.0


class _Report(_Tolerant):
    streams: list[_Stream] = Field(default_factory=list)
    format: _Format = _Format()


def _parse(ended: Ended) -> Probed:
    try:
        report = _Report.model_validate(json.loads(ended.out))
    except (ValueError, ValidationError) as error:
        raise Malformed(
            f"ffprobe can't tell what the joined video is: {last_words(ended.words)}",
            reason="ffmpeg_failed",
        ) from error
    return Probed(tuple(_stream(one) for one in report.streams), report.format.start_time)


def _stream(one: _Stream) -> Stream:
    return Stream(
        index=one.index,
        kind="data" if one.disposition.attached_pic else one.codec_type,
        codec=one.codec_name,
        width=one.width,
        height=one.height,
        rate_hz=one.sample_rate,
        channels=None if one.channels is None else str(one.channels),
        end_s=None if one.duration is None else (one.start_time or 0.0) + one.duration,
    )


# --- ffmpeg's words ---

_INPUT = re.compile(r"^Input #\d+, ", re.MULTILINE)
_LINE = re.compile(
    r"^ *Stream #\d+:(\d+)\S*: (Video|Audio|Subtitle|Data): (\w+)(.*)$", re.MULTILINE
)
_SIZE = re.compile(r", (\d+)x(\d+)\b")
_SOUND = re.compile(r", (\d+) Hz, ([^,]+)")
_START = re.compile(r"^ *Duration: [^,]*, start: (-?[\d.]+)", re.MULTILINE)


def told_of_input(words: str) -> Probed:
    """What it says of its one input."""
    return _read(_of_inputs(words))


def _of_inputs(words: str) -> str:
    """What stands before «Output #0»: after it the same lines tell of what is written."""
    return words.partition("\nOutput #0")[0]


def _read(told: str) -> Probed:
    start = _START.search(told)
    streams = tuple(map(_stream_of_line, _LINE.finditer(told)))
    return Probed(streams, float(start[1]) if start else 0.0)


def _stream_of_line(line: re.Match[str]) -> Stream:
    index, kind, codec, rest = line.groups()
    size, sound = _SIZE.search(rest), _SOUND.search(rest)
    return Stream(
        index=int(index),
        kind="data" if "(attached pic)" in rest else kind.lower(),
        codec=codec,
        width=int(size[1]) if size else None,
        height=int(size[2]) if size else None,
        rate_hz=int(sound[1]) if sound else None,
        channels=sound[2].strip() if sound else None,
    )
