"""Addresses that die: known by their own mark before a token is spent on one, or by the refusal
that it meets; asked for anew through the source, once a run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from core.clock import Clock, SystemClock
from core.errors import Forbidden, Gone, HeadraceError, NotMedia
from core.fetch.fetcher import Visit
from core.model.addresses import strike
from core.model.post import Rendition
from core.sources.adapter import Renews
from core.steps.asking import asking
from core.steps.elsewhere import from_first

logger = logging.getLogger(__name__)

GONE_AT_SOURCE = "gone_at_source"  # the reason of a media that its source has no more
MARGIN_S = 5.0  # an address that dies so soon would die on its way
Got = TypeVar("Got")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a media lay when it was found."""

    url: str
    ref: str | None  # with which its source's adapter asks for it once more
    rendition: Rendition | None = None  # what was told of it

    def is_like(self, other: Rendition) -> bool:
        """Whether it is the same rendition, as far as its size tells."""
        mine = self.rendition
        return mine is not None and (mine.width, mine.height) == (other.width, other.height)


@dataclass(frozen=True, slots=True)
class Renewal:
    """Of one source's addresses; `adapter` is None where they do not die."""

    adapter: Renews | None
    clock: Clock

    def get(
        self,
        visit: Visit,
        was: Address,
        fetch: Callable[[str], Got],
    ) -> Got:
        """What `fetch` makes of the address, or of the one that takes its place."""
        if self.adapter is None or was.ref is None:
            return fetch(was.url)
        if self.is_dead(was.url):
            return from_first(self._renewed(visit, was, "its time is over"), fetch)
        try:
            return fetch(was.url)
        except (Forbidden, Gone, NotMedia) as refusal:  # the last: refused in a 200's clothes
            today = self._renewed(visit, was, f"refused ({_told(refusal)})")
            if today[0] == was.url:
                raise
            return from_first(today, fetch)

    def is_dead(self, url: str) -> bool:
        """Whether its own mark says so."""
        ends_at = self.adapter.expires_at(url) if self.adapter is not None else None
        return ends_at is not None and ends_at <= self.clock.now() + MARGIN_S

    def _renewed(self, visit: Visit, was: Address, why: str) -> tuple[str, ...]:
        assert self.adapter is not None  # noqa: S101 - `get` has looked
        assert was.ref is not None  # noqa: S101 - as above
        url = was.url
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
        chosen = next((one for one in renditions if was.is_like(one)), renditions[0])
        return chosen.url, *chosen.backups


def _told(refusal: HeadraceError) -> str:
    return f"status {refusal.http_status}" if refusal.http_status else refusal.reason


def no_renewal(_source: str) -> Renewal:
    """For sources whose addresses do not die."""
    return Renewal(None, SystemClock())
