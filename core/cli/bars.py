"""Progress as bars on a terminal: one for the run, one for each video that comes in pieces and for
each large file under way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from core.cli.lines import ended_line, meters_line, page_line, video_words
from core.cli.progress import Meters
from core.cli.videos import VideoMeter
from core.cli.wording import printable, size
from core.model.end import EndState, MediaEnd
from core.model.task import FragmentPayload, ImagePayload, subject
from core.model.walk import WalkPage
from core.steps.run import Run

_WIDTH = 32  # of a bar, in columns
_LARGE_BYTES = 1_000_000  # smaller files end before a person has read their name
_MOST = 6  # videos with a bar of their own, and files


class Bars:
    """Draws on the terminal behind `stream` until closed. What must stay goes above the bars."""

    def __init__(self, stream: TextIO) -> None:
        self._live = Live(
            console=Console(file=stream, highlight=False), auto_refresh=False, transient=True
        )
        self._live.start()

    def page(self, page: WalkPage) -> None:
        """Only pages with something odd are worth a line that stays."""
        if page.skipped:
            self.say(page_line(page))

    def ended(self, end: MediaEnd) -> None:
        """What was got moves the bar; what was not is told at once."""
        if end.state is not EndState.GOT:
            self.say(ended_line(end, None))

    def tick(self, meters: Meters) -> None:
        """Draw anew."""
        self._live.update(drawn(meters), refresh=True)

    def say(self, text: str) -> None:
        """A line that stays."""
        self._live.console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        """Take the bars away."""
        self._live.stop()


def drawn(meters: Meters) -> RenderableType:
    """The bars at one moment."""
    told = Text(meters_line(meters), no_wrap=True, overflow="ellipsis")
    return Group(_whole(meters), told, *map(_video, meters.videos[:_MOST]), *_files(meters.running))


def _whole(meters: Meters) -> Table:
    row = Table.grid(padding=(0, 1))
    bar = ProgressBar(max(1, meters.found), meters.ended, width=_WIDTH, pulse=not meters.found)
    row.add_row(bar, Text(f"{meters.ended:,} of {meters.found:,} media"))
    return row


def _video(meter: VideoMeter) -> Table:
    row = Table.grid(padding=(0, 1))
    bar = ProgressBar(meter.pieces, meter.done, width=_WIDTH)
    row.add_row(bar, Text(printable(video_words(meter)), no_wrap=True, overflow="ellipsis"))
    return row


def _files(running: Iterable[Run]) -> Iterable[Table]:
    large = [run for run in running if run.bytes_read >= _LARGE_BYTES and not _is_piece(run)]
    for run in sorted(large, key=lambda run: -run.bytes_read)[:_MOST]:
        row = Table.grid(padding=(0, 1))
        row.add_row(*_file(run))
        yield row


def _file(run: Run) -> tuple[RenderableType, Text]:
    name = printable(subject(run.task))
    total = _told_bytes(run)
    if total is None or total < run.bytes_read:
        bar: RenderableType = ProgressBar(pulse=True, width=_WIDTH)
        said = f"{size(run.bytes_read)}  {name}"
    else:
        bar = ProgressBar(total, run.bytes_read, width=_WIDTH)
        said = f"{size(run.bytes_read)} of {size(total)}  {name}"
    return bar, Text(said, no_wrap=True, overflow="ellipsis")


def _is_piece(run: Run) -> bool:
    """Its video has a bar."""
    return isinstance(run.task.payload, FragmentPayload)


def _told_bytes(run: Run) -> int | None:
    """The size that the feed told, if it did."""
    payload = run.task.payload
    if isinstance(payload, ImagePayload) and payload.rendition is not None:
        return payload.rendition.size_bytes
    return None
