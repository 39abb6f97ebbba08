"""Progress as plain lines, for a pipe or a file: one a page, one an ended media, and one every ten
seconds that tells how it goes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TextIO

from core.cli.progress import Meters
from core.cli.wording import cause, count, duration, printable, size
from core.model.end import MediaEnd
from core.model.walk import WalkPage

EVERY_S = 10.0
_SHOWN = 3  # entries of a page that gave no media


class Lines:
    """Writes to `stream`, each line at once. `named` gives a got media its name for people."""

    def __init__(self, stream: TextIO, named: Callable[[MediaEnd], str | None]) -> None:
        self._stream = stream
        self._named = named
        self._lock = threading.Lock()
        self._next_s = EVERY_S

    def page(self, page: WalkPage) -> None:
        """One line a page."""
        self.say(page_line(page))

    def ended(self, end: MediaEnd) -> None:
        """One line a media."""
        self.say(ended_line(end, self._named(end) if end.file else None))

    def tick(self, meters: Meters) -> None:
        """One line every ten seconds."""
        if meters.elapsed_s >= self._next_s:
            self._next_s = meters.elapsed_s + EVERY_S
            self.say(meters_line(meters))

    def say(self, text: str) -> None:
        """A line of its own."""
        with self._lock:
            self._stream.write(text + "\n")
            self._stream.flush()

    def close(self) -> None:
        """Nothing is held."""


def page_line(page: WalkPage) -> str:
    """`page     3: 40 media, 12 new posts`, and what on it gave no media."""
    line = (
        f"page     {page.page}: {count(len(page.media), 'media', 'media')}, "
        f"{count(page.new_posts, 'new post')}"
    )
    if not page.skipped:
        return line
    shown = ", ".join(f"{one.where} {one.reason}" for one in page.skipped[:_SHOWN])
    more = f" and {len(page.skipped) - _SHOWN} more" if len(page.skipped) > _SHOWN else ""
    return printable(f"{line}; without media: {shown}{more}")


def ended_line(end: MediaEnd, named: str | None) -> str:
    """`got      image/jpeg 34 KB  ADDRESS -> NAME`, or `dead     404 gone  ADDRESS`."""
    if end.file is not None:
        what = f"{end.file.type_sniffed} {size(end.file.size_bytes)}"
        line = f"{end.state:<8} {what}  {end.url}" + (f" -> {named}" if named else "")
    else:
        line = f"{end.state:<8} {cause(end.failure) if end.failure else ''}  {end.url}"
    return printable(line)


def meters_line(meters: Meters) -> str:
    """`10 s: found 120, got 80 (4.1 MB), known 0, failed 1; 8.0 files/s, 410 KB/s`."""
    parts = [
        f"{duration(meters.elapsed_s)}: found {meters.found:,}, got {meters.got:,} "
        f"({size(meters.got_bytes)}), known {meters.known:,}, failed {meters.failed:,}",
        f"{meters.files_per_s:.1f} files/s, {size(meters.bytes_per_s)}/s",
    ]
    if meters.blocked_s > 0:
        parts.append(f"the source asked us to wait {duration(meters.blocked_s)} yet")
    return "; ".join(parts)
