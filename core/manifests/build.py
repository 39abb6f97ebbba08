"""From what was chosen to a plan: every piece once, every use of it in its place. Refuses what
can't end as a whole file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from core.errors import HeadraceError, Truncated, Unsupported
from core.manifests.playlists import InitPart, MediaPlaylist, MediaSegment
from core.manifests.resolving import with_query_of
from core.manifests.select import Choice, Wanted
from core.model.addresses import strike
from core.model.plan import Container, KeyRef, Part, Piece, Plan, Segment, Track, TrackKind
from core.model.secrecy import Secrecy

_NO_SECRETS = Secrecy()
_CONTAINERS = {
    ".mp4": Container.FMP4,
    ".m4s": Container.FMP4,
    ".m4v": Container.FMP4,
    ".m4a": Container.FMP4,
    ".cmfv": Container.FMP4,
    ".cmfa": Container.FMP4,
    ".cmft": Container.FMP4,
    ".webm": Container.WEBM,
    ".flv": Container.FLV,
    ".aac": Container.AAC,
    ".mp3": Container.MP3,
    ".ac3": Container.AC3,
    ".ec3": Container.EAC3,
    ".vtt": Container.VTT,
    ".webvtt": Container.VTT,
    ".ttml": Container.TTML,
    ".dfxp": Container.TTML,
}
_SOUND = frozenset([Container.AAC, Container.MP3, Container.AC3, Container.EAC3])


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose plan it is, and of which manifest."""

    media: str
    source: str
    manifest_url: str  # as it was asked for
    final_url: str  # after redirects
    manifest_sha256: str
    secrecy: Secrecy = _NO_SECRETS  # what no plan may hold, wherever the manifest puts it
    inherit_query: bool = False  # whether the address's query goes with the pieces of its host

    @property
    def query_of(self) -> tuple[str, ...]:
        """The addresses whose query goes on."""
        found = (self.final_url, self.manifest_url) if self.inherit_query else ()
        return tuple(dict.fromkeys(found))


def build_plan(origin: Origin, choice: Choice, playlists: Sequence[MediaPlaylist]) -> Plan:
    """The plan of `choice`, whose `wanted` were read as `playlists`, in that order. Raises
    `Unsupported` for a live one, `Truncated` for one whose end seems to be missing."""
    pieces = _Pieces(origin)
    tracks: list[Track] = []
    notes = list(choice.notes)
    for wanted, playlist in zip(choice.wanted, playlists, strict=True):
        check_on_demand(playlist)
        tracks.append(_track(wanted, playlist, pieces, notes))
        notes += playlist.notes
    finals = dict.fromkeys([origin.final_url, *(playlist.url for playlist in playlists)])
    return Plan(
        media=origin.media,
        source=origin.source,
        manifest_url=pieces.clean(origin.manifest_url),
        manifest_sha256=origin.manifest_sha256,
        final_urls=tuple(map(pieces.clean, finals)),
        pieces=tuple(pieces.all),
        tracks=tuple(tracks),
        duration_s=playlists[0].duration_s,
        chosen=origin.secrecy.text(choice.why),
        notes=tuple(dict.fromkeys(map(origin.secrecy.text, notes))),
    )


def check_on_demand(playlist: MediaPlaylist) -> None:
    """Raise for a playlist to which segments may still be added."""
    if playlist.ended:
        return
    error: HeadraceError
    if playlist.cut:
        words = "no EXT-X-ENDLIST: cut off, or still being written"
        error = Truncated(f"{strike(playlist.url)}: {words}")
    else:
        words = "a live manifest (no EXT-X-ENDLIST); Headrace gets what has an end"
        error = Unsupported(f"{strike(playlist.url)}: {words}", reason="live_manifest")
    raise error


class _Pieces:
    """Everything that is fetched, each once, in the order of its first use."""

    def __init__(self, origin: Origin) -> None:
        self.secrecy = origin.secrecy
        self._query_of = origin.query_of
        self._index: dict[tuple[str, int | None, int | None], int] = {}
        self.all: list[Piece] = []

    def clean(self, url: str) -> str:
        """An address without the source's secrets: the fetcher adds them where they belong, and
        takes them out of every other."""
        return self.secrecy.address(url)

    def part(self, of: MediaSegment | InitPart) -> Part:
        """The use of a piece, which is made on its first."""
        start, length = (
            (of.byte_range.start, of.byte_range.length) if of.byte_range else (None,) * 2
        )
        known = (self._asked(of.url), start, length)
        index = self._index.setdefault(known, len(self.all))
        if index == len(self.all):
            others = tuple(map(self._asked, of.alternatives))
            piece = Piece(url=known[0], start=start, length=length, alternatives=others)
            self.all.append(self._told_more(piece, of))
        return Part(piece=index, key=self._key(of.key))

    def _told_more(self, piece: Piece, of: MediaSegment | InitPart) -> Piece:
        if isinstance(of, InitPart) or not (of.size_bytes or of.ref or of.headers):
            return piece
        ref = None if of.ref is None else self.secrecy.text(of.ref)
        more = {"size_bytes": of.size_bytes, "ref": ref, "headers": of.headers}
        return piece.model_copy(update=more)

    def _asked(self, url: str) -> str:
        for manifest in self._query_of:
            url = with_query_of(manifest, url)
        return self.clean(url)

    def _key(self, key: KeyRef | None) -> KeyRef | None:
        if key is None or not (self.secrecy or self._query_of):
            return key
        return key.model_copy(update={"url": self._asked(key.url)})


def _track(wanted: Wanted, playlist: MediaPlaylist, pieces: _Pieces, notes: list[str]) -> Track:
    told = (playlist.container or _container(one, wanted.kind) for one in playlist.segments)
    containers = list(dict.fromkeys(told))
    kind = wanted.kind or _kind(containers[0])
    if len(containers) > 1:
        notes.append(f"{kind}: the segments are of several kinds: {', '.join(containers)}")
    return Track(
        kind=kind,
        container=containers[0],
        segments=_segments(playlist.segments, pieces),
        codecs=wanted.codecs,
        language=_without(wanted.language, pieces.secrecy),
        name=_without(wanted.name, pieces.secrecy),
        width=wanted.width,
        height=wanted.height,
        bandwidth=wanted.bandwidth,
    )


def _without(told: str | None, secrecy: Secrecy) -> str | None:
    return None if told is None else secrecy.text(told)


def _segments(found: Sequence[MediaSegment], pieces: _Pieces) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    init: Part | None = None
    init_of: InitPart | None = None
    for one in found:
        if one.gap:
            segments.append(_segment(one, None, None))
            continue
        if one.init is not init_of:  # the reader makes one value a tag, which many segments share
            init_of = one.init
            init = pieces.part(init_of) if init_of else None
        segments.append(_segment(one, pieces.part(one), init))
    return tuple(segments)


def _segment(one: MediaSegment, part: Part | None, init: Part | None) -> Segment:
    return Segment(
        part=part,
        duration_s=one.duration_s + one.pause_s,
        sequence=one.sequence,
        discontinuity=one.discontinuity,
        init=init,
        clock_s=one.clock_s,
        shift_s=one.shift_s,
    )


def _container(segment: MediaSegment, kind: TrackKind | None) -> Container:
    """By the init part, else by extension; what tells nothing is what HLS began with."""
    if segment.init is not None:
        return Container.FMP4
    told = _CONTAINERS.get(PurePosixPath(urlsplit(segment.url).path).suffix.lower())
    return told or (Container.VTT if kind is TrackKind.SUBTITLES else Container.TS)


def _kind(container: Container) -> TrackKind:
    if container.is_text:
        return TrackKind.SUBTITLES
    return TrackKind.AUDIO if container in _SOUND else TrackKind.VIDEO
