"""How feeds were read: a folder for each walk, a file for each page, one open walk a feed."""

from __future__ import annotations

import fcntl
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from core.errors import StorageDown, TooLarge
from core.model.walk import PageOutline, Walk, WalkEnd, WalkPage, WalkState
from core.store import records
from core.store.files import Disk
from core.store.paths import number

logger = logging.getLogger(__name__)

_CHUNK = 1024 * 1024
_STAMP = "%Y%m%dT%H%M%S%f"
_ID = re.compile(r"[0-9]{8}T[0-9]{12}")
_MAX_REMEMBERED = 10_000  # closed walks whose end is remembered
_MAX_BROKEN = 100  # walks in a row, beyond which no completed one is looked for
_LOOKED_BACK = 4  # walks, of which some may have told nothing new
_WALK, _CLOSED, _AGAIN, _BODY = "walk.json", "closed.json", "again", "body"


class Walks:
    """`walks/FEED/WALK/`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths = disk.paths
        self._states: dict[tuple[str, str], WalkState] = {}  # of closed walks: these never change

    # --- opening ---

    def open_or_resume(self, feed: str, *, now: float) -> tuple[Walk, bool]:
        """The feed's open walk and True, or a new one and False. Processes that ask at once get
        the same walk."""
        with self._deciding(feed):
            walk = self.current(feed)
            if walk is not None:
                return walk, True
            walk = Walk(walk=self._new_id(feed, now), feed=feed, opened_at=now)
            self._share_body(walk)  # before the walk is there: an open walk has its body
            path = self._paths.walk(feed, walk.walk) / _WALK
            self._disk.create_exclusive(path, records.encode(walk))
            self._forget_newsless(feed)
            return walk, False

    def newest(self, feed: str) -> Walk | None:
        """The walk that was opened last, open or closed; None where there was none."""
        for walk in reversed(self._ids(feed)):
            found = self.get(feed, walk)
            if found is not None:
                return found
        return None

    def current(self, feed: str) -> Walk | None:
        """The open walk. Only the newest can be open, since none opens beside an open one."""
        walk = self.newest(feed)
        return walk if walk and self._state(feed, walk.walk) is None else None

    @contextmanager
    def _deciding(self, feed: str) -> Iterator[None]:
        folder = self._paths.walks(feed)
        self._disk.make_folder(folder)
        with self._disk.told("lock", folder):
            lock = (folder / "lock").open("ab")
        with lock:
            with self._disk.told("lock", folder):
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _new_id(self, feed: str, now: float) -> str:
        """The opening time; a little later where a clock went back behind the newest walk, so that
        ids keep the order in which walks were opened."""
        wanted = datetime.fromtimestamp(now, UTC)
        ids = self._ids(feed)
        if ids and wanted.strftime(_STAMP) <= ids[-1]:
            newest = datetime.strptime(ids[-1], _STAMP).replace(tzinfo=UTC)
            wanted = newest + timedelta(microseconds=1)
        return wanted.strftime(_STAMP)

    def _forget_newsless(self, feed: str) -> None:
        """Remove walks that told nothing new, but for the one that was opened last and the newest
        complete one: a feed that is asked each quarter of an hour would leave four files each time.
        No post is known by such a walk, and what it shows is held by earlier ones. What a crash
        leaves of one goes the next time; a disk that does not let go of it costs no reading."""
        complete = self._newest_complete(feed)
        for walk in self._ids(feed)[-1 - _LOOKED_BACK : -1]:
            is_needed = complete is not None and walk == complete.walk
            try:
                if not is_needed and self._has_no_news(feed, walk):
                    self._forget(feed, walk)
            except StorageDown as error:
                logger.warning("walk %s of feed %s stays: %s", walk, feed, error)

    def _has_no_news(self, feed: str, walk: str) -> bool:
        if self.get(feed, walk) is None:
            return True  # half removed
        state, last = self._state(feed, walk), self.last_page(feed, walk)
        if last is None:
            return state is WalkState.BROKEN
        return state is not None and last.new_so_far == 0

    def _forget(self, feed: str, walk: str) -> None:
        """What makes it a walk goes first: no half of it counts."""
        folder = self._paths.walk(feed, walk)
        self._disk.remove(folder / _WALK)
        self._disk.remove_tree(folder)

    # --- reading ---

    def get(self, feed: str, walk: str) -> Walk | None:
        """A walk by its id; None for an unknown one."""
        return records.read(self._disk, self._paths.walk(feed, walk) / _WALK, Walk)

    def is_superseded(self, feed: str, walk: str) -> bool:
        """Whether the feed has a walk that was opened after `walk`, which may be forgotten."""
        newest = self.newest(feed)
        return newest is not None and newest.walk > walk

    def all(self, feed: str) -> Iterator[Walk]:
        """Every walk of the feed, oldest first."""
        for walk in self._ids(feed):
            found = self.get(feed, walk)
            if found is not None:
                yield found

    def page(self, feed: str, walk: str, page: int) -> WalkPage | None:
        """The record of one page; None while it is not done."""
        return records.read(self._disk, self._paths.page(feed, walk, page), WalkPage)

    def pages(self, feed: str, walk: str) -> Iterator[WalkPage]:
        """The recorded pages of a walk, in order."""
        for page in self._page_numbers(feed, walk):
            record = self.page(feed, walk, page)
            if record is not None:
                yield record

    def outlines(self, feed: str, walk: str) -> Iterator[PageOutline]:
        """The same, in little: for whoever asks little of many pages."""
        for page in self._page_numbers(feed, walk):
            path = self._paths.page(feed, walk, page)
            outline = records.read(self._disk, path, PageOutline)
            if outline is not None:
                yield outline

    def last_page(self, feed: str, walk: str) -> WalkPage | None:
        """The recorded page with the highest number, without reading the others."""
        numbers = self._page_numbers(feed, walk)
        return self.page(feed, walk, numbers[-1]) if numbers else None

    def last_number(self, feed: str, walk: str) -> int:
        """The highest number of a recorded page; 0 before the first."""
        return max(self._page_numbers(feed, walk), default=0)

    def _page_numbers(self, feed: str, walk: str) -> list[int]:
        names = self._disk.names(self._paths.walk(feed, walk))
        found = (number(name, ".json") for name in names)
        return sorted(page for page in found if page is not None)

    def end_of(self, feed: str, walk: str) -> WalkEnd | None:
        """How a walk ended; None while it is open."""
        return records.read(self._disk, self._paths.walk(feed, walk) / _CLOSED, WalkEnd)

    def completed(self, feed: str, walk: str) -> bool:
        """Whether the walk ran to its end: what it saw is known from then on."""
        return self._state(feed, walk) is WalkState.COMPLETE

    def _state(self, feed: str, walk: str) -> WalkState | None:
        state = self._states.get((feed, walk))
        if state is None:
            end = self.end_of(feed, walk)
            if end is None:
                return None
            state = end.state
            if len(self._states) >= _MAX_REMEMBERED:
                self._states.clear()
            self._states[feed, walk] = state
        return state

    def _ids(self, feed: str) -> list[str]:
        names = self._disk.names(self._paths.walks(feed))
        return sorted(name for name in names if _ID.fullmatch(name))

    # --- writing ---

    def end_page(self, page: WalkPage) -> bool:
        """Record a page; False when it is recorded already, and that record stands."""
        path = self._paths.page(page.feed, page.walk, page.page)
        return self._disk.create_exclusive(path, records.encode(page))

    def close(self, end: WalkEnd) -> bool:
        """Close a walk; False when it is closed already, and that end stands."""
        path = self._paths.walk(end.feed, end.walk) / _CLOSED
        return self._disk.create_exclusive(path, records.encode(end))

    def ask_again(self, walk: Walk) -> None:
        """A trigger came while the walk was open: another has to follow it."""
        self._disk.create_exclusive(self._paths.walk(walk.feed, walk.walk) / _AGAIN, b"")

    def asked_again(self, walk: Walk) -> bool:
        """Whether one came."""
        return self._disk.stat(self._paths.walk(walk.feed, walk.walk) / _AGAIN) is not None

    # --- what got lost on its way ---

    def found_idle(self, source: str, *, now: float) -> None:
        """Nothing of `source` is open just now. Forgetting it costs no more than the next such
        moment, hence it is never synced."""
        path = self._paths.idle(source)
        self._disk.make_folder(path.parent)
        with self._disk.told("mark", path):
            path.touch()
            os.utime(path, (now, now))

    def idle_at(self, source: str) -> float | None:
        """Unix time when nothing of `source` was open; None where that was never seen."""
        idle = self._disk.stat(self._paths.idle(source))
        return idle.st_mtime if idle is not None else None

    def are_lost(self, feed: str, source: str) -> bool:
        """Whether nothing of `source` was open at a moment after the feed's last completed walk:
        what that one had published, and what still has no end, was on its way no more."""
        idle_at = self.idle_at(source)
        if idle_at is None:
            return False
        newest = self._newest_complete(feed)
        return newest is not None and newest.closed_at < idle_at

    def _newest_complete(self, feed: str) -> WalkEnd | None:
        for walk in reversed(self._ids(feed)[-_MAX_BROKEN:]):
            if self.completed(feed, walk):
                return self.end_of(feed, walk)
        return None

    # --- the body of a feed that is read in chunks ---

    def body(self, feed: str, walk: str) -> Path:
        """Where the walk keeps it."""
        return self._paths.walk(feed, walk) / _BODY

    def open_body(self, feed: str, walk: str) -> BinaryIO:
        """The kept body, for reading. Raises `StorageDown` when the walk keeps none."""
        path = self.body(feed, walk)
        stream = self._disk.open(path)
        if stream is None:
            raise StorageDown(
                f"{path} is gone, and the walk can't be read on without it: restore it from a "
                "backup, or remove the walk's folder and submit the feed again"
            )
        return stream

    def keep_body(self, feed: str, walk: str, stream: BinaryIO, *, max_bytes: int) -> Path:
        """Keep the rest of `stream`; the first durable body wins. Raises `TooLarge`."""
        path = self.body(feed, walk)
        if self._disk.stat(path) is None:
            file = self._disk.write_unnamed(_bounded(stream, max_bytes))
            try:
                self._disk.place(file, path)
            finally:
                self._disk.discard(file)
        self._disk.sync(path.parent)
        return path

    def _share_body(self, walk: Walk) -> None:
        """A feed that is a local file: its walk reads the bytes that the feed has now, also when
        the file is edited later."""
        kept = self._paths.feed_body(walk.feed)
        if self._disk.stat(kept) is not None:
            body = self.body(walk.feed, walk.walk)
            self._disk.share(kept, body)
            self._disk.sync(body.parent)


def _bounded(stream: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    size_bytes = 0
    while chunk := stream.read(_CHUNK):
        size_bytes += len(chunk)
        if size_bytes > max_bytes:
            raise TooLarge(f"the feed's body is larger than the {max_bytes:,} bytes allowed")
        yield chunk
