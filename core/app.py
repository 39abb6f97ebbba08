"""One process's parts and the body of every actor. Knows neither RabbitMQ nor Redis: assemble.py
chooses."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

from core.clock import Clock
from core.fetch.fetcher import Fetcher, Surroundings
from core.model.end import Failure
from core.model.switch import Switch
from core.model.task import Kind, Task
from core.ports import Budget, Depths, Ledger, Publisher
from core.queue.broker import HeadraceBroker
from core.queue.delivery import current
from core.queue.retry import Retry
from core.settings import Settings
from core.sources import Renews, adapter
from core.steps.assembler import ToolAssembler
from core.steps.burial import Burial
from core.steps.decide import RetryPolicy
from core.steps.depths import fragment_depth, open_depth
from core.steps.discover import DiscoverStep
from core.steps.ends import Observer, ignore
from core.steps.expiry import Renewal
from core.steps.fragment import FragmentStep
from core.steps.heartbeat import Heartbeat
from core.steps.image import ImageStep
from core.steps.joining import Joining
from core.steps.manifest import ManifestStep
from core.steps.perform import Performer, Step
from core.steps.placeholders import placeholders_of
from core.steps.reachability import Reachability
from core.steps.reopened import Reopened
from core.steps.reopening import Reopening
from core.steps.slowing import rest
from core.steps.switchboard import Switchboard
from core.steps.terms import Terms, selection_policy, source_terms
from core.steps.unblocking import Unblocking
from core.steps.verify import VerifyStep
from core.steps.video_tasks import VideoTasks
from core.store.store import Store

logger = logging.getLogger(__name__)

RUN_MARGIN_S = 300.0  # beyond the download's own deadline: token waits, checks, commits


@dataclass(frozen=True)
class App:
    """One process's parts. The store opens when it is first asked for, nothing connects before it
    is used."""

    settings: Settings
    clock: Clock
    ledger: Ledger
    budget: Budget
    publisher: Publisher
    depths: Depths
    make_broker: Callable[[Retry, threading.Event], HeadraceBroker]
    exclusive: bool  # whether this process alone may use the store
    on_end: Observer = ignore
    hang_up: Callable[[], None] = lambda: None  # ends the connections that the parts share
    stop: threading.Event = field(default_factory=threading.Event)
    _reachability: Reachability = field(default_factory=Reachability)

    @cached_property
    def store(self) -> Store:
        """The store, locked for this process. Raises `StorageDown`."""
        return Store.open(
            self.settings.store, exclusive=self.exclusive, clock=self.clock, writer=writer_name()
        )

    @cached_property
    def switchboard(self) -> Switchboard:
        """What people switch while this process runs. Knows nothing before `open`."""
        return Switchboard(self.store.switches, self.clock)

    @cached_property
    def terms(self) -> Terms:
        """On which terms a source is fetched: its settings, with its switches over them."""
        return Terms(
            lambda source: source_terms(source, self.settings.source(source)), self.switchboard.of
        )

    @cached_property
    def broker(self) -> HeadraceBroker:
        """Where the actors are declared. Building it opens no connection."""
        retry = Retry(
            self.publisher, self.ledger, retry_policy(self.settings), self.end_dead, self.clock
        )
        broker = self.make_broker(retry, self.stop)
        broker.on_boot = self.open
        broker.on_close = self.close
        return broker

    @cached_property
    def fetcher(self) -> Fetcher:
        """The only way out to the network."""
        return Fetcher(
            self.settings.fetch,
            self.budget,
            self.clock,
            self.stop,
            self.store.staging.free_bytes,
            Surroundings(
                paused=lambda source: self.switchboard.of(source).pause is not None,
                reached=self._reachability.answered,
            ),
        )

    @cached_property
    def performer(self) -> Performer:
        """Performs this process's tasks."""
        lease_s = self.settings.lease.seconds
        return Performer(
            store=self.store,
            ledger=self.ledger,
            budget=self.budget,
            publisher=self.publisher,
            heartbeat=Heartbeat(self.ledger, self.clock, lease_s=lease_s),
            steps=self._steps(),
            clock=self.clock,
            lease_s=lease_s,
            deadline_s=self.settings.fetch.total_s + RUN_MARGIN_S,
            on_end=self.on_end,
            reachability=self._reachability,
            switch=self.switchboard.of,
            pause=self.switchboard.pause,
        )

    def open(self) -> None:
        """Open the store and read its switches before the worker starts. Raises `StorageDown`."""
        _ = self.performer
        self.switchboard.start()
        self.switchboard.listen(self._switched)
        self.switchboard.listen(Unblocking(self.budget, self.clock, self.fetcher, self.broker))

    def _switched(self, source: str, switch: Switch) -> None:
        self.terms.renew(source)
        act = self.broker.open_source if switch.pause is None else self.broker.close_source
        act(source)

    def perform(self, _record: dict[str, object]) -> None:
        """The body of every actor: perform the task that its message carries. The consumer has read
        the record already, or the message would not have come so far."""
        delivery = current()
        self.performer.perform(delivery.task, delivery.granted, delivery.fetched)

    def end_dead(self, task: Task, failure: Failure) -> None:
        """Make a dead task's end durable, and what follows from it published."""
        self._burial(task, failure)

    def reopen(self, task: Task) -> Task:
        """A person's requeue of a dead task, durable before anything is published: the task to
        publish instead."""
        return self._reopening(task)

    def close(self) -> None:
        """End this process's threads and connections, and give the store back."""
        if "performer" in self.__dict__:
            self.performer.heartbeat.close()
        if "switchboard" in self.__dict__:
            self.switchboard.close()
        if "fetcher" in self.__dict__:
            self.fetcher.close()
        self.hang_up()
        if "store" in self.__dict__:
            self.store.close()

    @cached_property
    def _assembler(self) -> ToolAssembler:
        return ToolAssembler()

    @cached_property
    def _video_tasks(self) -> VideoTasks:
        return VideoTasks(self.settings.retries.max_attempts, self.clock)

    @cached_property
    def _joining(self) -> Joining:
        return Joining(self.store, self.ledger, self._video_tasks)

    @cached_property
    def _burial(self) -> Burial:
        return Burial(
            store=self.store,
            ledger=self.ledger,
            publisher=self.publisher,
            joining=self._joining,
            terms=self.terms,
            clock=self.clock,
            on_end=self.on_end,
        )

    @cached_property
    def _reopening(self) -> Reopening:
        return Reopening(
            store=self.store,
            tasks=self._video_tasks,
            terms=self.terms,
            clock=self.clock,
            on_end=self.on_end,
        )

    def _steps(self) -> dict[Kind, Step]:
        return {
            Kind.DISCOVER: self._discover_step(),
            Kind.FRAGMENT: FragmentStep(
                self.store, self.fetcher, self.terms, self._joining, cache(self._renewal)
            ),
            Kind.MANIFEST: self._manifest_step(),
            Kind.IMAGE: self._image_step(),
            Kind.VERIFY: self._verify_step(),
        }

    def _discover_step(self) -> DiscoverStep:
        return DiscoverStep(
            store=self.store,
            fetcher=self.fetcher,
            terms=self.terms,
            depth=open_depth(self.depths, self.ledger),
            high_water=self.settings.backpressure.high_water,
            low_water=self.settings.backpressure.low_water,
            max_attempts=self.settings.retries.max_attempts,
            clock=self.clock,
            stop_after_known=self._stop_after_known,
            slow_down=partial(rest, self.budget),
            reopened=Reopened(self.store, self.ledger),
        )

    def _image_step(self) -> ImageStep:
        return ImageStep(
            self.store,
            self.fetcher,
            self.terms,
            self.clock,
            cache(self._renewal),  # asked for each image: settings and protocols cost 70 us
            cache(lambda source: placeholders_of(source, self.settings.source(source))),
        )

    def _stop_after_known(self, source: str) -> int:
        settings = self.settings.source(source)
        return settings.stop_after_known or adapter(settings.adapter).stop_after_known

    def _renewal(self, source: str) -> Renewal:
        chosen = adapter(self.settings.source(source).adapter)
        return Renewal(chosen if isinstance(chosen, Renews) else None, self.clock)

    def _manifest_step(self) -> ManifestStep:
        return ManifestStep(
            store=self.store,
            fetcher=self.fetcher,
            terms=self.terms,
            policy=lambda source: selection_policy(self.settings.source(source)),
            open_fragments=fragment_depth(self.depths, self.ledger),
            high_water=self.settings.backpressure.high_water,
            tasks=self._video_tasks,
            on_plan=self._assembler.prepare,
        )

    def _verify_step(self) -> VerifyStep:
        return VerifyStep(
            store=self.store,
            ledger=self.ledger,
            depths=self.depths,
            joining=self._joining,
            tasks=self._video_tasks,
            assembler=self._assembler,
            terms=self.terms,
            stop=self.stop,
            clock=self.clock,
        )


def retry_policy(settings: Settings) -> RetryPolicy:
    """The settings' retries and lease as the decision needs them."""
    retries = settings.retries
    return RetryPolicy(
        base_s=retries.base_s,
        floor_s=retries.floor_s,
        cap_s=retries.cap_s,
        max_crashes=retries.max_crashes,
        max_wait_s=retries.max_wait_s,
        crash_base_s=settings.lease.seconds,
    )


def writer_name() -> str:
    """This process among all that write to the store: host, process, a random part."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
