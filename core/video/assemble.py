"""One video from its pieces: decrypted, joined, in one container, and looked at before anybody
calls it whole. Writes into its workspace only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import Malformed, Mismatch
from core.model.plan import Container, Track, TrackKind
from core.model.video import StagedVideo
from core.video.ffmpeg import Ffmpeg, Input
from core.video.join import Joined, Oddities, Stretch, join
from core.video.mux import Muxer, Source, file_of, fits_mp4, mapped_streams, target_of
from core.video.pieces import Pieces, Sum
from core.video.result import Result, examine
from core.video.shortfall import Doubts, blame
from core.video.stretches import one_after_the_other
from core.video.subtitles import follow_the_manifest, join_subtitles


@dataclass(frozen=True, slots=True)
class Assembled:
    """A file in the workspace that may be filed, and how it came to be."""

    path: Path
    extension: str  # with the dot
    type: str  # MIME
    width: int | None  # pixels
    height: int | None  # pixels
    duration_s: float
    expected_duration_s: float  # by the manifest
    tool: str | None  # "ffmpeg 5.1.6"; None where the file is the source's own bytes
    notes: tuple[str, ...]
    pieces: tuple[Sum, ...]  # size and SHA-256 of each as it was fetched, by number


def assemble(
    staged: StagedVideo,
    piece_path: Callable[[int], Path],
    workspace: Path,
    ffmpeg: Ffmpeg,
    check: Callable[[], None],
    doubts: Doubts | None = None,
) -> Assembled:
    """Make the file of a video whose pieces are all present. `check` is called all the time and
    ends everything by raising. Raises `DamagedPiece` for a piece to get again, beside which
    `doubts` may have found others, `Mismatch` for a file that is not what the manifest promises,
    `Malformed`, `Unsupported` or `StorageDown`."""
    pieces = Pieces(staged, piece_path, check)
    muxer = Muxer(ffmpeg, workspace, check)
    oddities = Oddities(doubts=doubts or Doubts())
    tracks = [
        join(track, f"track{number}", pieces, workspace, oddities)
        for number, track in enumerate(staged.plan.tracks)
        if track.kind is not TrackKind.SUBTITLES
    ]
    if not tracks:
        raise Mismatch("the manifest has no pictures and no sound", reason="missing_stream")
    oddities.doubts.insist("came cut, long before the end that the manifest tells")
    subtitles = [track for track in staged.plan.tracks if track.kind is TrackKind.SUBTITLES]
    file, tool = _one_file(tracks, subtitles, pieces, muxer)
    try:
        result = examine(file, tracks, muxer.prober, muxed=tool is not None)
    except Mismatch as error:
        if error.reason != "duration_mismatch":
            raise
        transport = [one.track for one in tracks if one.container is Container.TS]
        raise blame(error, transport, pieces, oddities.doubts) from error
    return _assembled(file, tool, result, (*oddities.notes(), *muxer.notes), pieces)


def _assembled(
    file: Stretch, tool: str | None, result: Result, notes: tuple[str, ...], pieces: Pieces
) -> Assembled:
    return Assembled(
        path=file.path,
        extension=result.extension,
        type=result.type,
        width=result.width,
        height=result.height,
        duration_s=result.duration_s,
        expected_duration_s=result.expected_duration_s,
        tool=tool,
        notes=tuple(dict.fromkeys((*notes, *result.notes))),
        pieces=pieces.sums(),
    )


def _one_file(
    tracks: Sequence[Joined], subtitles: Sequence[Track], pieces: Pieces, muxer: Muxer
) -> tuple[Stretch, str | None]:
    """The file, and what made it; None for the source's own bytes."""
    tool = muxer.ffmpeg.version
    if any(len(track.stretches) > 1 for track in tracks):
        return _in_stretches(tracks, subtitles, pieces, muxer), tool
    if not subtitles and (common := _common(tracks)) is not None:
        remuxed = muxer.remux(common.stretches[0], common.track, "remuxed")
        if remuxed is not None:
            return remuxed, tool
    sources = [muxer.source(track.stretches[0], track.track) for track in tracks]
    streams = [stream for _, stream in mapped_streams(sources)]
    fits = fits_mp4(streams)
    if not fits:
        _leave_out(subtitles, "only an MP4 would hold them, and it can't hold the video", muxer)
    texts = _subtitles(subtitles, pieces, sources, muxer) if fits else []
    as_it_is = {Container.FMP4, Container.WEBM} | (set() if fits else {Container.TS})
    if len(tracks) == 1 and not texts and tracks[0].container in as_it_is:
        return tracks[0].stretches[0], None
    return muxer.mux(sources, target_of(streams), "joined", texts), tool


def _common(tracks: Sequence[Joined]) -> Joined | None:
    """The one track of most videos: a transport stream with pictures."""
    first, *others = tracks
    is_one = first.track.kind is TrackKind.VIDEO and first.container is Container.TS
    return first if is_one and not others else None


def _in_stretches(
    tracks: Sequence[Joined], subtitles: Sequence[Track], pieces: Pieces, muxer: Muxer
) -> Stretch:
    """Played one after the other, then with the subtitles of which the manifest tells when they
    show: no clock leads through all of it."""
    joined = one_after_the_other(tracks, muxer, "joined")
    timed = [track for track in subtitles if follow_the_manifest(track)]
    others = [track for track in subtitles if track not in timed]
    _leave_out(others, "the video has discontinuities", muxer)
    if joined.container is not Container.FMP4:
        _leave_out(timed, "only an MP4 would hold them, and it can't hold the video", muxer)
        return joined
    texts = _subtitles(timed, pieces, [], muxer)
    if not texts:
        return joined
    return muxer.mux([muxer.source(joined, tracks[0].track)], Container.FMP4, "told", texts)


def _subtitles(
    subtitles: Sequence[Track],
    pieces: Pieces,
    sources: Sequence[Source],
    muxer: Muxer,
) -> list[Input]:
    """Those that are simple, as files beside the tracks; a video is whole without the others."""
    starts = [source.start_s for source in sources if source.start_s is not None]
    found: list[Input] = []
    for number, track in enumerate(subtitles):
        path = muxer.folder / f"subtitles{number}.vtt"
        try:
            join_subtitles(track, pieces, min(starts, default=0.0), path)
        except Malformed as error:
            _leave_out([track], str(error), muxer)
        else:
            muxer.notes.append(f"subtitles {len(found) + 1}: {_called(track)}")
            found.append(file_of(path, Container.VTT))
    return found


def _leave_out(subtitles: Sequence[Track], why: str, muxer: Muxer) -> None:
    muxer.notes += [f"subtitles ({_called(track)}) are left out: {why}" for track in subtitles]


def _called(track: Track) -> str:
    return track.language or track.name or "no language told"
