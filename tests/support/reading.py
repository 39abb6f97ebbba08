"""A world in which feeds are read: a real store, pages by address, tasks run one after another."""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import Gone
from core.fetch.page import PageBody
from core.ledger.memory import MemoryLedger
from core.model.end import EndState, MediaEnd
from core.model.request import Asked, Request
from core.model.source import SourceTerms
from core.model.task import DiscoverPayload, ImagePayload, Task
from core.model.walk import FeedRecord
from core.ports import Copy
from core.settings import Settings
from core.steps.actions import Publish
from core.steps.discover import DiscoverStep
from core.steps.ends import write_end
from core.steps.reopened import Reopened
from core.steps.trigger import find_feed, trigger
from tests.support.clock import FakeClock
from tests.support.store import got, open_store
from tests.support.tasks import a_run

ADDRESS = "https://feeds.example/feed.json"


class Killed(BaseException):
    """The worker died here."""


class Visit:
    def __init__(self, site: dict[str, bytes], asked: list[str]) -> None:
        self._site, self._asked = site, asked
        self.token_wait_s = 0.0
        self.asked = Asked("feeds.example", "feed", 0)

    def page(self, request: Request, **_told: object) -> PageBody:
        self._asked.append(request.url)
        if request.url not in self._site:
            raise Gone(f"{request.url}: 404", http_status=404)
        return PageBody(io.BytesIO(self._site[request.url]), request.url, None, 200, {})


class Reading:
    """Feeds at addresses, one store, and a worker that runs one task at a time."""

    def __init__(self, root: Path, *, high_water: int = 1000, terms: SourceTerms | None = None):
        self.clock = FakeClock()
        self.store = open_store(root, clock=self.clock)
        self.site: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.open_tasks = 0
        self.stop_after_known = 1
        self.rests: list[float] = []
        self.queue: deque[Task] = deque()
        self.settings = Settings()
        self.ledger = MemoryLedger(self.clock)
        self._terms = terms or SourceTerms("feed", 10.0, 20)
        self.step = DiscoverStep(
            store=self.store,
            fetcher=self,
            terms=lambda _source: self._terms,
            depth=lambda _source: self.open_tasks,
            high_water=high_water,
            low_water=high_water // 2,
            max_attempts=5,
            clock=self.clock,
            stop_after_known=lambda _source: self.stop_after_known,
            slow_down=lambda _asked, seconds: self.rests.append(seconds),
            reopened=Reopened(self.store, self.ledger),
        )

    @contextmanager
    def visit(self, _terms: SourceTerms, **_told: object) -> Iterator[Visit]:
        yield Visit(self.site, self.asked)

    # --- what feeds hold ---

    def serve(self, keys: list[str], *, address: str = ADDRESS, following: str | None = None):
        """A JSON Feed page with one picture an item."""
        page = {
            "version": "https://jsonfeed.org/version/1.1",
            "title": "Mill pond",
            "items": [
                {
                    "id": key,
                    "attachments": [
                        {"url": f"https://pictures.example/{key}.jpg", "mime_type": "image/jpeg"}
                    ],
                }
                for key in keys
            ],
        }
        if following:
            page["next_url"] = following
        self.site[address] = json.dumps(page).encode()

    def serve_pages(self, pages: list[list[str]]) -> None:
        """A feed of several pages."""
        for number, keys in enumerate(pages, 1):
            address = ADDRESS if number == 1 else f"{ADDRESS}?page={number}"
            following = f"{ADDRESS}?page={number + 1}" if number < len(pages) else None
            self.serve(keys, address=address, following=following)

    # --- what a worker does ---

    def trigger(self, named: str = ADDRESS) -> Task:
        self.clock.advance(1.0)
        task = trigger(self.store, find_feed(self.settings, named), self.clock, max_attempts=5)
        self.queue.append(task)
        return task

    def perform(self, task: Task, *, actions: int | None = None) -> None:
        """One run; with `actions`, the worker dies before the one of that number."""
        for number, action in enumerate(self.step(a_run(task))):
            if number == actions:
                raise Killed
            if isinstance(action, Publish):
                self.queue.extend(copy.task for copy in action.copies)
            else:
                write_end(self.store, action)

    def work(self, *, tasks: int = 10_000) -> None:
        """Run what lies in the queue, images too, until it is empty or so many were run."""
        while self.queue and tasks:
            tasks -= 1
            task = self.queue.popleft()
            if isinstance(task.payload, ImagePayload):
                self.store.media.end(ending(task))
            else:
                self.perform(task)

    def crawl(self, named: str = ADDRESS) -> list[str]:
        """Trigger and work to the end; the requests that it cost."""
        before = len(self.asked)
        self.trigger(named)
        self.work()
        return self.asked[before:]

    # --- what is there afterwards ---

    def feed(self) -> FeedRecord:
        return next(iter(self.store.feeds.all()))

    def got(self) -> set[str]:
        """The keys of the pictures that were got."""
        return {
            end.url.removeprefix("https://pictures.example/").removesuffix(".jpg")
            for end in self.store.media.all()
            if end.state is EndState.GOT
        }

    def endings(self) -> list[str]:
        """Why each walk ended, oldest first; "open" for one that did not."""
        feed = self.feed().feed
        ends = [self.store.walks.end_of(feed, walk.walk) for walk in self.store.walks.all(feed)]
        return [end.reason if end else "open" for end in ends]


def ending(task: Task) -> MediaEnd:
    payload = task.payload
    assert isinstance(payload, ImagePayload)
    return got(media=payload.media, url=payload.url, generation=task.generation)


def copies_of(step: DiscoverStep, task: Task) -> list[Copy]:
    """What one run publishes, without performing anything."""
    return [
        copy
        for action in step(a_run(task))
        if isinstance(action, Publish)
        for copy in action.copies
    ]


def publish_of(reading: Reading, task: Task) -> list[Copy]:
    """What one run publishes, with everything performed."""
    reading.queue.clear()
    reading.perform(task)
    return [Copy(task) for task in reading.queue]


def pages_of(queue: deque[Task]) -> list[int]:
    return [task.payload.page for task in queue if isinstance(task.payload, DiscoverPayload)]


def read(reading: Reading, named: str = ADDRESS) -> list[Task]:
    """The media tasks of one whole reading; nobody gets them, and they stay open."""
    reading.trigger(named)
    published: list[Task] = []
    while reading.queue:
        task = reading.queue.popleft()
        if isinstance(task.payload, DiscoverPayload):
            reading.perform(task)
        else:
            published.append(task)
            reading.open_tasks += 1
    return published
