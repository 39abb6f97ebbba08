"""Puts the streams of several files into one by stream copy, or plays files one after the other
into one. Decides which streams, which container and whether times agree; every frame stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import Malformed, Mismatch, Unsupported
from core.model.plan import Container, Track, TrackKind
from core.video.ffmpeg import DEMUXERS, Ffmpeg, Input, last_words
from core.video.join import Stretch, cannot_write
from core.video.probe import Probed, Prober, Stream, told_of_input

_PICTURES = ("h264", "hevc", "mpeg4", "mpeg2video", "mpeg1video")
_SOUNDS = ("aac", "mp3", "mp2", "ac3", "eac3")
_IN_TS = frozenset([*_PICTURES, *_SOUNDS])
_IN_MP4 = _IN_TS | {"av1", "vp9", "vvc", "opus", "flac", "alac"}
_IN_WEBM = frozenset(["vp8", "vp9", "av1", "vorbis", "opus"])
_FAR_S = 3.0  # tracks that begin further apart than this count from different moments

_MP4 = Container.FMP4
_MUXERS = {Container.FMP4: "mp4", Container.TS: "mpegts", Container.WEBM: "webm"}
_TIMED = frozenset([Container.TS, Container.FMP4, Container.WEBM, Container.FLV])
_REPEATABLE = ["-map_metadata", "-1", "-map_chapters", "-1", "-fflags", "+bitexact"]


@dataclass(frozen=True, slots=True)
class Source:
    """A file whose streams are wanted, and which track it is of."""

    file: Input
    probed: Probed
    track: Track
    start_s: float | None  # when its first packet plays; None: nobody tells

    @property
    def kind(self) -> TrackKind:
        """What its track is."""
        return self.track.kind

    @property
    def has_others(self) -> bool:
        """Whether it has streams that are neither picture nor sound."""
        return any(stream.kind not in ("video", "audio") for stream in self.probed.streams)


Mapped = tuple[tuple[int, Stream], ...]  # number of the source, and the stream in it


@dataclass(slots=True)
class Muxer:
    """Works in one folder, for one video."""

    ffmpeg: Ffmpeg
    folder: Path
    check: Callable[[], None]
    notes: list[str] = field(default_factory=list)

    @property
    def prober(self) -> Prober:
        """Looks at files of the same folder."""
        return Prober(self.ffmpeg, self.folder, self.check)

    def source(self, stretch: Stretch, track: Track) -> Source:
        """A joined file, looked at."""
        return self.sources([stretch], track)[0]

    def sources(self, stretches: Sequence[Stretch], track: Track) -> list[Source]:
        """Those of one track, looked at."""
        files = [file_of(stretch.path, stretch.container) for stretch in stretches]
        looks = zip(stretches, files, self.prober.look_all(files), strict=True)
        return [_source(stretch, file, probed, track) for stretch, file, probed in looks]

    def mux(
        self,
        sources: Sequence[Source],
        target: Container,
        name: str,
        subtitles: Sequence[Input] = (),
    ) -> Stretch:
        """One file with the streams of all `sources`, side by side. They are removed."""
        mapped = mapped_streams(sources)
        offsets = self._offsets(sources)
        arguments = ["-loglevel", "error"]
        for source, offset_s in zip(sources, offsets, strict=True):
            arguments += [*source.file.options(), "-itsoffset", f"{offset_s:.6f}"]
            arguments += ["-i", source.file.name]
        for file in subtitles:
            arguments += [*file.options(), "-i", file.name]
        for number, stream in mapped:
            arguments += ["-map", f"{number}:{stream.index}"]
        for number in range(len(subtitles)):
            arguments += ["-map", f"{len(sources) + number}:s:0"]
        return self._write(arguments, sources, [stream for _, stream in mapped], target, name)

    def play(self, sources: Sequence[Source], target: Container, name: str) -> Stretch:
        """One file in which `sources`, whose streams are alike, play one after the other. They are
        removed."""
        listed = self.folder / f"{name}.list"
        lines = ["ffconcat version 1.0", *(f"file {source.file.name}" for source in sources)]
        try:
            listed.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        except OSError as error:
            raise cannot_write(listed, error) from error
        inner = tuple(dict.fromkeys(source.file.demuxer for source in sources))
        size = sum(source.file.size_bytes for source in sources)
        file = Input(listed.name, "concat", size, inner)
        mapped = mapped_streams(sources[:1])
        arguments = ["-loglevel", "error", *file.options(), "-i", file.name]
        for _, stream in mapped:
            arguments += ["-map", f"0:{stream.index}"]
        return self._write(arguments, sources, [stream for _, stream in mapped], target, name)

    def remux(self, stretch: Stretch, track: Track, name: str) -> Stretch | None:
        """The common video, one transport stream with pictures, made into an MP4 by one run that
        tells what it reads: a look beforehand is a start of ffprobe, 0.08 s. It is removed then;
        None where a look would have led to other streams or elsewhere."""
        file, made = file_of(stretch.path, stretch.container), Stretch(self.folder / name, _MP4)
        arguments = [*file.options(), "-i", file.name, "-map", "0:V:0", "-map", "0:a?"]
        arguments += ["-c", "copy", *_REPEATABLE, "-f", _MUXERS[_MP4], name]
        try:
            told, complaints = self.ffmpeg.run_telling(
                arguments, self.folder, self.check, file.size_bytes
            )
        except Malformed:  # a look finds out what is wrong with it
            source = None
        else:
            source = Source(file, told_of_input(told), track, None)
        if source is None or not _was_right(source):
            made.path.unlink(missing_ok=True)
            return None
        self._note(complaints, [source])
        stretch.path.unlink(missing_ok=True)
        return made

    def _write(
        self,
        arguments: list[str],
        sources: Sequence[Source],
        streams: Sequence[Stream],
        target: Container,
        name: str,
    ) -> Stretch:
        size = sum(source.file.size_bytes for source in sources)
        ways = ["-c", "copy", "-c:s", "mov_text", *_REPEATABLE, *_tags(streams, target)]
        command = [*arguments, *ways, "-f", _MUXERS[target], name]
        ended = self.ffmpeg.run(command, self.folder, self.check, size)
        self._note(ended.words, sources)
        for source in sources:  # what is joined needs the disk no more
            (self.folder / source.file.name).unlink(missing_ok=True)
        return Stretch(self.folder / name, target)

    def _note(self, complaints: str, sources: Sequence[Source]) -> None:
        if complaints.strip():
            self.notes.append(f"ffmpeg said: {last_words(complaints)}")
        if any(source.has_others for source in sources):
            self.notes.append("what is neither picture nor sound (timed metadata) is left out")

    def _offsets(self, sources: Sequence[Source]) -> list[float]:
        """How much later than the first each source begins. Without this ffmpeg would let them all
        begin at once."""
        starts = [source.start_s for source in sources if source.start_s is not None]
        if len(starts) < len(sources) or len(starts) < 2:
            return [0.0] * len(sources)
        first = min(starts)
        if max(starts) - first > _FAR_S:
            self.notes.append("the tracks count their time from different moments: begun together")
            return [0.0] * len(sources)
        return [start - first for start in starts]


def _source(stretch: Stretch, file: Input, probed: Probed, track: Track) -> Source:
    if stretch.container not in _TIMED:
        return Source(file, probed, track, stretch.start_s)
    return Source(file, probed, track, probed.start_s - stretch.clock_s)


def _was_right(source: Source) -> bool:
    """Whether a picture and all that sounds, in an MP4 that needs no word more, is what would have
    been chosen."""
    if not source.probed.of("video"):
        return False
    streams = [stream for _, stream in mapped_streams([source])]
    return fits_mp4(streams) and not _tags(streams, _MP4)


def file_of(path: Path, container: Container) -> Input:
    """A joined file as input."""
    try:
        return Input(path.name, DEMUXERS[container], path.stat().st_size)
    except OSError as error:
        raise cannot_write(path, error) from error


def mapped_streams(sources: Sequence[Source]) -> Mapped:
    """The picture of the first, and the sound: of the tracks that are nothing else, or where there
    are none all that comes with the picture. Raises `Mismatch` for a track that has not what it is
    for."""
    has_sound = any(source.kind is TrackKind.AUDIO for source in sources)
    mapped: list[tuple[int, Stream]] = []
    for number, source in enumerate(sources):
        pictures, sounds = source.probed.of("video")[:1], source.probed.of("audio")
        if source.kind is TrackKind.AUDIO:
            pictures, sounds = (), sounds[:1]
        elif has_sound and pictures:
            sounds = ()
        if not pictures and not sounds:
            wanted = "no sound" if source.kind is TrackKind.AUDIO else "neither pictures nor sound"
            raise Mismatch(
                f"the {source.kind} track has {wanted}: see whether it plays at its source",
                reason="missing_stream",
            )
        mapped += [(number, stream) for stream in (*pictures, *sounds)]
    return tuple(mapped)


def fits_mp4(streams: Sequence[Stream]) -> bool:
    """Whether an MP4 holds them."""
    return {stream.codec for stream in streams} <= _IN_MP4


def target_of(streams: Sequence[Stream], *, uniform: bool = True) -> Container:
    """What can hold these streams: MP4 if it can, or WebM, and only if their size and rate stay;
    else a transport stream. Raises `Unsupported` where none can."""
    if uniform and fits_mp4(streams):
        return Container.FMP4
    if uniform and fits_webm(streams):
        return Container.WEBM
    if fits_transport_stream(streams):
        return Container.TS
    raise Unsupported(
        f"{', '.join(sorted({stream.codec for stream in streams}))}: no container holds them"
        + ("" if uniform else " when their size or rate changes on the way"),
        reason="unsupported_codecs",
    )


def fits_transport_stream(streams: Sequence[Stream]) -> bool:
    """Whether a transport stream holds them."""
    return {stream.codec for stream in streams} <= _IN_TS


def fits_webm(streams: Sequence[Stream]) -> bool:
    """Whether a WebM holds them."""
    return {stream.codec for stream in streams} <= _IN_WEBM


def _tags(streams: Sequence[Stream], target: Container) -> list[str]:
    """What players look for besides: Apple's play HEVC under one of its two names only, and M4A
    says that there are no pictures."""
    if target is not Container.FMP4:
        return []
    if all(stream.kind == "audio" for stream in streams):
        return ["-brand", "M4A "]
    has_hevc = any(stream.codec == "hevc" for stream in streams)
    return ["-tag:v", "hvc1"] if has_hevc else []
