"""What a source shows in the place of a picture that it removed: told by its address, or by its
bytes, which then stand under one post after the other. It is reported and not filed as media."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from core.errors import NotMedia, Refused
from core.model.addresses import strike
from core.model.task import ImagePayload
from core.settings import SourceSettings
from core.sources import KnowsPlaceholders, NoticesRepeats, adapter
from core.store.repeats import Repeats

PLACEHOLDER = "placeholder"
SUSPECTED = "placeholder_suspected"


@dataclass(frozen=True, slots=True)
class Placeholders:
    """Of one source."""

    source: str
    adapter: KnowsPlaceholders | None = None
    patterns: tuple[str, ...] = ()  # of addresses; * is anything
    repeats: int = 0  # the same bytes under so many posts are a stand-in; 0: never

    def check_address(self, url: str) -> None:
        """Raises `NotMedia` where a placeholder lies at `url`."""
        shown = strike(url)
        if self._matches(shown) or (
            self.adapter is not None and self.adapter.is_placeholder(shown)
        ):
            raise NotMedia(
                f"{shown}: what {self.source} shows in the place of a picture that it removed",
                reason=PLACEHOLDER,
            )

    def check_bytes(self, repeats: Repeats, payload: ImagePayload, sha256: str) -> None:
        """Raises `Refused` where the same bytes stand under too many posts already."""
        if not self.repeats:
            return
        posts = repeats.posts(sha256, source=self.source, media=payload.media, post=payload.post)
        if posts >= self.repeats:
            raise Refused(
                f"{strike(payload.url)}: these bytes (SHA-256 {sha256}) were filed for {posts} "
                f"posts of {self.source} that share nothing else: they seem to stand for what was "
                f"removed; sources.{self.source}.repeats = 0 files them all the same",
                reason=SUSPECTED,
            )

    def note(self, repeats: Repeats, payload: ImagePayload, sha256: str) -> None:
        """Remember what is being filed, where anybody asks for it."""
        if self.repeats:
            repeats.note(sha256, source=self.source, media=payload.media, post=payload.post)

    def _matches(self, url: str) -> bool:
        bare = url.partition("?")[0]
        return any(fnmatchcase(one, pattern) for pattern in self.patterns for one in (url, bare))


def placeholders_of(source: str, settings: SourceSettings) -> Placeholders:
    """A source's, by its settings and its adapter."""
    chosen = adapter(settings.adapter)
    return Placeholders(
        source,
        chosen if isinstance(chosen, KnowsPlaceholders) else None,
        settings.placeholders,
        repeats_of(settings),
    )


def repeats_of(settings: SourceSettings) -> int:
    """From how many posts on the same bytes are a stand-in; 0: never."""
    if settings.repeats is not None:
        return settings.repeats
    chosen = adapter(settings.adapter)
    return chosen.repeats if isinstance(chosen, NoticesRepeats) else 0
