"""What is told while a run goes on; learnt from the steps' observer, and how far videos are from
their folders, once a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Protocol

from core.cli.census import STANDINGS, Census, Standing
from core.cli.videos import RunningVideos, VideoMeter
from core.clock import Clock
from core.model.end import EndState, MediaEnd
from core.model.walk import WalkEnd, WalkPage
from core.ports import Budget
from core.steps.heartbeat import Heartbeat
from core.steps.run import Run
from core.store.store import Store

_WINDOW_S = 10.0  # over which rates are taken


class Screen(Protocol):
    """Shows a run to a person. Called from several threads."""

    def page(self, page: WalkPage) -> None:
        """A page of a feed was read."""

    def ended(self, end: MediaEnd) -> None:
        """A media ended."""

    def tick(self, meters: Meters) -> None:
        """A moment passed."""

    def say(self, text: str) -> None:
        """A sentence for the person."""

    def close(self) -> None:
        """Show no more progress."""


class Watch:
    """The observer of a run's ends: counts them and tells the screen."""

    def __init__(self, census: Census) -> None:
        self.census = census
        self._store: Store | None = None
        self._screen: Screen | None = None

    def begin(self, store: Store, screen: Screen) -> None:
        """From now on, ends of `store` go to `screen`. (The app that opens the store is given its
        observer before.)"""
        self._store, self._screen = store, screen

    def __call__(self, end: MediaEnd | WalkPage | WalkEnd) -> None:
        assert self._store is not None  # noqa: S101 - no task runs before `begin`
        assert self._screen is not None  # noqa: S101
        match end:
            case MediaEnd():
                size_bytes = end.file.size_bytes if end.file else 0
                self.census.settle(end.media, STANDINGS[end.state], size_bytes)
                with _whoever_looks():
                    self._screen.ended(end)
            case WalkPage():
                self._meet(end, self._store)
                with _whoever_looks():
                    self._screen.page(end)
            case WalkEnd():
                pass  # told at the end, with what it means for the run

    def _meet(self, page: WalkPage, store: Store) -> None:
        for payload in page.media:
            if self.census.find(payload.media):
                recognise(self.census, store, payload.media)


def _whoever_looks() -> AbstractContextManager[None]:
    """A reader that went away (a closed pipe) makes no task fail."""
    return suppress(OSError)


def recognise(census: Census, store: Store, media: str) -> None:
    """Count a media that a run before this one ended, if one did."""
    if store.media.was_got_at_once(media):
        census.recognise(media, Standing.KNOWN)
        return
    end = store.media.newest(media)
    if end is None or (end.state is not EndState.GOT and is_reopened(store, end)):
        return
    known = end.state is EndState.GOT
    census.recognise(media, Standing.KNOWN if known else STANDINGS[end.state])


def is_reopened(store: Store, end: MediaEnd) -> bool:
    """Whether a media has a generation after this end."""
    return store.media.generation(end.media) > end.generation


@dataclass(frozen=True, slots=True)
class Meters:
    """A run at one moment."""

    elapsed_s: float
    found: int
    got: int
    known: int
    failed: int  # and refused
    incomplete: int  # videos that ended so
    got_bytes: int
    files_per_s: float
    bytes_per_s: float
    blocked_s: float  # for how long yet a source takes no request; 0.0: all are open
    running: Sequence[Run]
    videos: Sequence[VideoMeter] = ()  # that come in pieces

    @property
    def ended(self) -> int:
        """Everything that needs no more."""
        return self.got + self.known + self.failed + self.incomplete


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float  # monotonic seconds
    files: int
    size_bytes: int


class Gauge:
    """Reads a run's meters."""

    def __init__(
        self,
        census: Census,
        heartbeat: Heartbeat,
        budget: Budget,
        sources: Sequence[str],
        clock: Clock,
        videos: RunningVideos | None = None,
    ) -> None:
        self._census = census
        self._videos = videos
        self._heartbeat = heartbeat
        self._budget = budget
        self._sources = sources
        self._clock = clock
        self._samples: deque[_Sample] = deque()
        self._began = clock.monotonic()

    def read(self) -> Meters:
        """The meters now."""
        now = self._clock.monotonic()
        counts = self._census.counts()
        running = self._heartbeat.running()
        files, size_bytes = counts[Standing.DONE], self._census.got_bytes
        in_hand = sum(run.bytes_read for run in running)
        files_per_s, bytes_per_s = self._rates(_Sample(now, files, size_bytes + in_hand))
        return Meters(
            elapsed_s=now - self._began,
            found=counts.total(),
            got=files,
            known=counts[Standing.KNOWN],
            failed=counts[Standing.FAILED] + counts[Standing.REFUSED],
            incomplete=self._census.holed,
            got_bytes=size_bytes,
            files_per_s=files_per_s,
            bytes_per_s=bytes_per_s,
            blocked_s=max(map(self._budget.blocked_for, self._sources), default=0.0),
            running=running,
            videos=self._videos.read(running) if self._videos else (),
        )

    def _rates(self, sample: _Sample) -> tuple[float, float]:
        self._samples.append(sample)
        while len(self._samples) > 2 and sample.at - self._samples[1].at >= _WINDOW_S:
            self._samples.popleft()
        first = self._samples[0]
        passed = sample.at - first.at
        if passed <= 0:
            return 0.0, 0.0
        grown = max(0, sample.size_bytes - first.size_bytes)  # a failed run's bytes vanish again
        return (sample.files - first.files) / passed, grown / passed
