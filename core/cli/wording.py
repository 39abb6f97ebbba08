"""Numbers, addresses and failures as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from core.model.end import Failure, VideoRecord
from core.model.video import pieces_in_words

_STRANGE = "\N{REPLACEMENT CHARACTER}"
_UNITS = ("B", "KB", "MB", "GB", "TB")


def size(size_bytes: float) -> str:
    """34 KB, 1.2 MB: decimal units, as disks and browsers count."""
    unit = 0
    while size_bytes >= 1000 and unit < len(_UNITS) - 1:
        size_bytes, unit = size_bytes / 1000, unit + 1
    digits = 1 if unit >= 2 and size_bytes < 100 else 0
    return f"{size_bytes:.{digits}f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 page, 2 pages."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """`text` without anything that could move a cursor, colour a line or begin another: it may come
    from a feed."""
    if text.isprintable():  # most: asked letter by letter, a line took 20 us
        return text
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def cause(failure: Failure) -> str:
    """404 gone, timeout, address_refused."""
    return f"{failure.http_status} {failure.reason}" if failure.http_status else failure.reason


def missing_pieces(video: VideoRecord | None) -> str:
    """What an incomplete video lacks: pieces 3, 7 of 20."""
    if video is None or not video.missing:
        return "segments that the source itself lacks"
    return f"{pieces_in_words(video.missing)} of {video.planned:,}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Lines with aligned columns, the first `left` of them to the left; nothing is ever cut."""
    cells = [head, *rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for row in cells:
        aligned = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(aligned).rstrip()
