"""The part of `headrace probe` that reads feeds: which adapter would read an address, and the first
records that it gives. Media are never asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.cli.probe_words import FeedFound
from core.clock import Clock
from core.fetch.fetcher import PageBody, Visit
from core.model.addresses import without_parameters
from core.model.post import FeedPage
from core.settings import DEFAULT_SOURCE, Settings, SourceSettings
from core.sources import ADAPTERS, Adapter, Completes, PageInput, Signs, adapter, recogniser
from core.sources.feed import told_apart
from core.steps.asking import asking, page_input
from core.steps.trigger import find_feed

PAGES = 4  # how many are read until one has posts: an index has none

BY_SETTINGS, BY_ADDRESS, BY_BYTES = "settings", "address", "bytes"


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked, on whose terms, and by what its adapter was chosen."""

    address: str
    source: str
    settings: SourceSettings  # of that source
    adapter: Adapter
    told_by: str

    @property
    def needs(self) -> str | None:
        """What its source wants and the settings do not have."""
        has = self.settings.token or self.settings.cookie or self.settings.secret_headers
        return self.adapter.needs if isinstance(self.adapter, Signs) and not has else None


def target_of(given: Settings, named: str, source: str | None) -> Target:
    """An address, or the feed of the settings that is named so; `source` is the one whose terms a
    person wants. Raises `Misconfigured`."""
    if source is not None:
        terms = given.source(source)
        kept = without_parameters(named, tuple(terms.secret_query))
        return _by(given, kept, source)
    configured = {feed.address for feed in given.feeds.values()}
    recognised = None if named in given.feeds or named in configured else recogniser(named)
    if recognised is not None:  # crawled it would be refused: nobody has said on which terms
        return _as(given, named, recognised)
    record = find_feed(given, named).record
    return _by(given, record.address, record.source)


def _by(given: Settings, address: str, source: str) -> Target:
    settings = given.source(source)
    told_by = BY_BYTES if adapter(settings.adapter) is ADAPTERS["feed"] else BY_SETTINGS
    return Target(address, source, settings, adapter(settings.adapter), told_by)


def _as(given: Settings, address: str, recognised: Adapter) -> Target:
    """On the terms of a source of the settings that is of this kind, for what it may need; else on
    those of any address."""
    for name, settings in given.sources.items():
        if settings.adapter == recognised.name:
            return Target(address, name, settings, recognised, BY_ADDRESS)
    settings = given.source(DEFAULT_SOURCE).model_copy(update={"adapter": recognised.name})
    return Target(address, DEFAULT_SOURCE, settings, recognised, BY_ADDRESS)


def read_feed(visit: Visit, target: Target, body: PageBody, clock: Clock) -> FeedFound:
    """The feed whose first page this is, up to its first posts. Raises what a page means."""
    given = page_input(body, clock, feed=target.address)
    reader = told_apart(given) if target.adapter is ADAPTERS["feed"] else target.adapter
    page, number = reader.parse(given), 1
    skipped = page.skipped
    while not page.posts and page.cursor and number < PAGES:
        given = _next(visit, target, reader, replace(given, cursor=page.cursor), clock)
        page, number = reader.parse(given), number + 1
        skipped += page.skipped
    if isinstance(reader, Completes):
        page = reader.complete(page, asking(visit, clock))
    return _found(target, body, reader, page.model_copy(update={"skipped": skipped}), number)


def _next(
    visit: Visit, target: Target, reader: Adapter, before: PageInput, clock: Clock
) -> PageInput:
    """The page that the cursor of `before` leads to; read on in the same body where it says so."""
    request = reader.request(target.address, before.cursor)
    if request is None:
        before.stream.seek(0)
        return before
    body = visit.page(request)
    return page_input(body, clock, cursor=before.cursor, feed=target.address)


def _found(
    target: Target, body: PageBody, reader: Adapter, page: FeedPage, pages: int
) -> FeedFound:
    return FeedFound(
        target.address,
        body.url,
        reader.name,
        page,
        told_by=target.told_by,
        source=target.source,
        pages=pages,
        needs=target.needs,
    )
