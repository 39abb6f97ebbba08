"""WebVTT segments joined to one file on the video's own time. What is not plain WebVTT is left to
the caller to leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from core.errors import Malformed
from core.model.plan import Part, Track
from core.video.join import cannot_write
from core.video.pieces import Pieces

_MAX_CUES = 200_000
_MAX_SEGMENT_BYTES = 4 * 1024**2
_CLOCK_HZ = 90_000
_LOOP_S = 2**33 / _CLOCK_HZ  # MPEG-2 timestamps begin anew after 26.5 hours
_MAP = re.compile(r"^X-TIMESTAMP-MAP=(.+)$", re.MULTILINE)
_MPEGTS = re.compile(r"MPEGTS:(\d{1,15})")
_LOCAL = re.compile(r"LOCAL:([\d:.]+)")
_TIME = re.compile(r"(?:(\d{1,4}):)?(\d{2}):(\d{2})\.(\d{3})")
_TIMES = re.compile(r"^([\d:.]+)[ \t]+-->[ \t]+([\d:.]+)(.*)$")
_PREAMBLES = ("NOTE", "STYLE", "REGION")


@dataclass(frozen=True, slots=True)
class Cue:
    """One text and when it shows, on the video's time."""

    start_s: float
    end_s: float
    text: str


def join_subtitles(track: Track, pieces: Pieces, video_start_s: float, path: Path) -> None:
    """Write the cues of `track` to `path`, each once. Raises `Malformed` for what is no WebVTT."""
    found = islice(_cues(_texts(track, pieces), video_start_s), _MAX_CUES)
    cues = dict.fromkeys(found)  # a long cue stands in several segments
    if not cues:
        raise Malformed("they are empty", reason="no_plain_webvtt")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("WEBVTT\n\n")
            for cue in sorted(cues, key=lambda cue: cue.start_s):
                file.write(f"{_clock(cue.start_s)} --> {_clock(cue.end_s)}\n{cue.text}\n\n")
    except OSError as error:
        raise cannot_write(path, error) from error


def _texts(track: Track, pieces: Pieces) -> Iterator[str]:
    for segment in track.segments:
        if segment.init is not None or segment.part is None:
            raise Malformed("they have init parts or holes", reason="no_plain_webvtt")
        yield _text(segment.part, pieces)


def _text(part: Part, pieces: Pieces) -> str:
    content = b""
    for chunk in pieces.chunks(part):
        content += chunk
        if len(content) > _MAX_SEGMENT_BYTES:
            raise Malformed("a segment is of unlikely size", reason="no_plain_webvtt")
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith("WEBVTT"):
        raise Malformed("they are no WebVTT", reason="no_plain_webvtt")
    return text


def _cues(texts: Iterable[str], video_start_s: float) -> Iterator[Cue]:
    for text in texts:
        head, *blocks = text.split("\n\n")
        shift_s = _shift(head, video_start_s)
        for block in blocks:
            cue = _cue(block, shift_s)
            if cue is not None and cue.end_s > 0:
                yield cue


def _shift(head: str, video_start_s: float) -> float:
    """From the segment's times to the video's: by its map to the transport stream's clock, or none
    where it has no map (then they count from the video's begin)."""
    told = _MAP.search(head)
    if told is None:
        return 0.0
    clock, local = _MPEGTS.search(told[1]), _LOCAL.search(told[1])
    if clock is None or local is None:
        return 0.0
    shift = int(clock[1]) / _CLOCK_HZ - video_start_s
    return (shift + _LOOP_S / 2) % _LOOP_S - _LOOP_S / 2 - (_seconds(local[1]) or 0.0)


def _cue(block: str, shift_s: float) -> Cue | None:
    """A block's cue; None for what is none."""
    lines = [line for line in block.split("\n") if line.strip()]
    if not lines or lines[0].startswith(_PREAMBLES):
        return None
    for at, line in enumerate(lines[:2]):  # an identifier may stand before the times
        times = _TIMES.match(line)
        if times is None:
            continue
        start_s, end_s = _seconds(times[1]), _seconds(times[2])
        if start_s is None or end_s is None or not lines[at + 1 :]:
            return None
        shifted = (max(0.0, start_s + shift_s), end_s + shift_s)
        return Cue(round(shifted[0], 3), round(shifted[1], 3), "\n".join(lines[at + 1 :]))
    return None


def _seconds(text: str) -> float | None:
    time = _TIME.fullmatch(text)
    if time is None:
        return None
    hours, minutes, seconds, thousandths = (int(part or 0) for part in time.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def _clock(seconds: float) -> str:
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}.{rest % 1000:03d}"
