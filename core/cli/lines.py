"""Progress as plain lines, for a pipe or a file: one a page, one an ended media, and every ten
seconds how it goes, with a line for each video that comes in pieces."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TextIO

from core.cli.progress import Meters
from core.cli.videos import VideoMeter
from core.cli.wording import cause, count, duration, missing_pieces, printable, size
from core.model.end import EndState, MediaEnd
from core.model.walk import WalkPage

EVERY_S = 10.0
_SHOWN = 3  # entries of a page that gave no media
_VIDEOS_SHOWN = 6


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
        """A few lines every ten seconds."""
        if meters.elapsed_s >= self._next_s:
            self._next_s = meters.elapsed_s + EVERY_S
            self.say(meters_line(meters))
            for video in meters.videos[:_VIDEOS_SHOWN]:
                self.say(video_line(video))

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
        f"page     {page.page}: {count(len(page.media) + page.known_media, 'media', 'media')}, "
        f"{count(page.new_posts, 'new post')}"
    )
    if not page.skipped:
        return line
    shown = ", ".join(f"{one.where} {one.reason}" for one in page.skipped[:_SHOWN])
    more = f" and {len(page.skipped) - _SHOWN} more" if len(page.skipped) > _SHOWN else ""
    return printable(f"{line}; without media: {shown}{more}")


def ended_line(end: MediaEnd, named: str | None) -> str:
    """`got      image/jpeg 34 KB  ADDRESS -> NAME`, or `dead     404 gone  ADDRESS`, or
    `incomplete: pieces 3, 7 of 20  ADDRESS`."""
    if end.file is not None:
        what = f"{end.file.type_sniffed} {size(end.file.size_bytes)}"
        line = f"{end.state:<8} {what}  {end.url}" + (f" -> {named}" if named else "")
    elif end.state is EndState.INCOMPLETE:
        line = f"{end.state}: {missing_pieces(end.video)}  {end.url}"
    else:
        line = f"{end.state:<8} {cause(end.failure) if end.failure else ''}  {end.url}"
    return printable(line)


def video_words(meter: VideoMeter) -> str:
    """`12 of 200 pieces  ADDRESS`."""
    return f"{meter.done:,} of {count(meter.pieces, 'piece')}  {meter.url}"


def video_line(meter: VideoMeter) -> str:
    """`video    12 of 200 pieces  ADDRESS`."""
    return printable(f"video    {video_words(meter)}")


def meters_line(meters: Meters) -> str:
    """`10 s: found 120, got 80 (4.1 MB), known 0, failed 1; 8.0 files/s, 410 KB/s`."""
    parts = [
        f"{duration(meters.elapsed_s)}: found {meters.found:,}, got {meters.got:,} "
        f"({size(meters.got_bytes)}), known {meters.known:,}, failed {meters.failed:,}",
        f"{meters.files_per_s:.1f} files/s, {size(meters.bytes_per_s)}/s",
    ]
    if meters.incomplete:
        parts[0] += f", incomplete {meters.incomplete:,}"
    if meters.blocked_s > 0:
        parts.append(f"a source rests for {duration(meters.blocked_s)} yet")
    return "; ".join(parts)
