"""The last look at a joined file: has it the streams that the manifest promises, and do they last
as long?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.errors import Malformed, Mismatch
from core.model.plan import Container, Segment, Track, TrackKind
from core.video.ffmpeg import Input
from core.video.index import indexed
from core.video.join import Joined, Stretch
from core.video.mux import file_of
from core.video.probe import Probed, Prober, Stream

_TOLERANCE_S = 1.0
_TOLERANCE = 0.02
_PAUSE_S = 0.2  # between two packets, of pictures at five a second
_SEAM_S = 0.1  # sound and picture do not end together: as much may overlap or lack at each seam
_ROUNDING_S = 0.5  # old manifests have whole seconds only
_SOUND = re.compile(r"\b(?:mp4a|ac-[34]|ec-3|opus|flac|alac|mp3|dts[cehx])\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Result:
    """What the file is, by its own testimony."""

    extension: str
    type: str  # MIME
    width: int | None
    height: int | None
    duration_s: float
    expected_duration_s: float
    notes: tuple[str, ...]


def examine(file: Stretch, tracks: Sequence[Joined], prober: Prober, *, muxed: bool) -> Result:
    """Look at `file`, which was made of `tracks`, by ffmpeg (`muxed`) or as they are. Raises
    `Mismatch` (`missing_stream`, `duration_mismatch`) when it is not what they promise."""
    media = file_of(file.path, file.container)
    is_indexed = muxed and file.container is Container.FMP4
    probed = (indexed(file.path) if is_indexed else None) or prober.look(media)
    _check_streams(probed, [track.track for track in tracks])
    notes: list[str] = []

    def told(stream: Stream) -> float:
        if is_indexed and stream.end_s is not None:
            return stream.end_s - probed.start_s  # an MP4 by ffmpeg has an index of all packets
        return prober.measured_s(media, stream)

    durations = []
    for joined in tracks:
        if (stream := _main(probed, joined.track)) is not None:
            durations.append(_checked(told(stream), joined, notes))
            _check_holes(joined, probed, durations[-1], _Filled(prober, media, notes))
    notes += _uneven(tracks)
    extension, mime = _type(file.container, probed)
    picture = next(iter(probed.of("video")), None)
    return Result(
        extension=extension,
        type=mime,
        width=picture.width if picture else None,
        height=picture.height if picture else None,
        duration_s=round(durations[0], 3),
        expected_duration_s=round(tracks[0].track.duration_s, 3),
        notes=tuple(notes),
    )


def _check_streams(probed: Probed, tracks: Sequence[Track]) -> None:
    """Without a word of the manifest (no codecs, no size) one stream of any kind is enough."""
    wanted = {
        "video": any(_has_pictures(track) for track in tracks),
        "audio": any(_has_sound(track) for track in tracks),
    }
    for kind, is_wanted in wanted.items():
        if is_wanted and not probed.of(kind):
            raise Mismatch(
                f"the manifest promises {kind}, the joined file has no {kind} stream; see whether "
                "it plays at its source",
                reason="missing_stream",
            )
    if not probed.of("video") and not probed.of("audio"):
        raise Mismatch("the joined file has neither pictures nor sound", reason="missing_stream")


def _has_pictures(track: Track) -> bool:
    told = track.codecs is not None or track.width is not None
    return track.kind is TrackKind.VIDEO and told


def _has_sound(track: Track) -> bool:
    return track.kind is TrackKind.AUDIO or bool(_SOUND.search(track.codecs or ""))


@dataclass(frozen=True, slots=True)
class _Filled:
    """How long a stream has packets; None where ffmpeg is too old to tell, which is noted."""

    prober: Prober
    media: Input
    notes: list[str]

    def __call__(self, stream: Stream) -> float | None:
        try:
            return self.prober.filled_s(self.media, stream, _PAUSE_S)
        except Malformed as error:
            if error.reason != "ffmpeg_old":
                raise
            self.notes.append(f"nobody looked for holes: {error}")
            return None


def _check_holes(joined: Joined, probed: Probed, found_s: float, filled: _Filled) -> None:
    """Pieces that came cut leave holes, which the time of the last packet does not show. A box
    tells that it is cut, so fMP4 needs no look. Pictures that stand still make pauses too, and
    sound may fall silent: only where every stream of the track pauses there is a hole."""
    if joined.container is Container.FMP4 or not probed.of("audio"):
        return
    kinds = ("audio",) if joined.track.kind is TrackKind.AUDIO else ("audio", "video")
    whole_s = least_s = min(found_s, joined.track.duration_s)  # a track may begin late
    for stream in (stream for kind in kinds for stream in probed.of(kind)[:1]):
        filled_s = filled(stream)
        if filled_s is None or whole_s - filled_s <= _tolerance_s(joined):
            return
        least_s = min(least_s, whole_s - filled_s)
    raise Mismatch(
        f"the {joined.track.kind} of the joined file has holes of {least_s:,.1f} s in all: were "
        "its pieces cut on their way? see whether it plays at its source",
        reason="duration_mismatch",
    )


def _main(probed: Probed, track: Track) -> Stream | None:
    """The stream by which the track's duration is told."""
    kinds = ("audio",) if track.kind is TrackKind.AUDIO else ("video", "audio")
    return next((stream for kind in kinds for stream in probed.of(kind)), None)


def _checked(found_s: float, joined: Joined, notes: list[str]) -> float:
    expected_s = joined.track.duration_s
    difference_s = abs(found_s - expected_s)
    if difference_s <= _tolerance_s(joined):
        return found_s
    if difference_s <= _rounding_s(joined.track.segments):
        notes.append("the manifest's durations are rounded to whole seconds")
        return found_s
    raise Mismatch(
        f"the {joined.track.kind} of the joined file lasts {found_s:,.1f} s, by the manifest "
        f"{expected_s:,.1f} s; see whether it plays at its source",
        reason="duration_mismatch",
    )


def _uneven(tracks: Sequence[Joined]) -> Iterator[str]:
    """Each track is as long as its own manifest says. Where these differ the source's video is so,
    and is filed with a word about it: refused, it would be lost."""
    first, *others = tracks
    for track in (joined.track for joined in others):
        if abs(track.duration_s - first.track.duration_s) > _tolerance_s(first):
            yield (
                f"by the source's own manifests the {track.kind} lasts {track.duration_s:,.1f} s, "
                f"the {first.track.kind} {first.track.duration_s:,.1f} s"
            )


def _tolerance_s(joined: Joined) -> float:
    seams_s = _SEAM_S * (len(joined.stretches) - 1)
    return max(_TOLERANCE_S, _TOLERANCE * joined.track.duration_s) + seams_s


def _rounding_s(segments: Sequence[Segment]) -> float:
    """What rounding may have added up to; nothing, when durations are finer."""
    is_whole = all(segment.duration_s == int(segment.duration_s) for segment in segments)
    return _ROUNDING_S * len(segments) if is_whole else 0.0


def _type(container: Container, probed: Probed) -> tuple[str, str]:
    if container is Container.TS:
        return ".ts", "video/mp2t"
    if container is Container.WEBM:
        return ".webm", "video/webm" if probed.of("video") else "audio/webm"
    return (".mp4", "video/mp4") if probed.of("video") else (".m4a", "audio/mp4")
