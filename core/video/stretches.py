"""Tracks that come in several stretches, between which times, sizes or codecs may change: made into
one file without a frame lost, or refused."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import Unsupported
from core.model.plan import Container
from core.video.join import Joined, Stretch
from core.video.mux import (
    Muxer,
    Source,
    fits_transport_stream,
    mapped_streams,
    target_of,
)
from core.video.probe import Stream

_NAMED_IN_HEAD = frozenset(["h264", "hevc"])  # an MP4 keeps their parameters in its head only,
_WITH_A_HEAD = frozenset(["mov", "flv"])  # and so does an FLV, in its first tags


def one_after_the_other(tracks: Sequence[Joined], muxer: Muxer, name: str) -> Stretch:
    """One file of all tracks. Where each track has the same stretches they are put side by side
    first, so that sound and picture begin together in each."""
    if len({track.discontinuities for track in tracks}) > 1:
        muxer.notes.append("sound and picture change at different places: joined apart")
        apart = [
            _alone(track, muxer, f"{name}-apart{number}") for number, track in enumerate(tracks)
        ]
        streams = [stream for _, stream in mapped_streams(apart)]
        return muxer.mux(apart, target_of(streams), name)
    return _play(_side_by_side(tracks, muxer, name), muxer, name)


def _alone(track: Joined, muxer: Muxer, name: str) -> Source:
    if len(track.stretches) == 1:
        return muxer.source(track.stretches[0], track.track)
    stretch = _play(muxer.sources(track.stretches, track.track), muxer, name)
    return muxer.source(stretch, track.track)


def _side_by_side(tracks: Sequence[Joined], muxer: Muxer, name: str) -> list[Source]:
    """Each stretch with the streams of every track."""
    sources = [muxer.sources(track.stretches, track.track) for track in tracks]
    if len(sources) == 1:
        return sources[0]
    stretches = [
        _muxed(beside, muxer, f"{name}-{number:06d}")
        for number, beside in enumerate(zip(*sources, strict=True))
    ]
    return muxer.sources(stretches, tracks[0].track)


def _muxed(sources: Sequence[Source], muxer: Muxer, name: str) -> Stretch:
    """Side by side in what carries its own parameters, if it can."""
    streams = [stream for _, stream in mapped_streams(sources)]
    target = Container.TS if fits_transport_stream(streams) else target_of(streams)
    return muxer.mux(sources, target, name)


def _play(sources: list[Source], muxer: Muxer, name: str) -> Stretch:
    """One after the other. A change of codec can't be: no container plays it."""
    codecs = {tuple(stream.codec for stream in _wanted(source)) for source in sources}
    if len(codecs) > 1:
        told = " / ".join(sorted("+".join(each) for each in codecs))
        raise Unsupported(
            f"the codecs change on the way ({told}): one file can't hold them",
            reason="codecs_change",
        )
    uniform = len({tuple(map(_shape, _wanted(source))) for source in sources}) == 1
    target = target_of(_wanted(sources[0]), uniform=uniform)
    muxer.notes.append(
        f"{len(sources):,} stretches with a discontinuity or a new init part between them were "
        "joined" + ("" if uniform else "; size or rate changes, so it stays a transport stream")
    )
    return muxer.play(_alike(sources, muxer, name), target, name)


def _wanted(source: Source) -> list[Stream]:
    return [stream for _, stream in mapped_streams([source])]


def _shape(stream: Stream) -> tuple[object, ...]:
    return stream.width, stream.height, stream.rate_hz, stream.channels


def _alike(sources: list[Source], muxer: Muxer, name: str) -> list[Source]:
    """The sources in a form in which the streams are found by their place, and each has its
    parameters within: ffmpeg takes both from the first file for all of them."""
    in_head = any(
        source.file.demuxer in _WITH_A_HEAD and stream.codec in _NAMED_IN_HEAD
        for source in sources
        for stream in _wanted(source)
    )
    orders = {tuple(stream.kind for stream in source.probed.streams) for source in sources}
    if not in_head and len(orders) == 1:
        return sources
    if in_head and not fits_transport_stream(_wanted(sources[0])):
        raise Unsupported(
            f"{'+'.join(stream.codec for stream in _wanted(sources[0]))} with a new init part on "
            "the way: one file can't hold them",
            reason="codecs_change",
        )
    stretches = [
        _muxed([source], muxer, f"{name}-alike{number:06d}")
        for number, source in enumerate(sources)
    ]
    return muxer.sources(stretches, sources[0].track)
