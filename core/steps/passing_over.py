"""A page that can't be had, of a feed that is a tree: the walk goes on without it."""

from __future__ import annotations

import logging

from core.errors import HeadraceError, Permanent
from core.model.addresses import strike
from core.model.post import FeedPage
from core.model.task import DiscoverPayload, Task
from core.sources import PassesOver, adapter

logger = logging.getLogger(__name__)


def passed_over(task: Task, payload: DiscoverPayload, error: HeadraceError) -> FeedPage:
    """What the walk of a tree goes on with in place of one of its pages that can't be had. Raises
    `error` where another attempt may get it, and where the walk can't do without it."""
    chosen, page = adapter(payload.adapter), None
    is_last = task.attempts + 1 >= task.max_attempts
    if isinstance(chosen, PassesOver) and (isinstance(error, Permanent) or is_last):
        page = chosen.passed_over(payload.cursor, error)
    if page is None:
        raise error
    logger.warning("%s: a page of it is passed over: %s", strike(payload.address), error)
    return page
