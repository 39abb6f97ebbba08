"""When a representation's segments play, in its own timescale and exactly: by a SegmentTimeline, by
one duration for all, or one segment for the whole period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from xml.etree.ElementTree import Element

from core.errors import Malformed, TooLarge
from core.manifests.dash_addressing import Addressing
from core.manifests.dash_reader import NO_FRAME_S, Place


@dataclass(frozen=True, slots=True)
class Slot:
    """One segment's place in time."""

    number: int
    time: int  # in the timescale, on the media's own clock
    duration: Fraction  # in the timescale
    pause: Fraction = Fraction(0)  # in the timescale, until the next begins


@dataclass(frozen=True, slots=True)
class Timing:
    """What an addressing says of time, in numbers."""

    place: Place
    timescale: int  # units a second
    offset: int  # what the media's clock shows when the period begins (presentationTimeOffset)
    first: int  # number
    last: int | None  # number; None: as many as there are
    duration: int  # of every segment; 0: not told
    period: Fraction | None  # seconds
    most: int  # segments

    @classmethod
    def of(cls, addressing: Addressing, place: Place, period: Fraction | None, most: int) -> Timing:
        """Raises `Malformed` for numbers that are none."""
        told = addressing.attributes
        return cls(
            place=place,
            timescale=place.number(told, "timescale", 1, least=1),
            offset=place.signed(told, "presentationTimeOffset"),
            first=place.number(told, "startNumber", 1),
            last=place.number(told, "endNumber") if "endNumber" in told else None,
            duration=place.number(told, "duration", 0),
            period=period,
            most=most,
        )

    def seconds(self, units: Fraction | int) -> float:
        """Of time in the timescale."""
        return float(Fraction(units) / self.timescale)

    # --- one duration ---

    def even(self, count: int | None = None) -> Iterator[Slot]:
        """Segments of the same duration; as many as the period holds, or `count`. The last ends
        with the period."""
        if not self.duration:
            yield from self._shared(count or 1)
            return
        total = self._total()
        if count is None:
            count = self._count(total)
        self.check(count)
        for index in range(count):
            time = index * self.duration
            left = Fraction(self.duration) if total is None else total - time
            duration = min(max(left, Fraction(0)), Fraction(self.duration))
            yield Slot(self.first + index, time, duration)

    def _fitting(self, span: Fraction, duration: int) -> int:
        """How many segments it takes to fill a span. One for the last fraction of a millisecond
        would be asked for, and is nowhere: it would cost the whole video."""
        return max(0, ceil((span - NO_FRAME_S * self.timescale) / duration))

    def _shared(self, count: int) -> Iterator[Slot]:
        """Nothing tells how long a segment is: the period is all there is."""
        self.check(count)
        total = self.period_units()
        for index in range(count):
            yield Slot(self.first + index, int(total * index / count), total / count)

    def _count(self, total: Fraction | None) -> int:
        capped = None if self.last is None else max(0, self.last - self.first + 1)
        if total is None:
            if capped is None:
                raise self._endless("segments of one duration")
            return capped
        count = self._fitting(total, self.duration)
        return count if capped is None else min(count, capped)

    def period_units(self) -> Fraction:
        """The period in the timescale. Raises `Malformed` where nobody tells."""
        total = self._total()
        if total is None:
            raise self._endless("what has no duration of its own")
        return total

    def _total(self) -> Fraction | None:
        return None if self.period is None else self.period * self.timescale

    # --- a timeline ---

    def by_timeline(self, timeline: Element) -> Iterator[Slot]:
        """Each S and its repetitions; numbers run on over holes in time."""
        elements = timeline.findall("S")
        number, time, made, before = self.first, 0, 0, None
        for index, element in enumerate(elements):
            after = elements[index + 1] if index + 1 < len(elements) else None
            start = self.place.number(element.attrib, "t", time)
            if before is not None:
                yield _paused(before, start)
            number = self.place.number(element.attrib, "n", number)
            duration = self.place.number(element.attrib, "d", least=1)
            count = self._repeated(element, start, duration, after)
            made += count
            self.check(made)
            slots = [
                Slot(number + k, start + k * duration, Fraction(duration)) for k in range(count)
            ]
            yield from slots[:-1]
            before = slots[-1] if slots else None
            number, time = number + count, start + count * duration
        if before is not None:
            yield before

    def _repeated(self, element: Element, start: int, duration: int, after: Element | None) -> int:
        """How many segments an S stands for. A negative r goes on until the next one, or the end of
        the period."""
        if "k" in element.attrib:
            raise self.place.malformed("bad_timeline", "segments in sequences (S@k) are not read")
        repeats = self.place.signed(element.attrib, "r")
        if repeats >= 0:
            return repeats + 1
        if after is None:
            end = self.offset + self.period_units()
        elif "t" in after.attrib:
            end = Fraction(self.place.number(after.attrib, "t"))
        else:
            words = "an S repeats until the next one, which does not tell its time"
            raise self.place.malformed("bad_timeline", words)
        return self._fitting(end - start, duration)

    def check(self, count: int) -> None:
        """Raise `TooLarge` for more segments than anybody should make of one manifest."""
        if count > self.most:
            words = f"more than {self.most:,} segments"
            raise self.place.refused(TooLarge, "manifest_too_large", words)

    def _endless(self, what: str) -> Malformed:
        words = f"{what}, in a period whose end nobody tells"
        return self.place.malformed("no_duration", words)


def _paused(before: Slot, start: int) -> Slot:
    """The slot before a hole in time, if there is one."""
    pause = start - before.time - before.duration
    return before if pause <= 0 else Slot(before.number, before.time, before.duration, pause)
