"""Addresses that die: known by their own mark before a token is spent on one, or by the refusal
that it meets; asked for anew through the source, once a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.clock import Clock, SystemClock
from core.errors import Gone, HeadraceError, Permanent
from core.fetch.fetcher import Visit
from core.model.addresses import strike
from core.model.post import Rendition
from core.sources.adapter import Renews
from core.steps.asking import asking
from core.steps.elsewhere import MOST_ALTERNATIVES, best_served, is_refusal

logger = logging.getLogger(__name__)

GONE_AT_SOURCE = "gone_at_source"  # the reason of a media that its source has no more
MARGIN_S = 5.0  # an address that dies so soon would die on its way
Got = TypeVar("Got")


@dataclass(frozen=True, slots=True)
class Offered:
    """A media as it was found: in one rendition or several, the most wanted first."""

    renditions: tuple[Rendition, ...]
    ref: str | None  # with which its source's adapter asks for it once more


@dataclass(frozen=True, slots=True)
class Renewal:
    """Of one source's addresses; `adapter` is None where they do not die."""

    adapter: Renews | None
    clock: Clock

    def get(self, visit: Visit, was: Offered, fetch: Callable[[Rendition], Got]) -> Got:
        """What `fetch` makes of the most wanted rendition that the source serves, be it at another
        address by now."""
        best = was.renditions[0]
        if self.adapter is None or was.ref is None:
            return best_served(was.renditions, fetch)
        if self.is_dead(best.url):
            return self._get_anew(visit, was, fetch, "its time is over")
        try:
            return fetch(best)
        except Permanent as refusal:
            if not is_refusal(refusal):
                raise
            return self._get_anew(visit, was, fetch, f"refused ({told(refusal)})", refusal)

    def _get_anew(
        self,
        visit: Visit,
        was: Offered,
        fetch: Callable[[Rendition], Got],
        why: str,
        refusal: Permanent | None = None,  # None: the best was not asked for
    ) -> Got:
        """What is got where the source says that it lies today; where it says that it is gone, what
        is left of it."""
        best, *others = was.renditions
        try:
            today = self._renewed(visit, was, why)
        except Gone as gone:
            return self._rest(others, fetch, gone)
        if refusal is None or today[0].url != best.url:
            return best_served(today, fetch)
        return self._rest(today[1:] or others, fetch, refusal)

    def _rest(
        self, others: Sequence[Rendition], fetch: Callable[[Rendition], Got], refusal: Permanent
    ) -> Got:
        """What is got of less wanted ones; where nothing is, `refusal` counts."""
        alive = [one for one in others if not self.is_dead(one.url)]
        if not alive:
            raise refusal
        try:
            return best_served(alive[:MOST_ALTERNATIVES], fetch)
        except Permanent as another:
            if not is_refusal(another):
                raise
            raise refusal from None

    def is_dead(self, url: str) -> bool:
        """Whether its own mark says so."""
        ends_at = self.adapter.expires_at(url) if self.adapter is not None else None
        return ends_at is not None and ends_at <= self.clock.now() + MARGIN_S

    def _renewed(self, visit: Visit, was: Offered, why: str) -> list[Rendition]:
        assert self.adapter is not None  # noqa: S101 - `get` has looked
        assert was.ref is not None  # noqa: S101 - as above
        url = was.renditions[0].url
        try:
            renditions = self.adapter.renew(was.ref, asking(visit, self.clock))
        except Gone as gone:
            if gone.reason != Gone.reason:  # the adapter knows better what kind of gone it is
                raise
            raise Gone(
                f"{strike(url)}: {why}, and the source has it no more: {gone}",
                reason=GONE_AT_SOURCE,
                http_status=gone.http_status,
            ) from gone
        if not renditions:
            raise Gone(
                f"{strike(url)}: {why}, and the source names no other address for it",
                reason=GONE_AT_SOURCE,
            )
        logger.info("%s: %s; the source names it anew", strike(url), why)
        first, *others = sorted(renditions, key=lambda one: _place(one, was.renditions))
        bare = (one.model_copy(update={"backups": ()}) for one in others[:MOST_ALTERNATIVES])
        return [first, *bare]


def is_like(one: Rendition, other: Rendition) -> bool:
    """Whether they are the same rendition, as far as its size tells."""
    return (one.width, one.height) == (other.width, other.height)


def _place(one: Rendition, wanted: Sequence[Rendition]) -> int:
    """How much it is wanted, by what it is like."""
    return next((n for n, found in enumerate(wanted) if is_like(one, found)), len(wanted))


def told(refusal: HeadraceError) -> str:
    """A refusal in short."""
    return f"status {refusal.http_status}" if refusal.http_status else refusal.reason


def no_renewal(_source: str) -> Renewal:
    """For sources whose addresses do not die."""
    return Renewal(None, SystemClock())
