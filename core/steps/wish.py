"""In which order a media's renditions are wanted: by what the settings say, else as its source has
them, best first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.manifests import PREFERRED_CODECS, picture_rank, quality_rank
from core.model.post import MediaKind, Rendition
from core.model.source import SourceTerms


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants of a media that is offered in several plain files."""

    max_height: int | None = None  # pixels, of a video
    quality: tuple[str, ...] = ()  # names, the most wanted first
    codecs: tuple[str, ...] = PREFERRED_CODECS  # families, the most wanted first

    def ranked(self, renditions: Sequence[Rendition], kind: MediaKind) -> list[Rendition]:
        """The most wanted first. A video that is nowhere small enough is got as small as there is;
        one that tells no height may be. Of one size, the wanted codecs."""
        if kind is not MediaKind.VIDEO:
            return sorted(renditions, key=self._quality)
        sizes = [(one.width, one.height, one.manifest) for one in renditions]
        places = {size: place for place, size in reversed([*enumerate(sizes)])}

        def worth(numbered: tuple[int, Rendition]) -> tuple[int, ...]:
            place, one = numbered
            # Renditions that tell no size may be of any: they stay where their source has them.
            size = places[one.width, one.height, one.manifest] if one.height is not None else place
            codecs = -picture_rank(one.codecs, self.codecs)
            return self._excess(one), self._quality(one), size, codecs, place

        return [one for _, one in sorted(enumerate(renditions), key=worth)]

    def _quality(self, one: Rendition) -> int:
        return -quality_rank(one.quality, (one.width, one.height), self.quality)

    def _excess(self, one: Rendition) -> int:
        """0 for what is small enough, else its height."""
        height = one.height or 0
        return height if self.max_height is not None and height > self.max_height else 0


def wish_of(terms: SourceTerms) -> Wish:
    """A source's."""
    return Wish(terms.max_height, terms.quality, terms.codecs or PREFERRED_CODECS)
