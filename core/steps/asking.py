"""A visit as adapters ask through it: each request within the task's budget and deadline."""

from __future__ import annotations

from core.clock import Clock
from core.fetch.fetcher import PageBody, Visit
from core.model.request import Request
from core.sources.adapter import Ask, PageInput


def asking(visit: Visit, clock: Clock) -> Ask:
    """The way for an adapter to ask for what a page leaves out, or for new addresses."""

    def ask(request: Request) -> PageInput:
        return page_input(visit.page(request), clock)

    return ask


def page_input(
    body: PageBody, clock: Clock, *, cursor: str | None = None, feed: str = ""
) -> PageInput:
    """A fetched page as an adapter reads it."""
    return PageInput(
        body.stream,
        body.url,
        body.content_type,
        cursor,
        status=body.status,
        headers=body.headers,
        read_at=clock.now(),
        feed=feed,
    )
