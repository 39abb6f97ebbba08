"""Tracks through all periods: which representation of the others goes on where one of the longest
period begins or ends, and the whole as one list of segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.errors import Unsupported
from core.manifests.codecs import families
from core.manifests.dash_addressing import addressing_of, base_urls
from core.manifests.dash_reader import Addresses, Place
from core.manifests.dash_representations import Representation
from core.manifests.dash_segments import Position, read_segments
from core.manifests.dash_xml import Document
from core.manifests.playlists import MediaPlaylist, MediaSegment
from core.model.plan import TrackKind

MAX_SEGMENTS = 100_000  # of a track

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
        """Those of the longest period; without the protected, if any is in the clear."""
        found = _of_kind(self._periods[self._lead], kind)
        clear = _clear(found)
        if len(clear) < len(found):
            names = ", ".join(dict.fromkeys(name for one in found for name in one.protection))
            words = f"{len(found) - len(clear)} of {len(found)} are protected by DRM ({names})"
            self.document.note(f"{_NAMES[kind]}: {words}")
        self._note_elsewhere(kind, found)
        return clear

    def _note_elsewhere(self, kind: TrackKind, found: Sequence[Representation]) -> None:
        if not found and any(_of_kind(period, kind) for period in self._periods):
            self.document.note(f"{_NAMES[kind]} of shorter periods only are left out")

    def read(self, lead: Representation) -> MediaPlaylist:
        """The track that `lead` is part of, from the first period to the last."""
        chain = [self._part(number, lead) for number in range(len(self._periods))]
        self._refuse_shared_file(chain)
        addresses = Addresses(Place(self.document, lead.place))
        segments: list[MediaSegment] = []
        for number, one in enumerate(chain):
            position = Position(
                period=number,
                first=len(segments),
                most=MAX_SEGMENTS - len(segments),
                is_one_of_several=len(chain) > 1,
            )
            segments += read_segments(self.document, one, position, addresses)
        return MediaPlaylist(
            url=self.document.url,
            segments=tuple(segments),
            ended=True,
            container=lead.container,
            notes=(*self.document.notes, *_notes(lead, chain)),
        )

    def _part(self, number: int, lead: Representation) -> Representation:
        """What goes on with `lead` in another period."""
        if number == self._lead:
            return lead
        period = self._periods[number]
        found = [
            one
            for one in _clear(_of_kind(period, lead.kind))
            if one.has_sound == lead.has_sound and one.container is lead.container
        ]
        if not found:
            words = f"{period[0].period.place} has no {_NAMES[lead.kind]} like the longest period's"
            raise self.document.refused(Unsupported, "periods_differ", words)
        return max(found, key=lambda one: _likeness(one, lead))

    def _refuse_shared_file(self, chain: Sequence[Representation]) -> None:
        """One file cut into several periods would be played once for each."""
        if len(chain) == 1:
            return
        files = [one for one in chain if _is_whole_file(one)]
        addresses = Addresses(Place(self.document, chain[0].place))
        urls = [base_urls(self.document.url, one.levels, addresses)[0] for one in files]
        if len(set(urls)) < len(urls):
            words = "one file is cut into several periods, which is not read"
            raise self.document.refused(Unsupported, "shared_file", words)


def _of_kind(period: Sequence[Representation], kind: TrackKind) -> list[Representation]:
    return [one for one in period if one.kind is kind]


def _clear(found: list[Representation]) -> list[Representation]:
    """Without the protected, if any is in the clear; else all, to be refused by name."""
    return [one for one in found if not one.protection] or found


def _is_whole_file(one: Representation) -> bool:
    addressing = addressing_of(one.levels)
    return addressing is None or addressing.scheme == "SegmentBase"


def _length(period: Sequence[Representation]) -> float:
    return float(period[0].period.duration or 0)


def _likeness(one: Representation, lead: Representation) -> tuple[float, ...]:
    """First what one file can hold, then what a viewer would notice, then what the source calls the
    same. `max` leaves the first of equals."""
    return (
        families(one.codecs) == families(lead.codecs),
        one.language == lead.language,
        (one.width, one.height) == (lead.width, lead.height),
        one.set_id is not None and one.set_id == lead.set_id,
        one.id == lead.id,
        -abs((one.height or 0) - (lead.height or 0)),
        -abs(one.bandwidth - lead.bandwidth),
    )


def _notes(lead: Representation, chain: Sequence[Representation]) -> Iterator[str]:
    if len(chain) > 1:
        yield f"{len(chain):,} periods are joined one after the other"
    for one in chain:
        if lead.kind is TrackKind.AUDIO and one.language != lead.language:
            yield f"{one.period.place}: its sound is in another language: {one.language or '?'}"
