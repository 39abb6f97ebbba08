"""Texts beside a video, WebVTT or TTML, joined to one WebVTT file on the video's own time. What is
neither, plain, is left to the caller to leave out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from core.errors import Malformed
from core.model.plan import Container, Part, Segment, Track
from core.video.cues import Cue
from core.video.join import cannot_write
from core.video.pieces import Pieces
from core.video.ttml import read_ttml

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


def join_subtitles(track: Track, pieces: Pieces, video_start_s: float, path: Path) -> None:
    """Write the cues of `track` to `path`, each once. Raises `Malformed` for what is neither plain
    WebVTT nor plain TTML, and for what can't be brought onto the video's time."""
    found = islice(_on_video_time(track, pieces, video_start_s), _MAX_CUES)
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


def follow_the_manifest(track: Track) -> bool:
    """Whether the manifest tells, of each of its segments, when it plays: then the video may be cut
    into stretches whose clocks begin anew."""
    return all(segment.shift_s is not None for segment in track.segments)


def _on_video_time(track: Track, pieces: Pieces, video_start_s: float) -> Iterator[Cue]:
    in_stretch = Counter(segment.discontinuity for segment in track.segments)
    is_cut = len(in_stretch) > 1
    for segment in track.segments:
        if segment.init is not None or segment.part is None:
            raise Malformed("they have init parts or holes", reason="no_plain_webvtt")
        content = _content(segment.part, pieces)
        if track.container is Container.TTML:
            mapped_s, cues = None, read_ttml(content)
        else:
            mapped_s, cues = _read_webvtt(content, video_start_s)
        if mapped_s is not None and is_cut:
            raise Malformed("their clock begins anew on the way", reason="no_plain_webvtt")
        shift_s = (segment.shift_s or 0.0) if mapped_s is None else mapped_s
        is_told = segment.shift_s is not None  # and with it what the file's clock shows
        if is_cut and is_told and in_stretch[segment.discontinuity] == 1:
            cues = _shown_in(segment, cues)
        shifted = (cue.shifted(shift_s) for cue in cues)
        yield from (cue for cue in shifted if cue.end_s > 0)


def _shown_in(segment: Segment, cues: Iterable[Cue]) -> Iterator[Cue]:
    """Those that show while the segment plays: the same file may stand in other periods too."""
    end_s = segment.clock_s + segment.duration_s
    return (cue for cue in cues if cue.start_s < end_s and cue.end_s > segment.clock_s)


def _content(part: Part, pieces: Pieces) -> bytes:
    content = b""
    for chunk in pieces.chunks(part):
        content += chunk
        if len(content) > _MAX_SEGMENT_BYTES:
            raise Malformed("a segment is of unlikely size", reason="no_plain_webvtt")
    return content


def _text(content: bytes) -> str:
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith("WEBVTT"):
        raise Malformed("they are no WebVTT", reason="no_plain_webvtt")
    return text


def _read_webvtt(content: bytes, video_start_s: float) -> tuple[float | None, Iterator[Cue]]:
    """Its map to the video's time, if it has one, and its cues on its own."""
    head, *blocks = _text(content).split("\n\n")
    found = map(_cue, blocks)
    return _shift(head, video_start_s), (cue for cue in found if cue is not None)


def _shift(head: str, video_start_s: float) -> float | None:
    """From the segment's times to the video's, by its map to the transport stream's clock; None
    where it has no map."""
    told = _MAP.search(head)
    clock, local = (form.search(told[1]) if told else None for form in (_MPEGTS, _LOCAL))
    if clock is None or local is None:
        return None
    shift = int(clock[1]) / _CLOCK_HZ - video_start_s
    return (shift + _LOOP_S / 2) % _LOOP_S - _LOOP_S / 2 - (_seconds(local[1]) or 0.0)


def _cue(block: str) -> Cue | None:
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
        return Cue(start_s, end_s, "\n".join(lines[at + 1 :]))
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
