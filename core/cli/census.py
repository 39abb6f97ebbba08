"""Which media a run has met and what became of each, counted as it happens.

Kept in a private SQLite file that vanishes with it, so that memory stays flat over a million media.
The store stays the truth: this only tells «in this run» from «before»."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from enum import StrEnum

from core.model.end import EndState

_TABLE = """CREATE TABLE media (
    id TEXT PRIMARY KEY, standing TEXT NOT NULL,
    scanned INTEGER NOT NULL DEFAULT 0, here INTEGER NOT NULL DEFAULT 0,
    told INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID"""


class Standing(StrEnum):
    """What a run says of a media."""

    DONE = "done"  # got in this run
    KNOWN = "known"  # got before it
    FAILED = "failed"
    INCOMPLETE = "incomplete"  # not ended yet, or a video with pieces missing
    REFUSED = "refused"  # a rule of ours said no


STANDINGS = {
    EndState.GOT: Standing.DONE,
    EndState.DEAD: Standing.FAILED,
    EndState.INCOMPLETE: Standing.INCOMPLETE,
    EndState.REFUSED: Standing.REFUSED,
}


class Census:
    """Media by id, for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # An empty name is a temporary file of SQLite's own, held in memory while it is small.
        self._rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("PRAGMA synchronous = OFF")
        self._rows.execute(_TABLE)
        self._counts: Counter[Standing] = Counter()
        self._holed: set[str] = set()  # videos that ended incomplete: few, unlike those still open
        self._got_bytes = 0

    def find(self, media: str) -> bool:
        """A media was met; whether for the first time."""
        with self._lock:
            return self._put(media, Standing.INCOMPLETE)

    def scan(self, media: str) -> bool:
        """A page that an earlier run read lists a media; whether it is for this run to see to: no
        such page listed it before, and the run has not ended it meanwhile."""
        with self._lock:
            if self._put(media, Standing.INCOMPLETE, scanned=True):
                return True
            query = "UPDATE media SET scanned = 1 WHERE id = ? AND scanned = 0 AND here = 0"
            return self._rows.execute(query, (media,)).rowcount == 1

    def reopen(self, media: str) -> None:
        """What ended before this run is tried again."""
        with self._lock:
            before = self._standing(media)
            if before is not None and not self._is_ended_here(media):
                self._end(media, before, Standing.INCOMPLETE)
                self._holed.discard(media)

    def recognise(self, media: str, standing: Standing) -> None:
        """The store has an end of a media, older than this run as far as one knew: an end that this
        run wrote meanwhile stands."""
        with self._lock:
            query = "UPDATE media SET standing = ? WHERE id = ? AND standing = ?"
            before = Standing.INCOMPLETE
            if self._rows.execute(query, (standing.value, media, before.value)).rowcount == 1:
                self._count(media, before, standing)

    def settle(self, media: str, standing: Standing, size_bytes: int = 0) -> None:
        """This run ended a media so."""
        with self._lock:
            before = self._standing(media)
            self._end(media, before, standing)
            self._rows.execute("UPDATE media SET here = 1 WHERE id = ?", (media,))
            if standing is Standing.DONE and before is not Standing.DONE:
                self._got_bytes += size_bytes

    def tell(self, media: str) -> bool:
        """Whether a media is told of for the first time."""
        with self._lock:
            self._put(media, Standing.INCOMPLETE)
            query = "UPDATE media SET told = 1 WHERE id = ? AND told = 0"
            return self._rows.execute(query, (media,)).rowcount == 1

    def standing(self, media: str) -> Standing | None:
        """How a media stands; None for one that was not met."""
        with self._lock:
            return self._standing(media)

    def counts(self) -> Counter[Standing]:
        """How many stand how."""
        with self._lock:
            return self._counts.copy()

    @property
    def holed(self) -> int:
        """How many ended incomplete; the rest that stand so have no end yet."""
        with self._lock:
            return len(self._holed)

    @property
    def got_bytes(self) -> int:
        """The size of what this run got."""
        with self._lock:
            return self._got_bytes

    def close(self) -> None:
        """Give the file back."""
        self._rows.close()

    def _standing(self, media: str) -> Standing | None:
        query = "SELECT standing FROM media WHERE id = ?"
        row = self._rows.execute(query, (media,)).fetchone()
        return Standing(row[0]) if row else None

    def _is_ended_here(self, media: str) -> bool:
        query = "SELECT 1 FROM media WHERE id = ? AND here = 1"
        return self._rows.execute(query, (media,)).fetchone() is not None

    def _end(self, media: str, before: Standing | None, standing: Standing) -> None:
        if before is None:
            self._put(media, standing)
            before = standing
        self._rows.execute("UPDATE media SET standing = ? WHERE id = ?", (standing.value, media))
        self._count(media, before, standing)

    def _put(self, media: str, standing: Standing, *, scanned: bool = False) -> bool:
        """False where it is there already."""
        query = "INSERT OR IGNORE INTO media (id, standing, scanned) VALUES (?, ?, ?)"
        is_new = self._rows.execute(query, (media, standing.value, scanned)).rowcount == 1
        self._counts[standing] += is_new
        return is_new

    def _count(self, media: str, before: Standing, after: Standing) -> None:
        """A media that ended moves from one to the other."""
        self._counts[before] -= 1
        self._counts[after] += 1
        if after is Standing.INCOMPLETE:
            self._holed.add(media)
        else:
            self._holed.discard(media)
