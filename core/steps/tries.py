"""Which renditions of a media one run has tried, what became of them, and so why it got the one
that it got."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from core.errors import HeadraceError
from core.model.addresses import strike
from core.model.partial import Validators
from core.model.post import Rendition
from core.model.task import ImagePayload
from core.steps.expiry import is_like, told


@dataclass(slots=True)
class Tries:
    """Of one run."""

    payload: ImagePayload
    best: Rendition
    now: Rendition  # the one that is asked for
    is_best: bool = True  # whether that is the one that the task is for, at whatever address
    _was_renewed: bool = False
    _begun_before: bool = False  # an earlier run had passed by the best
    _refusals: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, payload: ImagePayload) -> Tries:
        """Before the first."""
        best = payload.rendition or Rendition(url=payload.url)
        return cls(payload, best, best)

    @contextmanager
    def trying(self, rendition: Rendition) -> Iterator[None]:
        """While it is asked for."""
        self.now, self.is_best = rendition, self._is_best(rendition)
        try:
            yield
        except HeadraceError as error:
            self._refusals.append(f"{_called(rendition)}: {told(error)}")
            raise

    def beginning_with(self, held: Validators | None) -> tuple[Rendition, ...]:
        """All of them, the most wanted first; unless an earlier run has some bytes of another,
        since those that it asked for before were refused."""
        others = self.payload.alternatives
        begun = [one for one in others if held is not None and held.url == self._identity(one)]
        self._begun_before = bool(begun)
        return (*begun, self.best, *(one for one in others if one not in begun))

    def _is_best(self, rendition: Rendition) -> bool:
        """By its size, where that is told; else the first that the source names anew stands for
        it."""
        if rendition == self.best or rendition in self.payload.alternatives:
            return rendition == self.best
        is_first, self._was_renewed = not self._was_renewed, True
        if self.best.width or self.best.height:
            return is_like(rendition, self.best)
        return is_first

    @property
    def identity(self) -> str:
        """Whose bytes a partial holds, whichever address they have today."""
        return self.payload.media if self.is_best else self._identity(self.now)

    def _identity(self, rendition: Rendition) -> str:
        return f"{self.payload.media} {urlsplit(rendition.url).path}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Which was got and why not the best; nothing where it was."""
        if self.is_best:
            return ()
        why = "; ".join(self._refusals)
        if not why:
            why = "an earlier run was refused it" if self._begun_before else "it is offered no more"
        return (f"got {_called(self.now)} instead of {_called(self.best)} ({why})",)


def _called(rendition: Rendition) -> str:
    """A rendition for people: its size, its name, else where it lies."""
    size = f"{rendition.width}x{rendition.height}" if rendition.width and rendition.height else None
    lines = f"{rendition.height} lines" if rendition.height else None
    words = " ".join(filter(None, (rendition.quality, size or lines)))
    shown = strike(rendition.url)
    return f"{words} at {shown}" if words else shown
