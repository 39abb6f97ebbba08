"""Periods through which one and the same media plays on: they are cut for the presentation's sake,
and nothing of the media changes between them. A file that periods of another media interrupt is
taken apart by its index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from core.errors import TooLarge, Unsupported
from core.manifests.dash_addressing import addressing_of
from core.manifests.dash_index import MAX_INDEX_BYTES, Indexed, read_index
from core.manifests.dash_reader import Place
from core.manifests.dash_representations import Representation
from core.manifests.dash_xml import Document
from core.manifests.playlists import ByteRange, InitPart, MediaSegment, Spans
from core.model.plan import TrackKind

MAX_INDEXES = 20  # of a track: each is a request before the video's first piece
NEAR_S = 0.05  # sound and pictures are cut at frames of their own, and times are rounded


@dataclass(frozen=True, slots=True)
class Played:
    """What one period plays of a track."""

    of: Representation
    segments: list[MediaSegment]  # at least one

    @property
    def length_s(self) -> float:
        """How long it plays."""
        if self.of.period.duration is not None:
            return float(self.of.period.duration)
        return fsum(one.duration_s + one.pause_s for one in self.segments)

    @property
    def file(self) -> str | None:
        """The address of the one file that all of it is; None where it comes in segments."""
        addressing = addressing_of(self.of.levels)
        is_file = addressing is None or addressing.scheme == "SegmentBase"
        return self.segments[0].url if is_file else None


def joined_on(
    document: Document, played: Sequence[Played], spans: Spans, most: int
) -> list[MediaSegment]:
    """The segments of all, in order and numbered anew; what plays on has one discontinuity number,
    that of the period in which it begins. Raises `Unsupported` for a file that can't be taken
    apart, `TooLarge` for more than `most` segments."""
    runs: list[_Run] = []
    for one in played:
        if runs and runs[-1].goes_on_with(one):
            runs[-1].add(one)
        else:
            runs.append(_Run(one, list(one.segments), one.length_s))
    for of_one in _shared(document, runs):
        _take_apart(document, of_one, spans)
        if sum(len(run.segments) for run in runs) > most:
            words = f"more than {most:,} segments"
            raise document.refused(TooLarge, "manifest_too_large", words)
    segments = (segment for run in runs for segment in run.segments)
    return [replace(segment, sequence=number) for number, segment in enumerate(segments)]


@dataclass(slots=True)
class _Run:
    """Periods of the same media, with no seam between them."""

    first: Played
    segments: list[MediaSegment]
    length_s: float
    file: str | None = field(init=False)
    last: int = field(init=False)  # the period in which it ends, among those that last

    def __post_init__(self) -> None:
        self.file = self.first.file
        self.last = self.segments[0].discontinuity

    @property
    def clock_s(self) -> float:
        """What the media's clock shows when it begins."""
        return self.segments[0].clock_s

    @property
    def end_s(self) -> float:
        """The same when it ends."""
        return self.clock_s + self.length_s

    def goes_on_with(self, one: Played) -> bool:
        """Whether a period's media is the run's own, from where the run ends on."""
        ours, theirs = self.segments[0], one.segments[0]
        follows = theirs.discontinuity == self.last + 1  # a text may be missing between
        if not follows or abs(theirs.clock_s - self.end_s) > NEAR_S:
            return False
        if self.file is not None:
            return self.file == one.file
        # Without an init part nothing tells that it is encoded alike.
        return ours.init is not None and ours.init == theirs.init

    def add(self, one: Played) -> None:
        """Play on through another period."""
        self.length_s += one.length_s
        self.last = one.segments[0].discontinuity
        first = self.segments[0]
        if self.file is not None:
            self.segments = [replace(first, duration_s=self.length_s)]
            return
        for segment in one.segments:
            if _is_same(segment, self.segments[-1]):  # it reaches over the seam: both name it
                continue
            going_on = replace(
                segment,
                discontinuity=first.discontinuity,
                clock_s=first.clock_s,
                init=first.init,
            )
            self.segments.append(going_on)


def _is_same(one: MediaSegment, other: MediaSegment) -> bool:
    return (one.url, one.byte_range) == (other.url, other.byte_range)


# --- one file, several runs ---


def _shared(document: Document, runs: Sequence[_Run]) -> list[list[_Run]]:
    """The runs of each file that has several."""
    by_file: dict[str, list[_Run]] = {}
    for run in runs:
        if run.file is not None:
            by_file.setdefault(run.file, []).append(run)
    shared = [found for found in by_file.values() if len(found) > 1]
    if len(shared) > MAX_INDEXES:
        words = f"more than {MAX_INDEXES} files of which periods show parts"
        raise document.refused(TooLarge, "manifest_too_large", words)
    return shared


def _take_apart(document: Document, runs: Sequence[_Run], spans: Spans) -> None:
    """Give each run of a file its own part of it. A text is small: it is got whole, and its own
    times tell what belongs to a run."""
    of = runs[0].first.of
    if of.kind is TrackKind.SUBTITLES:
        return
    place, whole = Place(document, of.place), runs[0].segments[0]
    at = _index_range(of, place)
    urls = (whole.url, *whole.alternatives)
    entries = read_index(spans(urls, at), at.start, place)
    init = InitPart(whole.url, _init_range(of, at, place), alternatives=whole.alternatives)
    for run, found in zip(runs, _shared_out(entries, runs), strict=True):
        if not found:
            words = f"its index has nothing for {run.first.of.period.place}"
            raise place.malformed("bad_index", words)
        run.segments = [
            replace(
                run.segments[0],
                byte_range=one.byte_range,
                duration_s=float(one.duration),
                init=init,
            )
            for one in found
        ]


def _index_range(of: Representation, place: Place) -> ByteRange:
    addressing = addressing_of(of.levels)
    raw = addressing.attributes.get("indexRange") if addressing else None
    if raw is None:
        words = "one file is shown in parts, with others between them, and has no index of its own"
        raise place.refused(Unsupported, "shared_file", f"{words} (SegmentBase@indexRange)")
    at = place.byte_range(raw)
    if at.length > MAX_INDEX_BYTES:
        raise place.malformed("bad_index", f"an index of {at.length:,} bytes")
    return at


def _init_range(of: Representation, index: ByteRange, place: Place) -> ByteRange:
    """By the manifest's word, else all that stands before the index."""
    addressing = addressing_of(of.levels)
    element = addressing.init if addressing else None
    raw = element.get("range") if element is not None else None
    if raw is not None:
        return place.byte_range(raw)
    if not index.start:
        raise place.malformed("bad_index", "nothing stands before its index, and no init is named")
    return ByteRange(0, index.start)


def _shared_out(entries: Sequence[Indexed], runs: Sequence[_Run]) -> Iterator[list[Indexed]]:
    """Each stretch once, to the run that shows most of it; nothing to a run that it only touches,
    by how times are rounded."""
    shares: list[list[Indexed]] = [[] for _ in runs]
    times = [(run.clock_s, run.end_s) for run in runs]
    for one in entries:  # there may be a hundred thousand, and of runs a thousand
        start, end = float(one.start), float(one.end)
        shown = [min(end, ends) - max(start, begins) for begins, ends in times]
        most = max(shown)
        if most > min(NEAR_S, float(one.duration) / 2):
            shares[shown.index(most)].append(one)
    yield from shares
