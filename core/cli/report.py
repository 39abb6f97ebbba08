"""What the store says of a run's feeds and of each media that they show, read as a stream: no list
of a million media is ever held."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, TextIO

from core.cli.census import STANDINGS, Census, Standing
from core.cli.progress import is_reopened
from core.model.addresses import strike
from core.model.end import EndState, Failure, MediaEnd, VideoRecord
from core.model.post import MediaKind
from core.model.task import MediaPayload
from core.model.walk import FeedRecord, PageOutline, Walk, WalkEnd, WalkState
from core.settings import Settings
from core.steps.page import INCOMPLETE
from core.store.store import Store

NOT_FINISHED = "not_finished"  # the reason of a media that has no end yet
_GOT = (Standing.DONE, Standing.KNOWN)
FEWER_NAMED = 20  # posts of a feed that show fewer media than they announce


@dataclass(frozen=True, slots=True)
class MediaReport:
    """How a media stands at the end of a run."""

    url: str  # struck out; empty, and the kind any, of what was got where nobody asks for details
    kind: MediaKind
    standing: Standing
    failure: Failure | None = None
    sha256: str | None = None
    path: str | None = None  # its name for people, relative to the store
    size_bytes: int = 0
    video: VideoRecord | None = None  # of one that came in pieces

    @property
    def reason(self) -> str | None:
        """A short stable word; None for what was got."""
        if self.failure is not None:
            return self.failure.reason
        return NOT_FINISHED if self.standing is Standing.INCOMPLETE else None


@dataclass(frozen=True, slots=True)
class FeedReport:
    """How the newest reading of a feed ended; `end` is None while it goes on."""

    address: str  # struck out
    end: WalkEnd | None
    gone_at_source: int = 0  # media that its posts showed before and no longer do
    fewer: int = 0  # posts that show fewer media than they announce
    fewer_named: tuple[str, ...] = ()  # the first of them, in words

    @property
    def complete(self) -> bool:
        """Whether the feed was read as far as it had to be."""
        return self.end is not None and self.end.state is WalkState.COMPLETE


@dataclass(slots=True)
class Totals:
    """Counts over what was reported."""

    standings: Counter[Standing] = field(default_factory=Counter)
    got_bytes: int = 0

    def add(self, media: MediaReport) -> None:
        """Count one more."""
        self.standings[media.standing] += 1

    @property
    def found(self) -> int:
        """All of them."""
        return self.standings.total()

    @property
    def failed(self) -> int:
        """Those that ended without their file, whether it failed or a rule of ours refused it."""
        return self.standings[Standing.FAILED] + self.standings[Standing.REFUSED]

    @property
    def whole(self) -> bool:
        """Whether everything found was got, now or before."""
        return self.failed == 0 and self.standings[Standing.INCOMPLETE] == 0


@dataclass(frozen=True)
class _Page:
    """A page that was read; more of it than its outline only where that is asked for."""

    store: Store
    walk: Walk
    outline: PageOutline
    secret_names: tuple[str, ...]

    @property
    def media(self) -> Iterator[str]:
        """The ids of what it shows."""
        return (one.media for one in self.outline.media)

    @cached_property
    def payloads(self) -> dict[str, MediaPayload]:
        """What it says of each."""
        page = self.store.walks.page(self.walk.feed, self.walk.walk, self.outline.page)
        return {payload.media: payload for payload in page.media} if page else {}


class Report:
    """Reads a store once for a run over `feeds`. With `details` every media's file is looked up,
    else only what is missing."""

    def __init__(
        self, store: Store, settings: Settings, census: Census, *, details: bool = False
    ) -> None:
        self._store = store
        self._settings = settings
        self._census = census
        self._details = details

    def feeds(self, records: Sequence[FeedRecord]) -> Iterator[FeedReport]:
        """How each feed's newest walk stands."""
        for record in records:
            newest = self._store.walks.newest(record.feed)
            if newest is None:
                yield FeedReport(strike(record.address), None)
            else:
                yield self._feed(record, newest)

    def _feed(self, record: FeedRecord, walk: Walk) -> FeedReport:
        gone = fewer = 0
        named: list[str] = []
        for page in self._store.walks.outlines(record.feed, walk.walk):
            gone += page.gone_at_source
            told = [one for one in page.skipped if one.reason.startswith(INCOMPLETE)]
            fewer += len(told)
            named += [
                f"page {page.page}, {one.where or 'a post'}: {one.reason}"
                for one in told[: FEWER_NAMED - len(named)]
            ]
        end = self._store.walks.end_of(record.feed, walk.walk)
        return FeedReport(strike(record.address), end, gone, fewer, tuple(named))

    def media(self, records: Sequence[FeedRecord]) -> Iterator[MediaReport]:
        """Every media of the feeds' walks, each once."""
        for record in records:
            secret_names = tuple(self._settings.source(record.source).secret_query)
            for walk in self._store.walks.all(record.feed):
                for outline in self._store.walks.outlines(record.feed, walk.walk):
                    yield from self._page(_Page(self._store, walk, outline, secret_names))

    def _page(self, page: _Page) -> Iterator[MediaReport]:
        for media in page.media:
            if self._census.tell(media):
                counted = self._census.standing(media)
                if counted in _GOT and not self._details:
                    yield MediaReport("", MediaKind.IMAGE, counted)
                else:
                    yield self._standing(media, counted, page)

    def _standing(self, media: str, counted: Standing | None, page: _Page) -> MediaReport:
        end = self._store.media.newest(media)
        if end is not None and end.state is EndState.GOT:
            standing = Standing.DONE if counted is Standing.DONE else Standing.KNOWN
            return self._got(end, standing)
        if end is None or is_reopened(self._store, end):
            payload = page.payloads[media]
            url = strike(payload.url, page.secret_names)
            return MediaReport(url, payload.media_kind, Standing.INCOMPLETE)
        standing = STANDINGS[end.state]
        return MediaReport(end.url, end.kind, standing, end.failure, video=end.video)

    def _got(self, end: MediaEnd, standing: Standing) -> MediaReport:
        assert end.file is not None  # noqa: S101 - a media that was got has one
        path = self._store.library.link(end)
        return MediaReport(
            end.url,
            end.kind,
            standing,
            sha256=end.file.sha256,
            path=path.relative_to(self._store.root).as_posix() if path else None,
            size_bytes=end.file.size_bytes,
        )


class JsonLine:
    """Writes the report as one JSON object on one line, media by media. Leaving its context ends
    the line, so that it can be read also when an error cut the report short."""

    def __init__(self, stream: TextIO, totals: Totals) -> None:
        self._stream = stream
        self._totals = totals
        self._separator = ""

    def __enter__(self) -> Self:
        self._stream.write('{"media": [')
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self._totals)

    def add(self, media: MediaReport) -> None:
        """One more entry of `media`."""
        entry: dict[str, object] = {
            "url": media.url,
            "kind": media.kind.value,
            "state": media.standing.value,
            "reason": media.reason,
            "object": media.sha256,
            "path": media.path,
        }
        if media.video is not None and media.standing is Standing.INCOMPLETE:
            entry["missing"] = media.video.missing
        self._stream.write(self._separator + json.dumps(entry))
        self._separator = ", "

    def _end(self, totals: Totals) -> None:
        """The counts, and the line's end. `failed` counts what was refused too, so that got, known,
        failed and incomplete add up to found."""
        counts = {
            "found": totals.found,
            "got": totals.standings[Standing.DONE],
            "known": totals.standings[Standing.KNOWN],
            "failed": totals.failed,
            "incomplete": totals.standings[Standing.INCOMPLETE],
            "bytes": totals.got_bytes,
        }
        self._stream.write("], " + json.dumps(counts)[1:] + "\n")
        self._stream.flush()
