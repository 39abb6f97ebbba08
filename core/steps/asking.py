"""A visit as adapters ask through it: each request within the task's budget and deadline."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.clock import Clock
from core.errors import HeadraceError, Misconfigured, Released, StorageDown, Unsupported
from core.fetch.fetcher import PageBody, Visit
from core.model.addresses import strike
from core.model.request import Request
from core.sources.adapter import Adapter, Ask, PageInput
from core.steps.looks import Answers
from core.store.looks import PageLooks

logger = logging.getLogger(__name__)


def asking(visit: Visit, clock: Clock) -> Ask:
    """The way for an adapter to ask for what a page leaves out, or for new addresses."""

    def ask(request: Request) -> PageInput:
        return page_input(visit.page(request), clock)

    return ask


@contextmanager
def going_on(
    visit: Visit, clock: Clock, kept: PageLooks, progress: Callable[[int], None]
) -> Iterator[Ask]:
    """The same where many answers are needed: a run that ends before it has them all leaves those
    that it has to the next, which asks for the others. So does one that has taken too long, with
    `Released`; each gets one answer at least. `progress` hears of every new one's size."""
    answers = Answers(kept.read(), visit, clock)

    def ask(request: Request) -> PageInput:
        answers.accept_last()
        known = answers.recall(request)
        if known is not None:
            return known
        if answers.are_new and visit.is_over_due:
            raise Released(
                f"{strike(request.url)}: what its page leaves out takes longer than a step may; "
                "the next run goes on from here"
            )
        try:
            given = page_input(visit.page(request), clock)
        except HeadraceError as error:
            answers.refused(request, error)
            raise
        progress(answers.came(request, given))
        return given

    try:
        yield ask
    except BaseException:
        if answers.are_new:
            _keep(kept, answers)
        raise
    if answers.were_there:
        kept.remove()


def _keep(kept: PageLooks, answers: Answers) -> None:
    """What ended the run counts for more than what could not be kept of it."""
    try:
        kept.keep(answers.kept())
    except StorageDown as error:
        logger.warning("a page's answers were not kept, and are asked for anew: %s", error)


def page_request(chosen: Adapter, address: str, cursor: str | None) -> Request | None:
    """How a feed's page is asked for. An address that its adapter refuses ends the walk, with its
    words: waiting mends nothing that is written in a task. Raises a `Permanent`."""
    try:
        return chosen.request(address, cursor)
    except Misconfigured as error:
        raise Unsupported(str(error), reason=error.reason) from error


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
