"""One text and when it shows: what subtitles of every format are read into."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Cue:
    """On the video's time; while a file is read, on its own."""

    start_s: float
    end_s: float
    text: str  # as WebVTT has it: lines that are not empty, with & and < escaped

    def shifted(self, shift_s: float) -> Cue:
        """The same so much later; what would show before the video begins shows with it."""
        start_s = max(0.0, self.start_s + shift_s)
        return replace(self, start_s=round(start_s, 3), end_s=round(self.end_s + shift_s, 3))
