"""One APScheduler job a feed. Decides when a feed is asked, never whether: `ask` reads that inside
the job, so a source that is held back today costs no job and no flag."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, JobEvent
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.base import BaseScheduler

from core.app import App
from core.errors import HeadraceError, Misconfigured
from core.producer.ask import HeldBack, ask
from core.producer.lending import Lending
from core.producer.triggers import trigger_of
from core.settings import FeedSettings, Settings
from core.steps.gate import Gate
from core.timetable import in_words

logger = logging.getLogger(__name__)

TROUBLE_S = 60.0  # what is down is tried again after so long, not only at the feed's next time
FIRST_S = 10.0  # most jitter of a first run: a feed with an hour of it is asked «at once» too


class Producer:
    """Asks the feeds of an app's settings for news, each by its own timetable. `scheduler` is not
    started yet; the producer starts it, ends it, and closes its apps."""

    def __init__(
        self, app: App, scheduler: BaseScheduler, *, rng: random.Random | None = None
    ) -> None:
        self._lending = Lending(app)
        self._scheduler = scheduler
        self._gate = Gate()
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        self._ending = threading.Event()
        self._told: dict[str, str] = {}  # of feeds that could not be asked: why, as the log says
        scheduler.add_listener(self._listen, EVENT_JOB_ERROR | EVENT_JOB_MAX_INSTANCES)

    def start(self) -> None:
        """Ask every feed now, and then by its timetable. Raises `StorageDown`."""
        app = self._lending.newest
        _ = app.store
        self._plan({}, app.settings.feeds)
        self._scheduler.start()

    def take_over(self, app: App) -> None:
        """Go on with another app and its settings: feeds that are new or changed are asked at once,
        the others keep their time. Raises `StorageDown`, or `Misconfigured` where the workers would
        look elsewhere for what it publishes; then nothing has changed."""
        before = self._lending.newest
        _refuse_another_place(before.settings, app.settings)
        if app.store.id != before.store.id:
            raise _elsewhere("the folder of the store holds another one")
        self._lending.replace(app)
        self._plan(before.settings.feeds, app.settings.feeds)

    def look(self) -> None:
        """Have the scheduler look at the clock, which may have been set or have slept."""
        self._scheduler.wakeup()

    def close(self) -> None:
        """Start no more runs, wait for those under way, and close the app."""
        self._ending.set()
        if self._scheduler.running:
            # Not `wait=True`: it waits with its locks in hand, and a run may want them to look
            # again.
            self._scheduler.shutdown(wait=False)
        if self._lending.is_lent:
            logger.info("runs under way are waited for")
        self._lending.close()

    # --- jobs ---

    def _plan(self, before: Mapping[str, FeedSettings], now: Mapping[str, FeedSettings]) -> None:
        for name in before.keys() - now.keys():
            logger.info("feed %s: no longer asked", name)
            with suppress(JobLookupError):
                self._scheduler.remove_job(name)
        for name, feed in now.items():
            if before.get(name) != feed:
                self._schedule(name, feed)

    def _schedule(self, name: str, feed: FeedSettings) -> None:
        first = self._in(self._rng.uniform(0.0, min(feed.jitter, FIRST_S)))
        self._scheduler.add_job(
            self._run,
            trigger_of(feed, first),
            args=(name,),
            id=name,
            replace_existing=True,
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,  # late is better than never: the default drops after 1 s
            next_run_time=first,
        )
        times = f"cron {feed.cron}" if feed.cron else f"every {in_words(feed.every)}"
        logger.info("feed %s: asked now, then %s", name, times)

    def _run(self, name: str) -> None:
        with self._lending.lend() as app:
            # Looked at with the app in hand: whoever closes waits for those that have it.
            if self._ending.is_set() or name not in app.settings.feeds:
                return
            try:
                answer = ask(app, self._gate, name)
            except HeadraceError as error:
                self._failed(name, error)
                return
        if isinstance(answer, HeldBack):
            self._held(name, answer)
        else:
            self._told.pop(name, None)
            logger.info("feed %s: %s", name, answer)

    def _held(self, name: str, held: HeldBack) -> None:
        self._tell(name, held.reason, logging.INFO, f"held back: {held}")
        self._look_again(name, held.again_s)

    def _failed(self, name: str, error: HeadraceError) -> None:
        self._tell(name, error.reason, logging.ERROR, f"could not be asked: {error}")
        if not isinstance(error, Misconfigured):  # which only a person ends
            self._look_again(name, TROUBLE_S)

    def _tell(self, name: str, reason: str, level: int, words: str) -> None:
        """Why nothing came of a run: once, not at every look."""
        is_news = self._told.get(name) != reason
        self._told[name] = reason
        logger.log(level if is_news else logging.DEBUG, "feed %s: %s", name, words)

    def _look_again(self, name: str, delay_s: float) -> None:
        """Bring the feed's next run forward, so that one held at night is not lost until the next
        night. Of several that were missed meanwhile one run is left."""
        wanted = self._in(delay_s)
        with suppress(JobLookupError):  # the feed is gone meanwhile, or the scheduler has ended
            job = self._scheduler.get_job(name)
            if job is not None and job.next_run_time > wanted:
                self._scheduler.modify_job(name, next_run_time=wanted)

    def _listen(self, event: JobEvent) -> None:
        if event.code == EVENT_JOB_MAX_INSTANCES:
            logger.info("feed %s: its last run is not over, so this one is left out", event.job_id)
        else:
            logger.error(
                "feed %s: an error that nobody foresaw; its next run comes as planned",
                event.job_id,
                exc_info=event.exception,
            )

    def _in(self, seconds: float) -> datetime:
        when = self._lending.newest.clock.now() + seconds
        return datetime.fromtimestamp(when, self._scheduler.timezone)


def _refuse_another_place(before: Settings, after: Settings) -> None:
    """Raise for what workers, too, read only when they start: their tasks would go to another
    server, or be of another store, which they leave alone."""
    changed = [
        name
        for name, told, now in (
            ("store", before.store.resolve(), after.store.resolve()),
            ("broker.url", before.broker.url, after.broker.url),
            ("redis.url", before.redis.url, after.redis.url),
        )
        if told != now
    ]
    if changed:
        raise _elsewhere(f"{' and '.join(changed)} changed")


def _elsewhere(what: str) -> Misconfigured:
    words = f"{what}, which takes a restart: of produce, and of the workers with it"
    return Misconfigured(words, reason="restart_needed")
