"""The way out to the network, for steps: a visit a run of a task, with the run's tokens, cookies
and deadlines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from core.clock import Clock
from core.errors import HeadraceError
from core.fetch.allowance import Allowance, Rules, Surroundings
from core.fetch.connection import Door
from core.fetch.credentials import Credentials
from core.fetch.deadline import Watch
from core.fetch.download import Download, Downloader
from core.fetch.exchange import Exchange, in_any_case
from core.fetch.guard import AddressGuard
from core.fetch.lines import Lines, pace_by
from core.fetch.page import PAGE_HEADERS, PART_HEADERS, PageBody, read_page
from core.fetch.room import Room
from core.fetch.session import Session, quiet_logs
from core.fetch.sink import Sink
from core.model.request import Asked, Request, Span
from core.model.source import SourceTerms
from core.ports import Budget, Partial
from core.settings import FetchSettings

FIRST_HORIZON_S = 5.0  # how far ahead a run's first token may be due
_MOST_IDLE = 32  # sessions, so that connections do not grow with the number of sources
_ALONE = Surroundings()

__all__ = ["Download", "Fetcher", "PageBody", "Surroundings", "Visit", "in_any_case"]


class Fetcher:
    """Makes visits. One for a process, used by all its threads."""

    def __init__(
        self,
        settings: FetchSettings,
        budget: Budget,
        clock: Clock,
        stop: threading.Event,
        free_bytes: Callable[[], int],
        around: Surroundings = _ALONE,
    ) -> None:
        quiet_logs()
        self._settings = settings
        self._clock = clock
        self._stop = stop
        self._rules = Rules(
            budget=budget,
            clock=clock,
            stop=stop,
            lines=Lines(clock, pace_by(budget)),
            first_horizon_s=FIRST_HORIZON_S,
            around=around,
        )
        self._room = Room(free_bytes, settings.min_free_bytes, clock)
        self._guard = AddressGuard(settings.allow_networks)
        self._idle: dict[str, list[Session]] = {}  # by source, the one last used at the end
        self._all: set[Session] = set()
        self._lock = threading.Lock()

    def visit(
        self, terms: SourceTerms, *, on_first_token: Callable[[bool], None] | None = None
    ) -> Visit:
        """For one run of a task. `on_first_token` hears whether the first token came at once, as
        soon as it has come. Raises `StorageDown` when the disk is full: nothing is asked for then
        that could not be kept."""
        self._room.check()
        session = self._session(terms.name)
        hand_over_at = self._clock.monotonic() + self._settings.hand_over_s
        allowance = Allowance(self._rules, terms, ends_at=hand_over_at)
        if on_first_token is not None:
            allowance.on_first_token = on_first_token
        exchange = Exchange(
            session=session,
            allowance=allowance,
            credentials=Credentials(terms, self._settings.user_agent),
            guard=self._guard,
            clock=self._clock,
            max_redirects=self._settings.max_redirects,
        )
        downloader = Downloader(
            exchange=exchange,
            watch=session.door.watch,
            settings=self._settings,
            clock=self._clock,
            room=self._room,
            max_bytes=terms.max_file_bytes,
            hand_over_at=hand_over_at,
        )
        return Visit(
            exchange,
            downloader,
            terms.max_page_bytes,
            lambda: self._take_back(terms.name, session),
        )

    def unblocked(self, bucket: str) -> None:
        """A person ended a bucket's block: tasks of its host stand in line anew."""
        self._rules.lines.forget(bucket)

    def close(self) -> None:
        """Close every thread's connections."""
        with self._lock:
            sessions, self._all = self._all, set()
            self._idle.clear()
        for session in sessions:
            session.close()

    def _session(self, source: str) -> Session:
        """Connections to the source that nobody uses just now: there are as many as visits at once,
        and not as threads, of which some are always committing."""
        with self._lock:
            idle = self._idle.get(source)
            if idle:
                return idle.pop()
        return self._new_session()

    def _take_back(self, source: str, session: Session) -> None:
        """A visit is over. The sources that were not visited for longest make room."""
        with self._lock:
            if session not in self._all:  # closed meanwhile
                return
            idle = self._idle.pop(source, [])
            idle.append(session)
            self._idle[source] = idle
            surplus = self._surplus()
        if surplus is not None:
            self._forget(surplus)

    def _surplus(self) -> Session | None:
        if sum(map(len, self._idle.values())) <= _MOST_IDLE:
            return None
        oldest = next(source for source, idle in self._idle.items() if idle)
        return self._idle[oldest].pop(0)

    def _new_session(self) -> Session:
        session = Session(Door(self._guard, Watch(self._settings, self._clock, self._stop)))
        with self._lock:
            self._all.add(session)
        return session

    def _forget(self, session: Session) -> None:
        session.close()
        with self._lock:
            self._all.discard(session)


class Visit:
    """One run's requests. Cookies and page streams live as long as it does."""

    def __init__(
        self,
        exchange: Exchange,
        downloader: Downloader,
        max_page_bytes: int,
        give_back: Callable[[], None],
    ) -> None:
        self._exchange = exchange
        self._downloader = downloader
        self._max_page_bytes = max_page_bytes
        self._give_back = give_back
        self._pages: list[PageBody] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for page in self._pages:
            with suppress(OSError):
                page.stream.close()
        self._give_back()
        if isinstance(error, HeadraceError):
            # What a page or a manifest says is quoted in errors, and those are kept and logged.
            error.args = (self.struck(str(error)), *error.args[1:])
            if error.asked is None:
                error.asked = self._exchange.allowance.asked

    def page(self, request: Request, *, enough: Callable[[bytes], bool] | None = None) -> PageBody:
        """A feed page or manifest. Nothing of it could be resumed, so it has to come within one
        step's time. Where `enough` says so of its first bytes, the rest is left."""
        settings = self._downloader.settings
        self._allow(min(settings.total_s, settings.hand_over_s))
        headers = PART_HEADERS if "Range" in request.headers else PAGE_HEADERS
        with self._exchange.get(request, headers, also=request.read_also) as answer:
            body = read_page(answer, self._max_page_bytes, enough)
        self._pages.append(body)
        return body

    def download(
        self,
        request: Request,
        partial: Partial,
        progress: Callable[[int], None],
        *,
        span: Span | None = None,
    ) -> Download:
        """A file, or just the span of it, into `partial`. `progress` is told of every chunk's
        size."""
        self._allow(self._downloader.settings.total_s)
        with Sink(partial, span) as sink:
            return self._downloader.run(request, sink, progress)

    def _allow(self, total_s: float) -> None:
        self._exchange.session.transport.total_s = total_s

    @property
    def token_wait_s(self) -> float:
        """How long all tokens took."""
        return self._exchange.allowance.waits.all_s

    @property
    def requests(self) -> int:
        """How many requests went out."""
        return self._exchange.allowance.waits.taken

    @property
    def asked(self) -> Asked | None:
        """The last request that went out."""
        return self._exchange.allowance.asked

    @property
    def is_over_due(self) -> bool:
        """Whether its step has taken so long that it should be handed over."""
        return self._downloader.clock.monotonic() >= self._downloader.hand_over_at

    def struck(self, text: str) -> str:
        """A text of the source's without our secrets, should it have put them in."""
        return self._exchange.credentials.struck(text)

    @property
    def prompt(self) -> bool:
        """Whether the first token was granted at once."""
        return self._exchange.allowance.waits.prompt
