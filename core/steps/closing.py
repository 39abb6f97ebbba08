"""How a page that is a walk's last closes it. Pure but for the warning."""

from __future__ import annotations

import logging

from core.model.addresses import strike
from core.model.task import DiscoverPayload
from core.model.walk import WalkEnd, WalkPage, WalkState
from core.steps.page import CURSOR_REPEATS, MOST_EMPTY_PAGES, NO_POSTS, ending_of

logger = logging.getLogger(__name__)

# What lies behind such an end was never seen. Were it complete, the next walk would stop at the
# first posts that it knows, and nobody would ever ask for the older ones.
_BREAKS = {
    CURSOR_REPEATS: "the next page's address repeats an earlier one",
    NO_POSTS: f"{MOST_EMPTY_PAGES:,} pages in a row had no post, and named one more",
}


def closing(page: WalkPage, payload: DiscoverPayload, *, now: float) -> WalkEnd | None:
    """The end of a walk whose last page this is; None where another page follows."""
    reason = ending_of(page, payload)
    if reason is None:
        return None
    fault = _BREAKS.get(reason)
    if fault is not None:
        feed = strike(payload.address)
        logger.warning("feed %s, page %d: %s; the walk ends", feed, page.page, fault)
    return WalkEnd(
        walk=payload.walk,
        feed=payload.feed,
        state=WalkState.BROKEN if fault else WalkState.COMPLETE,
        reason=reason,
        message=f"page {page.page}: {fault}" if fault else "",
        pages=payload.page,
        closed_at=now,
    )
