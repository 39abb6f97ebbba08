"""Tracks through all periods: which representation of the others goes on where one of the longest
period begins or ends, and the whole as one list of segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from core.errors import Unsupported
from core.manifests.codecs import families
from core.manifests.dash_reader import Addresses, Place
from core.manifests.dash_representations import Representation
from core.manifests.dash_runs import Played, joined_on
from core.manifests.dash_segments import Position, read_segments
from core.manifests.dash_xml import Document
from core.manifests.playlists import MediaPlaylist, Spans
from core.model.plan import Container, TrackKind

MAX_SEGMENTS = 100_000  # of a track

# Of what carries its parameters with it, so that a joined file can change its size on the way.
SIZE_MAY_CHANGE = frozenset(["avc", "hevc", "aac", "mp3", "ac3", "eac3"])

_NAMES = {TrackKind.VIDEO: "pictures", TrackKind.AUDIO: "sound", TrackKind.SUBTITLES: "subtitles"}


class Tracks:
    """What there is of each kind. The longest period tells what is offered: an advertisement in
    front must not decide for the film."""

    def __init__(self, document: Document, periods: Sequence[Sequence[Representation]]) -> None:
        self.document = document
        self._periods = [period for period in periods if period]
        if len(self._periods) < len(periods):
            document.note("periods with nothing in them are left out")
        if not self._periods:
            raise document.malformed("empty_manifest", "no representation in the whole manifest")
        lengths = list(map(_length, self._periods))
        self._lead = lengths.index(max(lengths))

    def offered(self, kind: TrackKind) -> list[Representation]:
        """Those of the longest period; without the protected, if any is in the clear, and without
        those that end with it, if any goes through all periods."""
        found = _of_kind(self._periods[self._lead], kind)
        clear = _clear(found)
        if len(clear) < len(found):
            names = ", ".join(dict.fromkeys(name for one in found for name in one.protection))
            words = f"{len(found) - len(clear)} of {len(found)} are protected by DRM ({names})"
            self.document.note(f"{_NAMES[kind]}: {words}")
        self._note_elsewhere(kind, found)
        return self._going_through(kind, clear)

    def _going_through(self, kind: TrackKind, found: list[Representation]) -> list[Representation]:
        """Those with which every period has something to go on, be it protected."""
        if kind is TrackKind.SUBTITLES:
            return found
        sorts = [{_Sort.of(one) for one in _of_kind(period, kind)} for period in self._periods]
        own = {one: _Sort.of(one) for one in found}
        whole = {
            sort
            for sort in set(own.values())
            if all(any(map(sort.goes_on_with, there)) for there in sorts)
        }
        through = [one for one in found if own[one] in whole]
        if through and len(through) < len(found):
            ending = len(found) - len(through)
            words = f"{ending} of {len(found)} have nothing to go on with in another period"
            self.document.note(f"{_NAMES[kind]}: {words}")
        return through or found

    def _note_elsewhere(self, kind: TrackKind, found: Sequence[Representation]) -> None:
        if not found and any(_of_kind(period, kind) for period in self._periods):
            self.document.note(f"{_NAMES[kind]} of shorter periods only are left out")

    def read(self, lead: Representation, spans: Spans) -> MediaPlaylist:
        """The track that `lead` is part of, from the first period to the last. Asks `spans` only
        for the index of a file of which periods show parts."""
        found = [self._part(number, lead) for number in range(len(self._periods))]
        chain = [(number, one) for number, one in enumerate(found) if one is not None]
        addresses = Addresses(Place(self.document, lead.place))
        played: list[Played] = []
        for number, one in chain:
            position = Position(
                period=number,
                most=MAX_SEGMENTS - sum(len(before.segments) for before in played),
                is_one_of_several=len(chain) > 1,
                begins_s=one.period.start - self._periods[0][0].period.start,
            )
            played.append(Played(one, read_segments(self.document, one, position, addresses)))
        return MediaPlaylist(
            url=self.document.url,
            segments=tuple(joined_on(self.document, played, spans, MAX_SEGMENTS)),
            ended=True,
            container=lead.container,
            notes=(*self.document.notes, *_notes(lead, found)),
        )

    def _part(self, number: int, lead: Representation) -> Representation | None:
        """What goes on with `lead` in another period; None where there is nothing and none is
        needed."""
        if number == self._lead:
            return lead
        period = self._periods[number]
        of_kind, sort = _of_kind(period, lead.kind), _Sort.of(lead)
        found = [one for one in _clear(of_kind) if sort.goes_on_with(_Sort.of(one))]
        if found:
            return max(found, key=lambda one: _likeness(one, lead))
        if lead.kind is TrackKind.SUBTITLES:
            return None
        what = _in_words(lead)
        other = f", only {_in_words(of_kind[0])}" if of_kind else ""
        words = f"{period[0].period.place} has no {what} like the longest period's{other}"
        raise self.document.refused(Unsupported, "periods_differ", words)


def _of_kind(period: Sequence[Representation], kind: TrackKind) -> list[Representation]:
    return [one for one in period if one.kind is kind]


def _clear(found: list[Representation]) -> list[Representation]:
    """Without the protected, if any is in the clear; else all, to be refused by name."""
    return [one for one in found if not one.protection] or found


class _Sort(NamedTuple):
    """What decides whether one file can hold two representations, one after the other."""

    kind: TrackKind
    container: Container | None
    has_sound: bool
    language: str | None  # of a text: it goes on in its own, or not at all
    families: frozenset[str]  # empty: not told, so they may be alike
    size: tuple[int | None, int | None] | None  # None: it may change on the way

    @classmethod
    def of(cls, one: Representation) -> Self:
        found = families(one.codecs)
        return cls(
            kind=one.kind,
            container=one.container,
            has_sound=one.has_sound,
            language=one.language if one.kind is TrackKind.SUBTITLES else None,
            families=found,
            size=None if found <= SIZE_MAY_CHANGE else (one.width, one.height),
        )

    def goes_on_with(self, other: _Sort) -> bool:
        """Whether it does."""
        if self[:4] != other[:4]:
            return False
        if not self.families or not other.families:
            return True
        return self[4:] == other[4:]


def _is_of_size(one: Representation, lead: Representation) -> bool:
    return (one.width, one.height) == (lead.width, lead.height)


def _in_words(one: Representation) -> str:
    """`pictures (hevc, 1280x720)`."""
    size = f"{one.width}x{one.height}" if one.height else ""
    told = ", ".join(filter(None, ["+".join(sorted(families(one.codecs))), size]))
    return f"{_NAMES[one.kind]} ({told})" if told else _NAMES[one.kind]


def _length(period: Sequence[Representation]) -> float:
    return float(period[0].period.duration or 0)


def _likeness(one: Representation, lead: Representation) -> tuple[float, ...]:
    """First what one file can hold, then what a viewer would notice, then what the source calls the
    same. `max` leaves the first of equals."""
    return (
        families(one.codecs) == families(lead.codecs),
        one.language == lead.language,
        _is_of_size(one, lead),
        one.set_id is not None and one.set_id == lead.set_id,
        one.id == lead.id,
        -abs((one.height or 0) - (lead.height or 0)),
        -abs(one.bandwidth - lead.bandwidth),
    )


def _notes(lead: Representation, found: Sequence[Representation | None]) -> Iterator[str]:
    if len(found) > 1:
        yield f"{len(found):,} periods are joined one after the other"
    for one in filter(None, found):
        if lead.kind is TrackKind.AUDIO and one.language != lead.language:
            yield f"{one.period.place}: its sound is in another language: {one.language or '?'}"
    if without := found.count(None):
        language = lead.language or "of no language told"
        yield f"subtitles ({language}): {without:,} of {len(found):,} periods have none"
